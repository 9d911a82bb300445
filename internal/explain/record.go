package explain

import (
	"math"
	"slices"
	"strconv"

	"pawl/internal/advice"
	"pawl/internal/profile"
	"pawl/internal/result"
)

// This file turns what the engines say into the report's own words.

// explained returns what is known of one version of a kernel.
func explained(version, label string, p *profile.Profile, facts advice.Facts, said *advice.Advice) result.ExplainedSide {
	out := result.ExplainedSide{Version: version, Label: label, Metrics: map[string]result.Fact{}}
	for name, fact := range facts {
		out.Metrics[name] = result.Fact{Value: fact.Value, Unit: fact.Unit, From: sources(fact.From)}
	}
	if p != nil {
		out.Device, out.CC, out.Grid, out.Block, out.Place, out.Repeats, out.Limiter = p.Device, p.CC, p.Grid, p.Block, p.Place, p.Repeats, p.Limiter
		out.Roof = rooflineOf(p.Roof)
		for _, s := range p.Stalls {
			if finite(s.Share) {
				out.Waits = append(out.Waits, result.Wait{Reason: s.Reason, Share: s.Share})
			}
		}
	}
	out.Findings = []result.Bottleneck{}
	for _, f := range said.Findings {
		out.Findings = append(out.Findings, *bottleneck(&f))
	}
	for _, r := range said.Remarks {
		out.Remarks = append(out.Remarks, result.Remark(r))
	}
	for _, x := range said.Excepted {
		out.Excepted = append(out.Excepted, result.Remark{ID: x.ID, Text: x.Why})
	}
	for _, u := range said.Unseen {
		out.Unseen = append(out.Unseen, result.Unseen(u))
	}
	return out
}

func rooflineOf(r *profile.Roofline) *result.Roofline {
	if r == nil || !finite(r.Intensity, r.Rate, r.Bandwidth, r.Peak, r.Percent()) {
		return nil
	}
	return &result.Roofline{
		Intensity: r.Intensity, Rate: r.Rate, Bandwidth: r.Bandwidth, Peak: r.Peak, Pipe: r.Pipe, Percent: r.Percent(), Measured: r.Measured, Declared: r.Declared,
	}
}

// finite reports whether all of these are numbers that a report can have. The code that is profiled may
// write the profile, too: counters so large that sums of them overflow must not cost a run its report.
func finite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

func bottleneck(f *advice.Finding) *result.Bottleneck {
	if f == nil {
		return nil
	}
	return &result.Bottleneck{
		ID: f.ID, Title: f.Title, Evidence: f.Evidence, Rests: sources(f.Rests), Gain: f.Gain(), Bound: f.Bound, Headroom: f.Headroom, Confidence: f.Confidence,
		First: f.First, Deeper: f.Deeper, Next: f.Next, Also: f.Also, Settled: f.Settled, Own: f.Own, Static: f.Static,
	}
}

func sources(from []advice.Source) (names []string) {
	for _, s := range from {
		names = append(names, string(s))
	}
	return names
}

// differ returns why two versions differ, in the report's words.
func differ(kernel string, cause *advice.Cause) *result.Why {
	w := &result.Why{Kernel: kernel, Sentence: cause.Sentence, Cause: bottleneck(cause.Finding), Build: cause.Build}
	if cause.Code != nil {
		w.Code = cause.Code.Sentences
	}
	for _, p := range cause.Static {
		w.Static = append(w.Static, result.Move{Words: p.Name, Unit: p.Unit, Before: p.Before, After: p.After})
	}
	if d := cause.Diff; d != nil {
		if w.Repeats = d.Repeats; finite(d.Slowdown) {
			w.Slowdown = d.Slowdown
		}
		for _, m := range d.Moves {
			if !finite(m.Before, m.After, m.Noise) {
				continue
			}
			w.Moves = append(w.Moves, result.Move{
				Metric: string(m.Metric), Words: m.Words, Unit: m.Unit, Before: m.Before, After: m.After, Noise: m.Noise, Limit: m.Limit,
			})
		}
	}
	return w
}

// label names a kernel with its launch, where several have its name.
func label(name string, p *profile.Profile) string {
	if p == nil {
		return name
	}
	named := *p
	named.Kernel = name
	text := named.Name()
	if v, known := p.Get(profile.SharedDynamic); known && v > 0 && len(text) > 3 && text[len(text)-3:] == ">>>" {
		text = text[:len(text)-3] + ", " + strconv.FormatFloat(v, 'f', 0, 64) + ">>>"
	}
	return text
}

// names returns the names of kernels, each once.
func names(kernels []kernel) (list []string) {
	for _, k := range kernels {
		if !slices.Contains(list, k.name) {
			list = append(list, k.name)
		}
	}
	return list
}
