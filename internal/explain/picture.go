package explain

import (
	"math"
	"slices"
	"strings"

	"pawl/internal/advice"
	"pawl/internal/profile"
	"pawl/internal/sheet"
	"pawl/internal/unit"
)

const waitsShown = 8

// Sheet returns the picture of the answer: of its only kernel or diff, or of the one that takes
// longest.
func (a *Answer) Sheet() sheet.Sheet {
	if a.Kind == "diff" {
		d := slices.MaxFunc(a.Diffs, func(x, y Diff) int { return compareTime(x.after, y.after) })
		return page(a, []Kernel{d.before, d.after}, d.Cause.Sentence, d.Cause.Finding)
	}
	k := slices.MaxFunc(a.Kernels, compareTime)
	return page(a, []Kernel{k}, "", nil)
}

func compareTime(x, y Kernel) int {
	a, _ := x.Profile.Get(profile.Duration)
	b, _ := y.Profile.Get(profile.Duration)
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func page(a *Answer, versions []Kernel, why string, cause *advice.Finding) sheet.Sheet {
	now := versions[len(versions)-1]
	s := sheet.Sheet{Title: now.label(), Foot: "pawl " + a.Tool + " · " + strings.Join(a.Files, " → ")}
	parts := []string{a.Device}
	if t, known := now.Profile.Get(profile.Duration); known {
		parts = append(parts, unit.Duration(t)+" under ncu")
	}
	s.Subtitle = strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " · ")
	if len(versions) == 2 {
		s.Versions = []string{"before", "after"}
	}
	s.Roof = roof(versions)
	values := func(get func(Kernel) (float64, bool)) (list []float64) {
		for _, k := range versions {
			v, ok := get(k)
			if !ok {
				v = math.NaN()
			}
			list = append(list, v)
		}
		return list
	}
	for _, bar := range []struct {
		name   string
		metric profile.Metric
	}{
		{"SM", profile.SMPercent},
		{"memory", profile.MemoryPercent},
		{"DRAM", profile.DRAMPercent},
		{"L2", profile.L2Percent},
		{"L1", profile.L1Percent},
		{"tensor cores", profile.TensorPercent},
		{"FMA pipe", profile.FMAPercent},
		{"issue slots", profile.IssuePercent},
		{"occupancy", profile.Occupancy},
	} {
		s.Use = append(s.Use, sheet.Bar{Name: bar.name, Values: values(func(k Kernel) (float64, bool) { return k.Profile.Get(bar.metric) })})
	}
	for _, reason := range reasons(versions) {
		s.Waits = append(s.Waits, sheet.Bar{Name: reason, Values: values(func(k Kernel) (float64, bool) { return k.Profile.Get(profile.Metric("stall_" + reason)) })})
	}
	for _, fact := range []struct {
		name   string
		metric profile.Metric
	}{
		{"time under ncu", profile.Duration},
		{"registers per thread", profile.Registers},
		{"static shared memory", profile.SharedStatic},
		{"dynamic shared memory", profile.SharedDynamic},
		{"possible occupancy", profile.Theoretical},
		{"waves", profile.Waves},
		{"instructions", profile.Instructions},
		{"bytes through DRAM", profile.DRAMBytes},
		{"coalescing", profile.Coalescing},
		{"bank conflicts", profile.ConflictShare},
		{"instructions on local memory", profile.LocalShare},
	} {
		f := sheet.Fact{Name: fact.name}
		for _, k := range versions {
			f.Values = append(f.Values, k.get(fact.metric))
		}
		s.Facts = append(s.Facts, f)
	}
	if why != "" {
		f := sheet.Finding{Title: why}
		if cause != nil {
			f.Gain, f.Evidence, f.Fix = cause.Gain(), cause.Evidence, cause.First
		}
		s.Findings = append(s.Findings, f)
		return s
	}
	for _, f := range now.Advice.Findings[:min(mostFindings, len(now.Advice.Findings))] {
		s.Findings = append(s.Findings, sheet.Finding{Title: f.Title, Gain: f.Gain(), Evidence: f.Evidence, Fix: f.First})
	}
	return s
}

func roof(versions []Kernel) *sheet.Roof {
	var made *sheet.Roof
	for _, k := range versions {
		r := k.Profile.Roof
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
func reasons(versions []Kernel) (found []string) {
	share := map[string]float64{}
	for _, k := range versions {
		for _, stall := range k.Profile.Stalls {
			if stall.Reason != "selected" && stall.Share >= 0.5 {
				share[stall.Reason] = math.Max(share[stall.Reason], stall.Share)
			}
		}
	}
	for reason := range share {
		found = append(found, reason)
	}
	slices.SortFunc(found, func(a, b string) int {
		switch {
		case share[a] > share[b]:
			return -1
		case share[a] < share[b]:
			return 1
		}
		return strings.Compare(a, b)
	})
	return found[:min(waitsShown, len(found))]
}
