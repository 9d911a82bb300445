package foreign

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pawl/internal/formula"
	"pawl/internal/result"
)

// Formats of recorded searches.
const (
	KernelTuner Format = "Kernel Tuner cache"
	T4          Format = "T4 results"
)

// Bounds of what is read: far beyond what anybody has recorded, and small enough for memory.
const (
	maxTuningBytes = 512 << 20 // of text
	maxTrials      = 4 << 20
	maxParams      = 1000
	maxValues      = 1 << 16 // of a param; a space numbers them by 16 bits
)

// TuningFile is a recorded search that was read.
type TuningFile struct {
	Path   string
	Format Format
	Device string // as the file names it; "": it does not

	// Tuning has the space without constraints, and a trial for every recorded setting. Costs are seconds. The
	// values of params are text as pawl.yaml has them.
	Tuning *result.Tuning

	Notes []string // what of the file was left out, and why
}

// ReadTuning reads the record of a search: pawl's own report or the folder of its run, a cache file of Kernel
// Tuner, or T4 results; also compressed by gzip.
func ReadTuning(path string) (*TuningFile, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "report.json")
	}
	text, err := readText(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, withoutPath(err))
	}
	return ParseTuning(path, text)
}

// readText reads a file, or what gzip made of one.
func readText(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	var from io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if from, err = gzip.NewReader(file); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	if n, err := io.Copy(&b, io.LimitReader(from, maxTuningBytes+1)); err != nil {
		return "", err
	} else if n > maxTuningBytes {
		return "", fmt.Errorf("more than %d MiB", maxTuningBytes>>20)
	}
	return b.String(), nil
}

const tuningFormats = "pawl reads searches from reports of its own, Kernel Tuner cache files and T4 results"

// ParseTuning reads the text of a recorded search. It recognizes the format by the content.
func ParseTuning(path, text string) (*TuningFile, error) {
	src := source{file: path, text: strings.TrimPrefix(text, "\ufeff")}
	switch {
	case strings.TrimSpace(src.text) == "":
		return nil, src.about("the file is empty", "the search wrote nothing: run it again")
	case !utf8.ValidString(src.text) || strings.ContainsRune(src.text, 0):
		return nil, src.problem(invalid(src.text), "this is not text; expected the record of a search", tuningFormats)
	}
	s := &scanner{source: src}
	if s.next() != '{' {
		return nil, s.fail(s.at, "expected an object: the format of this file is unknown", tuningFormats)
	}
	// A cache may end in the middle, so what there is of keys decides.
	keys := map[string]byte{}
	syntax := s.object(func(key string) error {
		keys[key] = s.next()
		return s.skip()
	})
	f := &TuningFile{Path: path, Tuning: &result.Tuning{}}
	var err error
	switch {
	case keys["cache"] == '{':
		f.Format, err = KernelTuner, readKernelTuner(src, f)
	case syntax != nil:
		return nil, syntax
	case keys["results"] == '[':
		f.Format, err = T4, readT4(src, f)
	case keys["schema"] != 0 && keys["rows"] != 0:
		f.Format, err = Pawl, readOwnTuning(src, f)
	case keys["ConfigurationSpace"] != 0:
		err = src.about("this is a T1 file: it describes a space and has no results", "a search starts from results; pawl init takes the description")
	default:
		err = src.about("the format of this file is unknown", tuningFormats)
	}
	if err != nil {
		return nil, err
	}
	if len(f.Tuning.Trials) == 0 {
		return nil, src.about(fmt.Sprintf("no settings in this %s file", f.Format), "the search was ended before its first one: run it again")
	}
	return f, nil
}

// readOwnTuning reads a report of pawl's own.
func readOwnTuning(src source, f *TuningFile) error {
	r, err := result.Decode([]byte(src.text))
	if err != nil {
		return fmt.Errorf("%s: %w", src.file, err)
	}
	if r.Tuning == nil {
		return src.about(fmt.Sprintf("a report of kind %q, without a search in it", r.Kind), "name one of pawl tune")
	}
	f.Tuning, f.Device = r.Tuning, r.DeviceClass
	for i, t := range f.Tuning.Trials {
		if t == nil || t.Cost < 0 || t.Cost-t.Cost != 0 {
			return src.about(fmt.Sprintf("tuning.trials[%d]: expected a cost of 0 or more", i), "the file was edited: use the one that pawl wrote")
		}
	}
	return nil
}

// scalar reads the value of a param.
func (s *scanner) scalar() (formula.Value, error) {
	switch c := s.next(); {
	case c == '"':
		text, err := s.string()
		return formula.String(strings.Clone(text)), err
	case c == 't' || c == 'f':
		holds, err := s.flag()
		return formula.Bool(holds), err
	case startsNumber(c):
		at := s.at
		number, err := s.number()
		if err != nil {
			return formula.Value{}, err
		}
		if number-number != 0 {
			return formula.Value{}, s.fail(at, "expected a value of a param, got "+s.text[at:s.at], "")
		}
		if i, err := strconv.ParseInt(s.text[at:s.at], 10, 64); err == nil {
			return formula.Int(i), nil
		}
		return formula.Float(number), nil
	}
	return formula.Value{}, s.wrong("a number, a boolean or a text")
}

// valueText writes a value as params have it: booleans as YAML does.
func valueText(v formula.Value) string {
	if b, ok := v.Bool(); ok {
		return strconv.FormatBool(b)
	}
	return v.String()
}

// textValue is the opposite of valueText.
func textValue(text string) formula.Value {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return formula.Int(i)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f-f == 0 && strings.ContainsAny(text, "0123456789") && !strings.ContainsAny(text, "xXpP_") {
		return formula.Float(f)
	}
	switch text {
	case "true", "True":
		return formula.Bool(true)
	case "false", "False":
		return formula.Bool(false)
	}
	return formula.String(text)
}

// spaceOf describes the space of trials whose file does not: the values that occur, in the order in which they do.
func spaceOf(names []string, trials []*result.Trial) result.Space {
	space := result.Space{Size: float64(len(trials))}
	for _, name := range names {
		p := result.SpaceParam{Name: name}
		seen := map[string]bool{}
		for _, t := range trials {
			if v, ok := t.Params[name]; ok && !seen[v] {
				seen[v] = true
				p.Values = append(p.Values, v)
			}
		}
		if len(p.Values) > 0 {
			p.Default = p.Values[0]
		}
		space.Params = append(space.Params, p)
	}
	space.Cartesian = cartesian(space.Params)
	return space
}

func cartesian(params []result.SpaceParam) float64 {
	n := 1.0
	for _, p := range params {
		n *= float64(len(p.Values))
	}
	return n
}

// failure gives a trial its status, and the fault that goes with it.
func failure(t *result.Trial, status result.TrialStatus, said string) {
	t.Status = status
	stage, cause := "measure", result.CauseSkipped
	switch status {
	case result.TrialCompileError:
		stage, cause = "build", result.CauseCompile
	case result.TrialUnfit, result.TrialLaunchError:
		cause = result.CauseLaunch
	case result.TrialTimeout:
		cause = result.CauseTimeout
	case result.TrialWrong:
		stage, cause = "verify", result.CauseWrong
	}
	t.Fault = &result.Fault{Stage: stage, Cause: cause, Message: "the tool that tried it says " + said}
}

// middle returns the median of times.
func middle(times []float64) float64 {
	sorted := slices.Sorted(slices.Values(times))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
