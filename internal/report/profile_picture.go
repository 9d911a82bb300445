package report

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/sheet"
)

const waitsShown = 8

// Pictures are the file endings of pictures.
var Pictures = []string{".svg", ".png"}

// Picture draws a search for better params, or else the kernel of a report that takes longest, beside its
// other version if it has one. ending is one of Pictures. Without dark, an SVG follows the reader's theme.
func Picture(r *result.Report, ending string, dark bool) ([]byte, error) {
	drawn, err := drawingOf(r)
	if err != nil {
		return nil, err
	}
	if ending == ".svg" {
		theme := sheet.Auto
		if dark {
			theme = sheet.Dark
		}
		text, err := drawn.SVG(theme)
		return []byte(text), err
	}
	theme := sheet.Light
	if dark {
		theme = sheet.Dark
	}
	var b bytes.Buffer
	err = drawn.PNG(&b, theme)
	return b.Bytes(), err
}

// drawingOf returns what is drawn of a report.
func drawingOf(r *result.Report) (drawing, error) {
	if r.Kind == result.KindTune {
		if !Searched(r) {
			return nil, errors.New("this search tried nothing: there is nothing to draw")
		}
		return searchOf(r).picture(), nil
	}
	all := explained(r.Rows)
	if len(all) == 0 {
		return nil, errors.New("no kernel of this report is explained: there is nothing to draw")
	}
	return slices.MaxFunc(all, func(x, y *reason) int { return cmp.Compare(x.seconds(), y.seconds()) }).page(r), nil
}

type drawing interface {
	SVG(sheet.Theme) (string, error)
	PNG(io.Writer, sheet.Theme) error
}

// Explained reports whether a report says why a kernel takes its time.
func Explained(r *result.Report) bool { return len(explained(r.Rows)) > 0 }

