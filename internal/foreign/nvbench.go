package foreign

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/pattern"
	"pawl/internal/result"
)

// nvbench writes summaries for every state of a benchmark: a tag and named values, numbers as
// texts. With --jsonbin the samples are beside the JSON, in files of little-endian float32 that a
// summary names: seconds, and clocks in Hz.
const (
	binTimes = "nv/json/bin:"
	binFreqs = "nv/json/freqs-bin:"
)

// binPreference orders kinds of samples: on the device with cold caches, else those
// of code that runs on the CPU.
var binPreference = []string{"nv/cold/sample_times", "nv/cpu_only/sample_times", "sample_times"}

// nvMeans are the summaries that replace missing samples, best first.
var nvMeans = []struct{ tag, what string }{
	{"nv/cold/time/gpu/median", "a median"},
	{"nv/cold/time/gpu/mean", "a mean"},
	{"nv/batch/time/gpu/mean", "a mean"},
	{"nv/cpu_only/time/cpu/median", "a median"},
	{"nv/cpu_only/time/cpu/mean", "a mean"},
}

// nvSummary are the values of one tag.
type nvSummary map[string]string

type nvState struct {
	name, old, reason string // files of 2021 have the name as a description
	device            int
	skipped           bool
	at                int
	tags              map[string]nvSummary
}

func readNVBench(src source, c *collector, open func(string) ([]byte, error)) error {
	s := &scanner{source: src}
	devices := map[int]*result.GPU{}
	var benchmarks []func() error // the devices may come after them
	err := s.fields(map[string]func() error{
		"devices": func() error { return s.anyArray(func() error { return nvDevice(s, devices) }) },
		"benchmarks": func() error {
			return s.array(func(int) error {
				name, states, err := nvBenchmark(s)
				benchmarks = append(benchmarks, func() error { return nvCollect(s, c, name, states, devices, open) })
				return err
			})
		},
	})
	if err != nil {
		return err
	}
	for _, collect := range benchmarks {
		if err := collect(); err != nil {
			return err
		}
	}
	return nil
}

func nvBenchmark(s *scanner) (name string, states []nvState, err error) {
	err = s.fields(map[string]func() error{
		"name": into(&name, s.string),
		"states": func() error {
			return s.anyArray(func() error {
				state, err := nvReadState(s)
				states = append(states, state)
				return err
			})
		},
	})
	return name, states, err
}

func nvReadState(s *scanner) (nvState, error) {
	state := nvState{tags: map[string]nvSummary{}, at: s.here(), device: -1}
	err := s.fields(map[string]func() error{
		"name":        into(&state.name, s.optional),
		"description": into(&state.old, s.optional),
		"device":      into(&state.device, func() (int, error) { return nvDeviceID(s) }),
		"is_skipped":  into(&state.skipped, s.flag),
		"skip_reason": into(&state.reason, s.optional),
		"summaries":   func() error { return s.anyArray(func() error { return nvReadSummary(s, state.tags) }) },
	})
	return state, err
}

// nvDeviceID reads the number of a device: null, or absent, for code that runs on the CPU.
func nvDeviceID(s *scanner) (id int, err error) {
	if s.next() == 'n' {
		return -1, s.skip()
	}
	err = figure(s, &id)()
	return id, err
}

func nvReadSummary(s *scanner, tags map[string]nvSummary) error {
	tag, values := "", nvSummary{}
	err := s.fields(map[string]func() error{
		"tag": into(&tag, s.optional),
		"data": func() error {
			return s.anyArray(func() error {
				var name, value string
				err := s.fields(map[string]func() error{
					"name": into(&name, s.optional),
					"value": func() error {
						if s.next() == '"' {
							return into(&value, s.string)()
						}
						v, err := s.figure()
						value = strconv.FormatFloat(v, 'g', -1, 64)
						return err
					},
				})
				values[name] = value
				return err
			})
		},
	})
	tags[tag] = values
	return err
}

func nvDevice(s *scanner, devices map[int]*result.GPU) error {
	var gpu result.GPU
	var id, version int
	err := s.fields(map[string]func() error{
		"id":                    figure(s, &id),
		"name":                  into(&gpu.Name, s.optional),
		"sm_version":            figure(s, &version),
		"number_of_sms":         figure(s, &gpu.SMs),
		"global_memory_size":    figure(s, &gpu.MemoryBytes),
		"l2_cache_size":         figure(s, &gpu.L2Bytes),
		"sm_default_clock_rate": figure(s, &gpu.MaxGHz),
		"ecc_state":             into(&gpu.ECC, s.flag),
	})
	if version > 0 {
		gpu.Arch = "sm_" + strconv.Itoa(version/10)
	}
	gpu.MaxGHz /= 1e9
	devices[id] = &gpu
	return err
}

