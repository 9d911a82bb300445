package foreign

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/result"
)

// t4Validity are the words of T4 for what came of a setting.
var t4Validity = map[string]result.TrialStatus{
	"correct":     result.TrialOK,
	"timeout":     result.TrialTimeout,
	"compile":     result.TrialCompileError,
	"runtime":     result.TrialLaunchError,
	"correctness": result.TrialWrong,
	"constraints": result.TrialUnfit,
}

// timeUnits are the names that tools give units of time, in seconds.
var timeUnits = map[string]float64{
	"": 0, "s": 1, "seconds": 1, "ms": 1e-3, "milliseconds": 1e-3, "us": 1e-6, "µs": 1e-6, "microseconds": 1e-6, "ns": 1e-9, "nanoseconds": 1e-9,
}

// statusName is the measurement in which pawl keeps its own word for what came of a setting.
const statusName = "pawl_status"

// t4Record is an entry of a T4 file.
type t4Record struct {
	params     map[string]string
	order      []string
	invalidity string
	status     string
	objectives []string
	figures    map[string]float64 // measurements
	units      map[string]string
	runtimes   []float64
	compile    float64
	rest       float64 // of the time that it took
	at         int
}

// readT4 reads results in the community's T4 format. Times are milliseconds where the file names no unit, as all of
// its writers mean them.
func readT4(src source, f *TuningFile) error {
	s := &scanner{source: src}
	t := f.Tuning
	t.Strategy, t.Objective, t.Ended, t.Configs = "T4", "time", "exhausted", []string{"imported"}
	unit := milli
	var records []t4Record
	err := s.fields(map[string]func() error{
		"metadata": func() error {
			if s.next() != '{' {
				return s.skip()
			}
			return s.fields(map[string]func() error{"timeunit": func() error {
				at := s.here()
				name, err := s.optional()
				seconds, known := timeUnits[strings.ToLower(name)]
				switch {
				case err != nil:
					return err
				case !known:
					return s.fail(at, fmt.Sprintf("expected a unit of time, got %q", name), "seconds, milliseconds, microseconds or nanoseconds")
				case seconds != 0:
					unit = seconds
				}
				return nil
			}})
		},
		"results": func() error {
			return s.array(func(int) error {
				if len(records) >= maxTrials {
					return s.fail(s.at, "more than "+strconv.Itoa(maxTrials)+" settings", "")
				}
				r, err := t4Entry(s)
				records = append(records, r)
				return err
			})
		},
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return err
	}
	var names []string
	elapsed := 0.0
	for i := range records {
		r := &records[i]
		if i == 0 {
			names = r.order
		}
		if !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(r.order))) {
			return s.problem(r.at, fmt.Sprintf("results[%d]: expected the params %s, got %s", i, strings.Join(names, ", "), strings.Join(r.order, ", ")),
				"a file holds one search: split it")
		}
		elapsed += (r.compile + r.rest) * unit
		trial, err := r.trial(s, i, unit)
		if err != nil {
			return err
		}
		trial.AtS = elapsed
		t.Trials = append(t.Trials, trial)
	}
	t.SpentS = elapsed
	t.Space = spaceOf(names, t.Trials)
	return nil
}

func t4Entry(s *scanner) (t4Record, error) {
	r := t4Record{params: map[string]string{}, figures: map[string]float64{}, units: map[string]string{}, at: s.here()}
	err := s.fields(map[string]func() error{
		"configuration": func() error {
			return s.object(func(name string) error {
				if len(r.order) >= maxParams {
					return s.fail(s.at, "more than "+strconv.Itoa(maxParams)+" params", "")
				}
				v, err := s.scalar()
				name = strings.Clone(name)
				if _, twice := r.params[name]; !twice {
					r.order = append(r.order, name)
				}
				r.params[name] = valueText(v)
				return err
			})
		},
		"invalidity": into(&r.invalidity, s.string),
		"objectives": func() error {
			return s.anyArray(func() error {
				name, err := s.optional()
				r.objectives = append(r.objectives, name)
				return err
			})
		},
		"times": func() error {
			if s.next() != '{' {
				return s.skip()
			}
			return s.object(func(key string) error {
				if key == "runtimes" {
					return s.anyArray(func() error {
						v, err := s.figure()
						if isTime(v) {
							r.runtimes = append(r.runtimes, v)
						}
						return err
					})
				}
				v, err := s.figure()
				switch {
				case !isTime(v):
				case key == "compilation" || key == "compilation_time": // two names of one time
					r.compile = v
				default:
					r.rest += v
				}
				return err
			})
		},
		"measurements": func() error {
			return s.anyArray(func() error { return t4Measurement(s, &r) })
		},
	})
	return r, err
}

func t4Measurement(s *scanner, r *t4Record) error {
	if s.next() != '{' {
		return s.skip()
	}
	var name, unit, text string
	var value float64
	number := false
	err := s.fields(map[string]func() error{
		"name": into(&name, s.optional),
		"unit": into(&unit, s.optional),
		"value": func() (err error) {
			switch {
			case s.next() == '"':
				text, err = s.string()
			case startsNumber(s.next()):
				number = true
				value, err = s.number()
			default:
				err = s.skip()
			}
			return err
		},
	})
	name = strings.Clone(name)
	if number {
		r.figures[name], r.units[name] = value, unit
	} else if name == statusName {
		r.status = text
	}
	return err
}

