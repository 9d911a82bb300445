package report

import (
	"strconv"

	"pawl/internal/result"
)

// tuneRecords has a record for every trial: what came of it, its params, and its numbers on each config.
func tuneRecords(r *result.Report) [][]string {
	s := searchOf(r)
	ofFault := func(text func(*result.Fault) string) func(*result.Trial) string {
		return func(t *result.Trial) string { return textOf(t.Fault, text) }
	}
	roles := map[int]string{}
	for _, f := range s.Finalists {
		switch {
		case f == s.winner:
			roles[f.Trial] = "winner"
		case f.Fault != nil:
			roles[f.Trial] = "failed finalist"
		case f.Tied:
			roles[f.Trial] = "tied"
		default:
			roles[f.Trial] = "finalist"
		}
	}
	fields := []column[*result.Trial]{
		{head: "trial", text: func(t *result.Trial) string { return strconv.Itoa(t.N) }},
		{head: "status", text: func(t *result.Trial) string { return string(t.Status) }},
		{head: "role", text: func(t *result.Trial) string { return roles[t.N] }},
		{head: "defaults", text: func(t *result.Trial) string { return when(t == s.today, "true") }},
		{head: "same_as", text: func(t *result.Trial) string { return number(float64(t.Same)) }},
		{head: "cost", text: func(t *result.Trial) string { return number(t.Cost) }},
		{head: "at_s", text: func(t *result.Trial) string { return zero(t.AtS) }},
		{head: "compile_s", text: func(t *result.Trial) string { return number(t.CompileS) }},
		{head: "device_s", text: func(t *result.Trial) string { return number(t.DeviceS) }},
		{head: "worker", text: func(t *result.Trial) string { return strconv.Itoa(t.Worker) }},
		{head: "earlier", text: func(t *result.Trial) string { return when(t.Earlier, "true") }},
		{head: "cause", text: ofFault(func(f *result.Fault) string { return string(f.Cause) })},
		{head: "message", text: ofFault(func(f *result.Fault) string { return f.Message })},
	}
	for _, p := range s.Space.Params {
		fields = append(fields, column[*result.Trial]{head: "param:" + p.Name, text: func(t *result.Trial) string { return t.Params[p.Name] }})
	}
	for _, config := range s.Configs {
		for _, f := range []struct {
			name string
			of   func(result.TrialConfig) float64
		}{
			{"median_s", func(c result.TrialConfig) float64 { return c.MedianS }},
			{"ci_95_low_s", func(c result.TrialConfig) float64 { return c.Low }},
			{"ci_95_high_s", func(c result.TrialConfig) float64 { return c.High }},
			{"samples", func(c result.TrialConfig) float64 { return float64(c.Samples) }},
			{"ratio", func(c result.TrialConfig) float64 { return c.Ratio }},
			{"energy_j", func(c result.TrialConfig) float64 { return c.Joules }},
		} {
			fields = append(fields, column[*result.Trial]{head: f.name + ":" + config, text: func(t *result.Trial) string {
				for _, on := range t.On {
					if on.Config == config {
						return number(f.of(on))
					}
				}
				return ""
			}})
		}
	}
	return records(s.Trials, fields)
}
