package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"pawl/internal/formula"
	"pawl/internal/result"
)

// member is a key of an object whose order matters.
type member struct {
	key   string
	value any
}

// object writes an object with its keys in order.
func object(members []member) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteString(", ")
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.key, err)
		}
		b.Write(key)
		b.WriteString(": ")
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// jsonValue is a param's value as JSON has it.
func jsonValue(text string) any {
	v := textValue(text)
	switch v.Kind() {
	case formula.KindInt:
		i, _ := v.Int()
		return i
	case formula.KindFloat:
		return json.Number(v.String()) // 1.0 stays a float
	case formula.KindBool:
		b, _ := v.Bool()
		return b
	}
	return text
}

// WriteKernelTuner writes a search as a cache file of Kernel Tuner, to go on from or to simulate. Settings that
// were lost with their worker are left out: nothing is known of them. Times are milliseconds; with several configs
// "time" is what the search made of them. A cache has no name for the problem's size: Kernel Tuner then takes it
// for any.
func WriteKernelTuner(t *result.Tuning, device string) ([]byte, error) {
	var names []string
	var params []member
	for _, p := range t.Space.Params {
		names = append(names, p.Name)
		values := make([]any, len(p.Values))
		for i, v := range p.Values {
			values[i] = jsonValue(v)
		}
		params = append(params, member{p.Name, values})
	}
	space, err := object(params)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("{\n")
	for _, m := range []member{
		{"device_name", device},
		{"kernel_name", t.Kernel},
		{"tune_params_keys", names},
		{"tune_params", json.RawMessage(space)},
		{"objective", []string{"time"}},
	} {
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q: %s,\n", m.key, value)
	}
	b.WriteString(`"cache": {`)
	first, before := true, 0.0
	seen := map[string]bool{}
	for _, trial := range t.Trials {
		key, members, err := kernelTunerMembers(names, trial)
		if err != nil {
			return nil, err
		}
		if trial.Status == result.TrialLost || seen[key] {
			continue
		}
		seen[key] = true
		members = append(members, timings(trial, before)...)
		before = trial.AtS
		text, err := object(members)
		if err != nil {
			return nil, err
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.WriteString("\n")
		b.Write(name)
		b.WriteString(": ")
		b.Write(text)
	}
	b.WriteString("}\n}") // these three characters are how Kernel Tuner knows that a file is whole
	return b.Bytes(), nil
}

// kernelTunerMembers returns an entry's key, and its params and time.
func kernelTunerMembers(names []string, trial *result.Trial) (string, []member, error) {
	var keys []string
	var members []member
	for _, name := range names {
		text, ok := trial.Params[name]
		if !ok {
			return "", nil, fmt.Errorf("trial %d has no value of %s", trial.N, name)
		}
		keys = append(keys, textValue(text).String())
		members = append(members, member{name, jsonValue(text)})
	}
	switch {
	case hasCost(trial):
		times := []float64{}
		for _, on := range trial.On {
			times = append(times, on.MedianS/milli)
		}
		members = append(members, member{"time", trialSeconds(trial) / milli}, member{"times", times})
	default:
		members = append(members, member{"time", kernelTunerError(trial.Status)})
	}
	return strings.Join(keys, ","), members, nil
}

// hasCost reports whether a trial was measured.
func hasCost(t *result.Trial) bool {
	switch t.Status {
	case result.TrialOK, result.TrialCut, result.TrialSame:
		return t.Cost > 0 && !math.IsInf(t.Cost, 0)
	}
	return false
}

// trialSeconds is the time of a trial: its one config's, or what the search was told.
func trialSeconds(t *result.Trial) float64 {
	if len(t.On) == 1 && t.On[0].MedianS > 0 {
		return t.On[0].MedianS
	}
	return t.Cost
}

func kernelTunerError(status result.TrialStatus) string {
	switch status {
	case result.TrialUnfit, result.TrialResources:
		return "InvalidConfig"
	case result.TrialCompileError, result.TrialCompileTimeout:
		return "CompilationFailedConfig"
	}
	return "RuntimeFailedConfig"
}

// timings are the times that Kernel Tuner's budget counts, in milliseconds: compilation apart from the rest.
func timings(t *result.Trial, before float64) []member {
	rest := t.DeviceS
	if rest == 0 {
		rest = max(0, t.AtS-before-t.CompileS)
	}
	return []member{
		{"compile_time", t.CompileS / milli},
		{"verification_time", 0},
		{"benchmark_time", rest / milli},
		{"strategy_time", 0},
		{"framework_time", 0},
	}
}
