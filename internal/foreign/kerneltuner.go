package foreign

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/result"
)

// kernelTunerErrors are what Kernel Tuner writes in place of a number.
var kernelTunerErrors = map[string]result.TrialStatus{
	"InvalidConfig":           result.TrialUnfit,
	"CompilationFailedConfig": result.TrialCompileError,
	"RuntimeFailedConfig":     result.TrialLaunchError,
	"ErrorConfig":             result.TrialLaunchError,
}

// failedTime is what versions before 0.4 wrote for a setting that failed, in milliseconds.
const failedTime = 1e20

const milli = 1e-3 // Kernel Tuner's times are milliseconds

// readKernelTuner reads a cache file of Kernel Tuner. It appends a line for every setting, and the brackets at the
// end only when a search is over: a file of one that was interrupted is read as far as it is whole.
func readKernelTuner(src source, f *TuningFile) error {
	h, err := kernelTunerHead(src, f)
	if err != nil {
		return err
	}
	t := f.Tuning
	t.Strategy, t.Objective, t.Ended = "Kernel Tuner", "time", "exhausted"
	seen := map[string]bool{}
	elapsed := 0.0
	src.text = h.closed
	if h.cut != "" {
		t.Ended = "interrupted"
		f.Notes = append(f.Notes, h.cut)
	}
	s := &scanner{source: src}
	err = s.fields(map[string]func() error{"cache": func() error {
		return s.object(func(key string) error {
			if len(t.Trials) >= maxTrials {
				return s.fail(s.at, "more than "+strconv.Itoa(maxTrials)+" settings", "")
			}
			e, err := kernelTunerEntry(s, h.order, h.objective)
			if err != nil {
				return err
			}
			if seen[key] {
				f.Notes = append(f.Notes, fmt.Sprintf("the setting %s is there twice: the first one counts", key))
				return nil
			}
			seen[key] = true
			elapsed += e.spent
			t.Trials = append(t.Trials, e.trial(len(t.Trials)+1, h.config, elapsed))
			return nil
		})
	}})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return err
	}
	if len(t.Trials) == 0 {
		return nil // the caller says so
	}
	t.SpentS, t.Configs = elapsed, []string{h.config}
	t.Space = spaceOf(h.order, t.Trials)
	for i := range t.Space.Params {
		if values := h.given[t.Space.Params[i].Name]; len(values.Values) > 0 {
			t.Space.Params[i] = values
		}
	}
	t.Space.Cartesian = cartesian(t.Space.Params)
	for i, trial := range t.Trials {
		for _, name := range h.order {
			if _, ok := trial.Params[name]; !ok {
				return src.about(fmt.Sprintf("setting %d of the cache has no value of %s", i+1, name), "the file was edited, or is of another tool")
			}
		}
	}
	return nil
}

// closeCache makes the text of a search that was interrupted whole: it adds the brackets that are missing, and drops
// a last line that was not written to its end. Cut says so.
func closeCache(text string) (closed, cut string) {
	whole := func(text string) bool {
		s := &scanner{source: source{text: text}}
		return s.skip() == nil && s.end() == nil
	}
	if whole(text) {
		return text, ""
	}
	const why = "the search was interrupted: the file has no end"
	open := strings.TrimRight(text, " \t\r\n")
	if closed := strings.TrimSuffix(open, ",") + "}}"; whole(closed) {
		return closed, why
	}
	if at := strings.LastIndexByte(open, '\n'); at >= 0 {
		if closed := strings.TrimSuffix(strings.TrimRight(open[:at], " \t\r\n"), ",") + "}}"; whole(closed) {
			return closed, why + ", and its last setting is not whole"
		}
	}
	return text, ""
}

// kernelTunerHeader is what a cache says of all its settings.
type kernelTunerHeader struct {
	config    string
	order     []string
	given     map[string]result.SpaceParam
	objective string
	closed    string // the text, whole
	cut       string // what it was made whole of
}

// kernelTunerHead reads what stands around the settings, wherever it stands.
func kernelTunerHead(src source, f *TuningFile) (kernelTunerHeader, error) {
	h := kernelTunerHeader{config: "imported", objective: "time", given: map[string]result.SpaceParam{}}
	src.text, h.cut = closeCache(src.text)
	h.closed = src.text
	s := &scanner{source: src}
	err := s.fields(map[string]func() error{
		"device_name": into(&f.Device, s.optional),
		"kernel_name": into(&f.Tuning.Kernel, s.optional),
		"objective": func() error {
			if s.next() == '[' { // of several the first
				return s.array(func(i int) error {
					name, err := s.optional()
					if i == 0 {
						h.objective = name
					}
					return err
				})
			}
			return into(&h.objective, s.optional)()
		},
		"tune_params_keys": func() error { return readNames(s, &h.order) },
		"tune_params": func() error {
			return s.object(func(name string) error {
				p, err := readParam(s, name)
				h.given[p.Name] = p
				return err
			})
		},
		"problem_size": func() error {
			text, err := problemSize(s)
			h.config = cmp.Or(text, h.config)
			return err
		},
	})
	switch {
	case err != nil:
		return h, err
	case len(h.order) == 0:
		return h, src.about("tune_params_keys is missing: expected the names of the params", "it is no cache file of Kernel Tuner")
	}
	return h, nil
}