// Profiles returns the names of the profiles that were kept with a run.
func Profiles(r *result.Report) (names []string) {
	for _, w := range explained(r.Rows) {
		if w.Profiler == nil {
			continue
		}
		for _, name := range w.Profiler.Files {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// seconds is the time of the kernel, under a profiler if one has seen it.
func (w *reason) seconds() float64 {
	if t, known := w.Last().Get("duration"); known {
		return t
	}
	t, _ := w.Last().Get("seconds")
	return t
}

// page returns the picture of a kernel as data.
func (w *reason) page(r *result.Report) sheet.Sheet {
	s := sheet.Sheet{Title: view.Flat(w.name()), Foot: strings.Join(present("pawl "+r.Tool.Version, strings.Join(each(r.Inputs, func(in result.Input) string { return in.File }), " → "), prefixed("run ", r.ID)), " · ")}
	how := " as it was measured"
	if _, known := w.Last().Get("duration"); known {
		how = " under ncu"
	}
	parts := []string{cmp.Or(w.Last().Device, when(len(r.Inputs) == 0, machineLine(r)))}
	if took(w.Last()) != "–" {
		parts = append(parts, took(w.Last())+how)
	}
	s.Subtitle = strings.Join(present(parts...), " · ")
	if !w.single() {
		s.Versions = each(w.Versions, func(v result.ExplainedSide) string { return v.Version })
	}
	s.Roof = w.roof()
	values := func(metric string) (list []float64) {
		for _, v := range w.Versions {
			value, ok := v.Get(metric)
			if !ok {
				value = math.NaN()
			}
			list = append(list, value)
		}
		return list
	}
	for _, bar := range []struct{ name, metric string }{
		{"SM", "sm_pct"},
		{"memory", "memory_pct"},
		{"DRAM", "dram_pct"},
		{"L2", "l2_pct"},
		{"L1", "l1_pct"},
		{"tensor cores", "tensor_pct"},
		{"FMA pipe", "fma_pct"},
		{"issue slots", "issue_pct"},
		{"occupancy", "occupancy_pct"},
	} {
		s.Use = append(s.Use, sheet.Bar{Name: bar.name, Values: values(bar.metric)})
	}
	for _, reason := range w.reasons() {
		s.Waits = append(s.Waits, sheet.Bar{Name: reason, Values: each(w.Versions, func(v result.ExplainedSide) float64 { return shareOf(v, reason) })})
	}
	s.Samples = w.samples()
	for _, fact := range []struct{ name, metric string }{
		{"time under ncu", "duration"},
		{"registers per thread", "registers"},
		{"static shared memory", "shared_static"},
		{"dynamic shared memory", "shared_dynamic"},
		{"possible occupancy", "theoretical_pct"},
		{"waves", "waves"},
		{"instructions", "instructions"},
		{"bytes through DRAM", "dram_bytes"},
		{"coalescing", "coalescing_pct"},
		{"bank conflicts", "conflict_pct"},
		{"instructions on local memory", "local_pct"},
		{"instructions a cycle", "ipc"},
		{"branches missed", "branch_miss_pct"},
		{"cache misses", "cache_miss_pct"},
		{"of the roof", "roof_pct"},
	} {
		f := sheet.Fact{Name: fact.name, Values: each(w.Versions, func(v result.ExplainedSide) string { return shownFact(&v, fact.metric) })}
		if profiled([]*reason{w}) && slices.Contains([]string{"ipc", "branch_miss_pct", "cache_miss_pct", "roof_pct"}, fact.metric) {
			continue // the picture has the roofline of the profile
		}
		if profiled([]*reason{w}) || slices.ContainsFunc(f.Values, func(text string) bool { return text != "–" }) {
			s.Facts = append(s.Facts, f)
		}
	}
	if w.Sentence != "" {
		f := sheet.Finding{Title: w.Sentence}
		if w.Cause != nil {
			f.Gain, f.Evidence, f.Fix = w.Cause.Gain, w.Cause.Evidence, w.Cause.First
		}
		s.Findings = append(s.Findings, f)
		return s
	}
	found := w.Last().Findings
	for _, f := range found[:min(mostFindings, len(found))] {
		s.Findings = append(s.Findings, sheet.Finding{Title: f.Title, Gain: f.Gain, Evidence: f.Evidence, Fix: f.First})
	}
	return s
}

// samples are those of the row's versions, as they were measured; nil where they were not.
func (w *reason) samples() [][]float64 {
	times := func(t *result.Timing) []float64 {
		if t == nil {
			return nil
		}
		return t.Samples.Kept()
	}
	if w.own || w.row.Timing == nil {
		return nil // the samples are of all launches together
	}
	own := times(w.row.Timing)
	if w.single() {
		return [][]float64{own}
	}
	for _, side := range w.row.Sides {
		if side.Row != nil && string(side.Role) == w.Versions[0].Version {
			return [][]float64{times(side.Row.Timing), own}
		}
	}
	return nil
}

func shareOf(v result.ExplainedSide, reason string) float64 {
	for _, wait := range v.Waits {
		if wait.Reason == reason {
			return wait.Share
		}
	}
	return math.NaN()
}

// roof is the highest roofline, with the points of all versions.
func (w *reason) roof() *sheet.Roof {
	var made *sheet.Roof
	for _, v := range w.Versions {
		r := v.Roof
		if r == nil {
			return nil
		}
		if made == nil || r.Peak > made.Peak {
			points := []sheet.Point(nil)
			if made != nil {
				points = made.Points
			}
			made = &sheet.Roof{Bandwidth: r.Bandwidth, Peak: r.Peak, Pipe: r.Pipe, Points: points}
		}
		made.Points = append(made.Points, sheet.Point{Intensity: r.Intensity, Rate: r.Rate})
	}
	return made
}

// reasons are what warps of any version waited for most, without the cycles in which they issued.
func (w *reason) reasons() (found []string) {
	share := map[string]float64{}
	for _, v := range w.Versions {
		for _, stall := range v.Waits {
			if stall.Reason != "selected" && stall.Share >= 0.5 {
				share[stall.Reason] = math.Max(share[stall.Reason], stall.Share)
			}
		}
	}
	for reason := range share {
		found = append(found, reason)
	}
	slices.SortFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(share[b], share[a]), cmp.Compare(a, b))
	})
	return found[:min(waitsShown, len(found))]
}
