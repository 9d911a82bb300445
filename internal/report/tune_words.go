package report

import (
	"fmt"
	"math"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// facts say how the search went, each in a line. A terminal that is not verbose has fewer of them.
func (s *search) facts(all bool) []pair {
	facts := []pair{
		{"tied with", s.tied()},
		{"tried", s.tried()},
		{"failed", s.failed()},
		{"ended", s.ended()},
		{"device", s.device()},
		{"matters", s.matters(all)},
		{"per config", s.split()},
		{"energy", s.saves()},
	}
	if all {
		facts = append(facts, pair{"strategy", s.strategy()}, pair{"began with", strings.Join(s.Warm, "; ")})
	}
	return where(facts, func(p pair) bool { return p.text != "" })
}

// ties returns the finalists that cannot be told from the winner.
func (s *search) ties() []*result.Finalist {
	return where(s.Finalists, func(f *result.Finalist) bool { return f.Tied && f.Fault == nil && f != s.winner })
}

func (s *search) tied() string {
	const named = 3
	ties := s.ties()
	if len(ties) == 0 {
		return ""
	}
	text := view.Count(len(ties), "setting") + " whose intervals overlap its own: with " + strings.Join(each(ties[:min(named, len(ties))], func(f *result.Finalist) string { return s.unlike(f.Params) }), "; ")
	if len(ties) > named {
		text += fmt.Sprintf("; and %d more", len(ties)-named)
	}
	return text
}

// evaluated counts the trials that took their turn, also those that failed.
func (s *search) evaluated() int { return len(s.Trials) - s.Count(result.TrialUnfit) }

// tried says how many settings were tried of how many, and what came of them.
func (s *search) tried() string {
	n, unfit := s.evaluated(), s.Count(result.TrialUnfit)
	if n+unfit == 0 {
		return "nothing" + prefixed(" of ", s.size())
	}
	failed := len(where(s.Trials, (*result.Trial).Failed))
	counts := present(
		counted(s.Count(result.TrialOK), "measured"), counted(s.Count(result.TrialCut), "given up early"), counted(s.Count(result.TrialSame), "equal to another"),
		counted(failed, "failed"), counted(s.Count(result.TrialLost), "lost with their worker"),
	)
	text := unit.Count(n) + prefixed(" of ", s.size()) + prefixed(": ", strings.Join(counts, ", "))
	return text + when(unfit > 0, "; "+unit.Count(unfit)+" more need more than this device has")
}

func counted(n int, what string) string { return when(n > 0, unit.Count(n)+" "+what) }

// size says how many settings there are: "4,212 settings (7.1%)".
func (s *search) size() string {
	size := s.Space.Size
	if !(size > 0) || math.IsInf(size, 1) {
		return ""
	}
	text := fmt.Sprintf("%.1e settings", size)
	if size < 1e7 {
		text = view.Counted(int(math.Round(size)), "setting")
	}
	if !s.Space.Exact {
		text = "about " + text
	}
	share := float64(len(s.Trials)) / size
	return text + when(share > 0.0005 && share < 0.9995, " ("+unit.PercentPlain(share)+")")
}

// failed counts failures by kind, and names the cause of the commonest.
func (s *search) failed() string {
	if len(s.failures) == 0 {
		return ""
	}
	kinds := strings.Join(each(s.failures, func(f result.Failure) string { return unit.Count(f.Trials) + " " + string(f.Status) }), ", ")
	first := s.failures[0]
	if first.Message == "" {
		return kinds
	}
	const long = 160
	return kinds + "; most often: " + view.Shorten(hinted(first.Message, first.Hint), long)
}

// ended says how the search ended, and that one which did not try everything may have missed the best.
func (s *search) ended() string {
	const truncated = ": a truncated search, a better setting may exist"
	switch s.Ended {
	case "exhausted":
		return "every setting was tried"
	case "budget":
		return "by its budget of " + seconds(s.BudgetS) + truncated
	case "count":
		return "by the number of settings that it was to try" + truncated
	case "workers":
		return "when no worker was left" + truncated
	case "interrupted":
		after := "by the user, after " + seconds(s.SpentS)
		if s.Space.Exact && float64(len(s.Trials)) >= s.Space.Size {
			return after + ": every setting was tried, but not every final was played"
		}
		return after + truncated
	}
	return when(s.r.Interrupted, "by the user"+truncated)
}

// device says how busy the devices were, and how fast the search was.
func (s *search) device() string {
	if !(s.SpentS > 0) || s.evaluated() == 0 {
		return ""
	}
	wall := s.SpentS * float64(max(s.Workers, 1))
	parts := present(
		when(s.DeviceBusyS > 0, fmt.Sprintf("busy %s of %s", portion(s.DeviceBusyS/wall), seconds(s.SpentS))+when(s.Workers > 1, fmt.Sprintf(" on %d workers", s.Workers))+
			when(s.LaunchBusyS > 0, " ("+portion(s.LaunchBusyS/wall)+" without flushes)")),
		view.Short(fmt.Sprintf("%.1f", 60*float64(s.evaluated())/s.SpentS))+" settings a minute",
	)
	return strings.Join(parts, ", ")
}

// portion writes a part of a whole, of which no more than all can be there.
func portion(v float64) string {
	if v > 0 && v < 0.005 {
		return "under 1%"
	}
	return fmt.Sprintf("%.0f%%", 100*min(max(v, 0), 1))
}

// matters names the params that the cost depends on most.
func (s *search) matters(all bool) string {
	const named, least = 4, 0.01
	matter := where(s.Effects, func(e result.Effect) bool { return e.Share >= least })
	if len(matter) == 0 {
		return ""
	}
	text := strings.Join(each(matter[:min(named, len(matter))], func(e result.Effect) string { return e.Param + " " + portion(e.Share) }), ", ")
	return text + when(all, " of the variance of log cost, each alone")
}

// split says what one setting for all configs costs.
func (s *search) split() string {
	most := 0.0
	config := ""
	for _, p := range s.Picks {
		if p.Gain > most {
			most, config = p.Gain, p.Config
		}
	}
	if most < 0.001 {
		return ""
	}
	return "with params of its own: up to " + unit.PercentPlain(most) + " less " + s.what() + " (" + config + ")" + when(most < result.WorthwhileGain, ", which is noise")
}

// saves says what of the front takes the least energy, and what that costs in time.
func (s *search) saves() string {
	if len(s.front) == 0 || s.winner == nil {
		return ""
	}
	n := len(s.Configs)
	best := s.Trial(s.winner.Trial)
	last := s.front[len(s.front)-1]
	if best == nil || best.Joules(n) <= 0 || last.Joules(n) >= best.Joules(n) {
		return ""
	}
	return fmt.Sprintf("%s less with %s, and %s time", unit.PercentPlain(1-last.Joules(n)/best.Joules(n)), s.unlike(last.Params), unit.Percent(last.Seconds(n)/best.Seconds(n)-1))
}

func (s *search) strategy() string {
	return strings.Join(present(s.Strategy, "for less "+s.what()+s.over(), prefixed("compiler ", s.Compiler)), " · ")
}

// fallen says which finalists were left out, and why.
func (s *search) fallen() []string {
	left := where(s.Finalists, func(f *result.Finalist) bool { return f.Fault != nil })
	return each(left, func(f *result.Finalist) string {
		return hinted("a finalist, with "+s.unlike(f.Params)+", fell out: "+view.Flat(f.Fault.Message), f.Fault.Hint)
	})
}
