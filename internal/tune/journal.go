package tune

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/space"
)

// journalFile has a search's trials as they end, one a line, so that a search that is killed can go on.
const journalFile = "trials.jsonl"

// heading is the first line of a journal: what searches must have in common to be one.
type heading struct {
	Schema    int                `json:"schema"`
	Kernel    string             `json:"kernel"`
	Configs   []string           `json:"configs"`
	Objective string             `json:"objective"`
	Over      string             `json:"over"`
	Weights   map[string]float64 `json:"weights,omitempty"`
	Class     string             `json:"device_class"`
	Compiler  string             `json:"compiler,omitempty"`
	Code      []string           `json:"code"`  // identity of today's defaults on each config
	Space     result.Space       `json:"space"` // params, values and constraints
	Before    float64            `json:"before_s,omitempty"`
}

// journal writes trials, and has what was known before.
type journal struct {
	file   *os.File
	broken error // why a line could not be written; nil: all were
	said   bool  // whoever follows the run was told
	before float64
	hints  []space.Point
	known  []*result.Trial
}

// heading returns that of this search.
func (t *tune) heading() heading {
	h := heading{
		Schema: 1, Kernel: t.kernel.Name, Configs: t.tuning.Configs, Objective: t.Objective, Over: t.Over, Weights: t.Weights,
		Class: t.report.DeviceClass, Compiler: t.tuning.Compiler, Space: t.tuning.Space,
	}
	for _, job := range t.defaults.jobs {
		h.Code = append(h.Code, job.Identity())
	}
	return h
}

// differs says what two searches do not have in common; "": nothing.
func (h heading) differs(other heading) string {
	same := func(a, b any) bool {
		one, _ := json.Marshal(a)
		two, _ := json.Marshal(b)
		return string(one) == string(two)
	}
	switch {
	case h.Kernel != other.Kernel:
		return "it was of another kernel"
	case !same(h.Configs, other.Configs):
		return "it was on other configs: " + strings.Join(other.Configs, ", ")
	case h.Objective != other.Objective || h.Over != other.Over || !maps.Equal(h.Weights, other.Weights):
		return "its --objective, --over or --weight was another"
	case h.Class != other.Class:
		return "it ran on " + other.Class
	case h.Compiler != other.Compiler:
		return "its compiler was " + other.Compiler
	case !same(h.Space, other.Space):
		return "its params or constraints were others"
	case !same(h.Code, other.Code):
		return "the code has changed"
	}
	return ""
}

// recall opens this run's journal, and finds what earlier searches know.
func (t *tune) recall(context.Context) error {
	t.tuning.Compiler = compilerOf(t.report)
	t.journal = &journal{}
	own := t.heading()
	earlier, err := run.List(t.run.Spec.Dir)
	if err != nil {
		return err
	}
	if t.Resume {
		if err := t.resume(own, earlier); err != nil {
			return err
		}
	}
	t.warm(own, earlier)
	for _, known := range t.Known {
		t.hintsOf(known.Trials, known.File)
	}
	t.takeOver()
	own.Before = t.journal.before
	t.journal.file, err = t.run.Create(journalFile)
	if err != nil {
		t.report.Warnings = append(t.report.Warnings, result.Warning{Code: "journal", Message: fmt.Sprintf("a search that is killed cannot go on: %v", err)})
		return nil
	}
	t.journal.line(own)
	for _, trial := range t.journal.known {
		t.journal.line(trial)
	}
	return nil
}

func compilerOf(r *result.Report) string {
	var names []string
	for _, name := range r.Machine.Compilers {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, "; ")
}

// resume takes over the trials of the last search of the kernel.
func (t *tune) resume(own heading, earlier []run.Past) error {
	for _, past := range earlier {
		was, trials, err := readJournal(filepath.Join(past.Dir, journalFile))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotBegun) || err == nil && was.Kernel != t.kernel.Name {
			continue
		}
		if err != nil {
			return fmt.Errorf("--resume: %w", err)
		}
		if why := own.differs(was); why != "" {
			return &diag.Problem{
				Message: fmt.Sprintf("--resume: the last search of %s (%s) cannot go on: %s", t.kernel.Name, past.ID, why),
				Hint:    "leave --resume out: its best settings are tried first all the same",
			}
		}
		t.tuning.Resumed = append(t.tuning.Resumed, past.ID)
		t.journal.before = was.Before
		all := len(trials)
		trials = t.sound(trials)
		if left := all - len(trials); left > 0 {
			t.report.Warnings = append(t.report.Warnings, result.Warning{
				Code: "journal", Message: fmt.Sprintf("%d of the %d trials of %s were left out: their params or numbers are none that a search writes", left, all, past.ID),
			})
		}
		for _, trial := range trials {
			t.journal.before = max(t.journal.before, trial.AtS)
		}
		t.journal.known = renumbered(slices.DeleteFunc(trials, func(trial *result.Trial) bool { return trial.Status == result.TrialLost })) // they are tried again
		return nil
	}
	return &diag.Problem{Message: fmt.Sprintf("--resume: there is no earlier search of %s", t.kernel.Name), Hint: "leave --resume out to begin one"}
}

// renumbered numbers the trials of an earlier search as its own are, from 1 on; an equal one names the trial that it
// is equal to, if that is still there.
func renumbered(trials []*result.Trial) []*result.Trial {
	now := map[int]int{}
	for i, trial := range trials {
		now[trial.N] = i + 1
		trial.N, trial.Same, trial.Earlier = i+1, now[trial.Same], true
	}
	return trials
}