// trial makes a trial of the entry. Unit is that of times without one.
func (r *t4Record) trial(s *scanner, i int, unit float64) (*result.Trial, error) {
	t := &result.Trial{N: i + 1, Params: r.params, CompileS: r.compile * unit}
	status, known := t4Validity[r.invalidity]
	if !known {
		return nil, s.problem(r.at, fmt.Sprintf("results[%d]: expected invalidity to be correct, compile, runtime, correctness, constraints or timeout, got %q",
			i, r.invalidity), "this is how T4 says what came of a setting")
	}
	if own := result.TrialStatus(r.status); own == result.TrialCut || own == result.TrialSame || own == result.TrialResources ||
		own == result.TrialCompileTimeout || own == result.TrialCrash || own == result.TrialRejected {
		status = own // in pawl's own words, which are finer
	}
	if r.invalidity != "correct" {
		failure(t, status, r.invalidity)
		return t, nil
	}
	t.Status = status
	objective := "time"
	if len(r.objectives) > 0 && !strings.Contains(r.objectives[0], "=") {
		objective = r.objectives[0]
	}
	if _, ok := r.figures[objective]; !ok || timeUnits[strings.ToLower(r.units[objective])] == 0 && r.units[objective] != "" {
		objective = "time"
	}
	seconds, ok := r.figures[objective]
	per := timeUnits[strings.ToLower(r.units[objective])]
	if per == 0 {
		per = unit
	}
	switch {
	case ok:
		seconds *= per
	case len(r.runtimes) > 0:
		seconds = middle(r.runtimes) * unit
	default:
		return nil, s.problem(r.at, fmt.Sprintf("results[%d]: a correct setting without a time: expected a measurement \"time\", or runtimes", i),
			"pawl takes times: record them beside the objective")
	}
	if message, hint := notATime(seconds); message != "" {
		return nil, s.problem(r.at, fmt.Sprintf("results[%d]: %s", i, message), hint)
	}
	on := result.TrialConfig{Config: "imported", MedianS: seconds, Samples: max(1, len(r.runtimes))}
	if len(r.runtimes) > 0 {
		on.MedianS = middle(r.runtimes) * unit
	}
	t.Cost, t.On = seconds, []result.TrialConfig{on}
	return t, nil
}

type t4File struct {
	SchemaVersion string            `json:"schema_version"`
	Metadata      map[string]string `json:"metadata"`
	Results       []t4Result        `json:"results"`
}

type t4Result struct {
	Configuration map[string]any   `json:"configuration"`
	Times         t4Times          `json:"times"`
	Invalidity    string           `json:"invalidity"`
	Correctness   int              `json:"correctness"`
	Measurements  []map[string]any `json:"measurements"`
	Objectives    []string         `json:"objectives"`
}

type t4Times struct {
	Compilation     float64   `json:"compilation"`
	CompilationTime float64   `json:"compilation_time"` // the schema's name for it; Kernel Tuner writes the other
	Benchmark       float64   `json:"benchmark"`
	Framework       float64   `json:"framework"`
	Search          float64   `json:"search_algorithm"`
	Validation      float64   `json:"validation"`
	Runtimes        []float64 `json:"runtimes"`
}

// WriteT4 writes a search as T4 results. Settings that were lost with their worker are left out: nothing is known
// of them.
func WriteT4(t *result.Tuning) ([]byte, error) {
	out := t4File{SchemaVersion: "1.0.0", Metadata: map[string]string{"timeunit": "milliseconds"}, Results: []t4Result{}}
	before := 0.0
	for _, trial := range t.Trials {
		if trial.Status == result.TrialLost {
			continue
		}
		r := t4Result{
			Configuration: map[string]any{}, Invalidity: t4Word(trial), Correctness: 1, Objectives: []string{"time"},
			Measurements: []map[string]any{}, Times: t4Times{Runtimes: []float64{}},
		}
		for _, p := range t.Space.Params {
			text, ok := trial.Params[p.Name]
			if !ok {
				return nil, fmt.Errorf("trial %d has no value of %s", trial.N, p.Name)
			}
			r.Configuration[p.Name] = jsonValue(text)
		}
		for _, m := range timings(trial, before) {
			if v, ok := m.value.(float64); ok && m.key == "compile_time" {
				r.Times.Compilation, r.Times.CompilationTime = v, v
			} else if ok && m.key == "benchmark_time" {
				r.Times.Benchmark = v
			}
		}
		before = trial.AtS
		if trial.Status == result.TrialWrong {
			r.Correctness = 0
		}
		if hasCost(trial) {
			for _, on := range trial.On {
				r.Times.Runtimes = append(r.Times.Runtimes, on.MedianS/milli)
			}
			r.Measurements = append(r.Measurements, measurement("time", trialSeconds(trial)/milli, "ms"))
			for _, on := range trial.On {
				if on.Joules > 0 {
					r.Measurements = append(r.Measurements, measurement("energy "+on.Config, on.Joules, "J"))
				}
			}
		}
		r.Measurements = append(r.Measurements, measurement(statusName, string(trial.Status), ""))
		out.Results = append(out.Results, r)
	}
	text, err := json.MarshalIndent(out, "", "  ")
	return append(text, '\n'), err
}

func measurement(name string, value any, unit string) map[string]any {
	return map[string]any{"name": name, "value": value, "unit": unit}
}

// t4Word is T4's word for what came of a trial.
func t4Word(t *result.Trial) string {
	switch {
	case hasCost(t):
		return "correct"
	case t.Status == result.TrialUnfit || t.Status == result.TrialResources:
		return "constraints"
	case t.Status == result.TrialCompileError || t.Status == result.TrialCompileTimeout:
		return "compile"
	case t.Status == result.TrialWrong:
		return "correctness"
	case t.Status == result.TrialTimeout:
		return "timeout"
	}
	return "runtime"
}