var nvDeviceName = pattern.New(`(^| )Device=\d+`)

func nvCollect(s *scanner, c *collector, name string, states []nvState, devices map[int]*result.GPU, open func(string) ([]byte, error)) error {
	several := slices.ContainsFunc(states, func(state nvState) bool { return state.device != states[0].device })
	for _, state := range states {
		config := cmp.Or(state.name, state.old)
		if !several { // the number of the device says nothing then
			config = strings.TrimSpace(nvDeviceName.ReplaceAllString(config, ""))
		}
		row, isNew := c.only(name, config)
		if !isNew {
			return s.problem(state.at, fmt.Sprintf("%s is there twice", row.Name()), "a file holds one run: give one of them")
		}
		if gpu := devices[state.device]; gpu != nil && state.device >= 0 {
			row.Vars = map[string]string{"device": gpu.Name}
			if c.report.Machine.GPU == nil {
				c.report.Machine.GPU = gpu
			}
		}
		if state.skipped {
			skipped(row, "nvbench skipped it: "+state.reason)
			continue
		}
		if err := nvSamples(s, row, state, open); err != nil {
			return err
		}
	}
	return nil
}

// nvSamples reads the samples of a state, or takes a summary in their place.
func nvSamples(s *scanner, row *result.Row, state nvState, open func(string) ([]byte, error)) error {
	for _, kind := range binPreference {
		times, err := nvFile(s, row, state, binTimes+kind, open)
		if err != nil {
			return err
		}
		if times == nil {
			continue
		}
		for i, seconds := range times {
			if message, hint := notATime(seconds); message != "" {
				return s.problem(state.at, fmt.Sprintf("%s, sample %d: %s", row.Name(), i, message), hint)
			}
		}
		add(row, times...)
		hz, err := nvFile(s, row, state, binFreqs+strings.TrimSuffix(kind, "times")+"freqs", open)
		if err != nil || len(hz) != len(times) {
			return err
		}
		for i := range hz {
			hz[i] /= 1e9
		}
		row.Timing.Samples.GHz = hz
		return nil
	}
	for _, mean := range nvMeans {
		v, err := strconv.ParseFloat(state.tags[mean.tag]["value"], 64)
		if err == nil && isTime(v) {
			summarised(row, v, mean.what, "let nvbench write --jsonbin instead of --json")
			return nil
		}
	}
	skipped(row, "nvbench wrote no time for it")
	return nil
}

// nvFile reads the numbers that a summary refers to, nil when there are none.
func nvFile(s *scanner, row *result.Row, state nvState, tag string, open func(string) ([]byte, error)) ([]float64, error) {
	summary := state.tags[tag]
	name := summary["filename"]
	if name == "" {
		return nil, nil
	}
	raw, err := nvOpen(s.file, name, open)
	if err != nil {
		return nil, s.problem(state.at, fmt.Sprintf("%s: its samples are in %s: %v", row.Name(), name, err),
			"keep the folder "+filepath.Base(filepath.Dir(name))+" beside the JSON")
	}
	size, err := strconv.Atoi(summary["size"])
	if err != nil || len(raw) != 4*size || size == 0 {
		return nil, s.problem(state.at, fmt.Sprintf("%s: %s has %d bytes; expected %s numbers of 4", row.Name(), name, len(raw), summary["size"]),
			"the file was cut off or belongs to another run: run nvbench again")
	}
	out := make([]float64, size)
	for i := range out {
		out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
	}
	return out, nil
}

// nvOpen finds a file whose name was written relative to nvbench's working folder. It looks beside
// the JSON, in case both were moved; where nvbench's own scripts look; and at the name as it is.
func nvOpen(file, name string, open func(string) ([]byte, error)) ([]byte, error) {
	name = filepath.FromSlash(name)
	dir := filepath.Dir(file)
	beside := filepath.Join(dir, filepath.Base(filepath.Dir(name)), filepath.Base(name))
	places := []string{beside}
	if !filepath.IsAbs(name) {
		places = append(places, filepath.Join(dir, name), filepath.Join(filepath.Dir(dir), name))
	}
	var first error
	for _, place := range append(places, name) {
		raw, err := open(place)
		if err == nil {
			return raw, nil
		}
		err = withoutPath(err)
		if first == nil || !errors.Is(err, fs.ErrNotExist) {
			first = err
		}
	}
	return nil, first
}