// sound returns the trials of a journal that a search can have written: somebody may have edited it.
func (t *tune) sound(trials []*result.Trial) []*result.Trial {
	number := func(v float64) bool { return v > 0 && v < math.MaxFloat32 }
	return slices.DeleteFunc(trials, func(trial *result.Trial) bool {
		_, there := t.pointOf(trial.Params)
		ok := there && len(trial.Params) == len(t.tuning.Space.Params) && len(trial.On) <= len(t.configs) && slices.Contains(result.TrialStatuses, trial.Status)
		ok = ok && (trial.Cost == 0 || number(trial.Cost) && len(trial.On) > 0) && trial.AtS >= 0 && trial.AtS < math.MaxFloat32
		ok = ok && (trial.Status != result.TrialOK || trial.Cost > 0 && !trial.Cut && len(trial.On) == len(t.configs))
		ok = ok && (trial.Status != result.TrialCut || trial.Cost > 0 && trial.Cut)
		for i, on := range trial.On {
			ok = ok && number(on.MedianS) && number(on.Ratio) && on.Joules >= 0 && i < len(t.configs) && on.Config == t.configs[i].Name
		}
		return !ok
	})
}

// How much of earlier searches is tried first.
const (
	hintRuns = 3
	hintBest = 5 // of each
)

// warm finds the best settings of earlier searches of the kernel, whatever its code was then.
func (t *tune) warm(own heading, earlier []run.Past) {
	found := 0
	for _, past := range earlier {
		if found == hintRuns || slices.Contains(t.tuning.Resumed, past.ID) {
			break
		}
		was, trials, err := readJournal(filepath.Join(past.Dir, journalFile))
		if err != nil || was.Kernel != t.kernel.Name || was.Compiler != own.Compiler {
			continue
		}
		if t.hintsOf(trials, past.ID) {
			found++
		}
	}
}

// hintsOf has the best of other trials tried first, and reports whether there are any.
func (t *tune) hintsOf(trials []*result.Trial, from string) bool {
	ok := slices.DeleteFunc(slices.Clone(trials), func(trial *result.Trial) bool { return trial.Cost <= 0 || trial.Status != result.TrialOK })
	slices.SortStableFunc(ok, func(a, b *result.Trial) int { return cmp.Compare(a.Cost, b.Cost) })
	added := false
	for _, trial := range ok[:min(len(ok), hintBest)] {
		if p, possible := t.pointOf(trial.Params); possible {
			t.journal.hints = append(t.journal.hints, p)
			added = true
		}
	}
	if added {
		t.tuning.Warm = append(t.tuning.Warm, from)
	}
	return added
}

// pointOf finds a setting in today's space.
func (t *tune) pointOf(params map[string]string) (space.Point, bool) {
	point := make(space.Point, len(t.tuning.Space.Params))
	for i, p := range t.tuning.Space.Params {
		at := slices.Index(p.Values, params[p.Name])
		if at < 0 {
			return nil, false
		}
		point[i] = uint16(at)
	}
	return point, t.space.Contains(point)
}

// retell tells the strategy of the trials that there are: those that this search goes on from, and
// today's defaults.
func (t *tune) retell() {
	for _, trial := range t.tuning.Trials {
		if point, ok := t.pointOf(trial.Params); ok {
			t.strategy.Tell(point, outcomeOf(trial))
		}
	}
}

// takeOver begins with the trials of the search that this one goes on from.
func (t *tune) takeOver() {
	for _, trial := range t.journal.known {
		t.tuning.Trials = append(t.tuning.Trials, trial)
		if t.isBetter(trial) {
			t.best = trial
		}
	}
}

// write adds a trial. The search goes on when that fails.
func (j *journal) write(trial *result.Trial) { j.line(trial) }

func (j *journal) line(v any) {
	raw, err := json.Marshal(v)
	if err != nil || j.file == nil || j.broken != nil {
		return
	}
	_, j.broken = j.file.Write(append(raw, '\n')) // a line that is half written is the last that counts
}

// lost says that trials are not written down any more.
func (j *journal) lost() result.Warning {
	return result.Warning{Code: "journal", Message: fmt.Sprintf("--resume will not know the trials from here on: %v", j.broken), Hint: "free some space"}
}

func (j *journal) close() {
	if j.file != nil {
		_ = j.file.Close()
	}
}

// mostJournal bounds what is read of a journal.
const mostJournal = 256 << 20

// errNotBegun means that a search was killed before its journal had a first line.
var errNotBegun = errors.New("the journal has no first line")

// readJournal reads a journal up to the first line that is not whole.
func readJournal(path string) (h heading, trials []*result.Trial, err error) {
	file, err := os.Open(path)
	if err != nil {
		return h, nil, err
	}
	defer file.Close()
	lines := bufio.NewReader(io.LimitReader(file, mostJournal))
	first, err := lines.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return h, nil, errNotBegun
	}
	if err != nil || json.Unmarshal(first, &h) != nil || h.Schema != 1 {
		return h, nil, fmt.Errorf("%s: this is no journal of a search that this version of pawl reads", path)
	}
	for {
		line, err := lines.ReadBytes('\n')
		trial := &result.Trial{}
		if err != nil || json.Unmarshal(line, trial) != nil {
			return h, trials, nil
		}
		trials = append(trials, trial)
	}
}