// endsEarly reports whether the scanner stopped because the text ends: nothing but the last line is left.
func endsEarly(s *scanner) bool {
	return !strings.Contains(strings.TrimSpace(s.text[min(s.at, len(s.text)):]), "\n") && !strings.HasSuffix(strings.TrimSpace(s.text), "}}")
}

func readNames(s *scanner, names *[]string) error {
	return s.array(func(int) error {
		name, err := s.string()
		if err == nil && len(*names) >= maxParams {
			err = s.fail(s.at, "more than "+strconv.Itoa(maxParams)+" params", "")
		}
		*names = append(*names, strings.Clone(name))
		return err
	})
}

// readParam reads the values of a param.
func readParam(s *scanner, name string) (result.SpaceParam, error) {
	p := result.SpaceParam{Name: strings.Clone(name)}
	err := s.array(func(int) error {
		v, err := s.scalar()
		if err == nil && len(p.Values) >= maxValues {
			err = s.fail(s.at, "more than "+strconv.Itoa(maxValues)+" values of "+name, "")
		}
		p.Values = append(p.Values, valueText(v))
		return err
	})
	if err == nil && len(p.Values) == 0 {
		err = s.fail(s.at, "no values of "+name, "")
	}
	if len(p.Values) > 0 {
		p.Default = p.Values[0]
	}
	return p, err
}

// problemSize names a problem by its size: 4096x4096. "" where the file does not say it as numbers.
func problemSize(s *scanner) (string, error) {
	if s.next() != '[' {
		if !startsNumber(s.next()) {
			return "", s.skip()
		}
		v, err := s.scalar()
		return valueText(v), err
	}
	var parts []string
	err := s.array(func(int) error {
		if !startsNumber(s.next()) {
			return s.skip()
		}
		v, err := s.scalar()
		parts = append(parts, valueText(v))
		return err
	})
	return strings.Join(parts, "x"), err
}

// kernelTunerRecord is an entry of a cache.
type kernelTunerRecord struct {
	params map[string]string
	time   float64 // seconds; 0: none
	times  []float64
	failed string // what is written in place of a number
	spent  float64
	built  float64
}

func kernelTunerEntry(s *scanner, order []string, objective string) (kernelTunerRecord, error) {
	e := kernelTunerRecord{params: map[string]string{}}
	at := s.here()
	var other float64 // of an objective that is no time
	err := s.object(func(key string) error {
		switch {
		case slices.Contains(order, key):
			v, err := s.scalar()
			e.params[strings.Clone(key)] = valueText(v)
			return err
		case key == "times" && s.next() == '[':
			return s.array(func(int) error {
				v, err := s.figure()
				if isTime(v) && v < failedTime {
					e.times = append(e.times, v*milli)
				}
				return err
			})
		case key == "compile_time" || key == "benchmark_time" || key == "verification_time" || key == "framework_time" || key == "strategy_time":
			v, err := s.figure()
			if isTime(v) {
				e.spent += v * milli
				if key == "compile_time" {
					e.built = v * milli
				}
			}
			return err
		case s.next() == '"':
			text, err := s.string()
			if _, known := kernelTunerErrors[text]; known {
				e.failed = text
			}
			return err
		case key == "time" || key == objective:
			from := s.here()
			v, err := s.figure()
			switch {
			case err != nil:
			case key != "time":
				other = v
			case v >= failedTime:
				e.failed = "ErrorConfig"
			case !isTime(v):
				message, hint := notATime(v)
				err = s.fail(from, message, hint)
			default:
				e.time = v * milli
			}
			return err
		}
		return s.skip()
	})
	if err == nil && e.failed == "" && e.time == 0 {
		message := "the setting has neither a time nor an error"
		if other != 0 {
			message = "the setting has a value of " + objective + ", and no time"
		}
		err = s.fail(at, message, "pawl takes times: record them beside the objective")
	}
	return e, err
}

// trial makes a trial of the entry.
func (e kernelTunerRecord) trial(n int, config string, at float64) *result.Trial {
	t := &result.Trial{N: n, Params: e.params, Status: result.TrialOK, AtS: at, CompileS: e.built}
	if e.failed != "" {
		failure(t, kernelTunerErrors[e.failed], e.failed)
		return t
	}
	t.Cost = e.time
	on := result.TrialConfig{Config: config, MedianS: e.time, Samples: max(1, len(e.times))}
	if len(e.times) > 0 {
		on.MedianS = middle(e.times)
	}
	t.On = []result.TrialConfig{on}
	return t
}
