package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/term"
	"pawl/internal/unit"
)

// search is a search for better params, with what its parts have in common.
type search struct {
	*result.Tuning
	r        *result.Report
	winner   *result.Finalist // nil: no candidate came so far
	today    *result.Trial    // nil: today's defaults were not tried
	failures []result.Failure
	front    []*result.Trial
	scale    float64 // of costs, which are relative to today's defaults
	unit     string  // of scaled costs: s, J or ×
	wordy    bool    // tables have all params of a setting in one column
}

func searchOf(r *result.Report) *search {
	t := r.Tuning
	if t == nil {
		t = &result.Tuning{} // a report may claim anything
	}
	s := &search{Tuning: t, r: r, winner: t.Winner(), today: t.Default(), failures: t.Failures(), scale: 1, unit: "×"}
	for _, n := range t.Front {
		if trial := t.Trial(n); trial != nil && trial.Seconds(len(t.Configs)) > 0 && trial.Joules(len(t.Configs)) > 0 {
			s.front = append(s.front, trial)
		}
	}
	if s.today == nil || !s.today.Measured() || len(t.Configs) != 1 {
		return s
	}
	switch seconds, joules := s.today.Seconds(1), s.today.Joules(1); {
	case t.Objective == "energy" && joules > 0:
		s.scale, s.unit = joules/s.today.Cost, "J"
	case t.Objective == "time" && seconds > 0:
		s.scale, s.unit = seconds/s.today.Cost, "s"
	}
	return s
}

// suggested reports whether the winner is worth applying.
func (s *search) suggested() bool { return s.winner != nil && s.NoSuggestion == "" }

// found says what the search came to, in a few words.
func (s *search) found() string {
	worked, failed := s.Candidates()
	switch {
	case s.suggested():
		return unit.PercentPlain(-s.winner.Overall) + " less " + s.what() + s.over()
	case s.noise():
		return "the best is " + unit.PercentPlain(max(0, -s.winner.Overall)) + " better: noise, do not bother"
	case worked == 0 && failed > 0:
		return "every candidate failed"
	case s.winner != nil && s.winner.Overall <= -result.WorthwhileGain, s.unproven():
		return "nothing is suggested"
	}
	return "nothing better than today's defaults"
}

// over says how several configs were made one number; "" for one config.
func (s *search) over() string {
	of := view.Count(len(s.Configs), "config")
	return when(len(s.Configs) > 1, map[bool]string{true: " in the worst of " + of, false: " on average over " + of}[s.Over == "worst"])
}

// noise reports whether the winner is better by so little that applying it is not worth the while.
func (s *search) noise() bool {
	return s.winner != nil && s.NoSuggestion != "" && s.winner.Overall <= 0 && s.winner.Overall > -result.WorthwhileGain
}

// unproven reports whether a trial seemed better than today's defaults by more than noise, and the finals
// have not decided about it.
func (s *search) unproven() bool {
	return s.winner == nil && s.today != nil && s.today.Measured() && slices.ContainsFunc(s.Trials, func(t *result.Trial) bool {
		return t.Measured() && t.Cost <= (1-result.WorthwhileGain)*s.today.Cost
	})
}

// what names that of which there is to be less.
func (s *search) what() string {
	switch s.Objective {
	case "energy":
		return "energy"
	case "both":
		return "time and energy"
	}
	return "time"
}

// tune shows a search for better params: what it found and how that is applied, then what was tried.
func (b *builder) tune() {
	r, s := b.r, searchOf(b.r)
	b.v.Heading = []string{"pawl " + r.Tool.Version, machineLine(r), s.Kernel + ", " + view.Count(len(s.Configs), "config"), methodLine(r)}
	b.v.Comment = true // a forge shows it to those who judge the change
	b.v.Title = s.Kernel + ": " + s.found()
	b.v.Brief = b.v.Title + " on " + machineLine(r)
	b.v.Facts = append(each(s.facts(true), func(p pair) view.Fact { return view.Fact{Name: p.name, Text: p.text} }), runFacts(r, view.Fact{Name: "method", Text: method(r)})...)
	b.tuneText(s)
	b.tuneBest(s)
	b.add(view.Terminal, view.Section{Items: faults(r, true)})
	b.add(view.Markdown, view.Section{Items: allFaults(r)})
	b.tunePictures(s)
	b.tuneApply(s)
	b.tuneTried(s)
	b.add(view.HTML, view.Section{ID: "problems", Title: "Problems", Items: faults(r, false)})
	b.warnings(view.All&^view.CSV, slices.Concat(s.fallen(), allWarnings(r)))
	b.v.Closing, b.v.Next = s.closing(), s.next()
	b.v.Foot = present(
		methodLine(r), "δ is positive when slower", r.Started.UTC().Format(time.RFC3339), prefixed("commit ", commit(r)), when(r.Interrupted, "interrupted"),
		"pawl "+r.Tool.Version, prefixed("run ", r.ID),
	)
}

// closing says what the search came to, and that it was not a whole one.
func (s *search) closing() view.Line {
	worked, failed := s.Candidates()
	out := view.Line{Tone: view.Unsure}
	switch {
	case s.suggested():
		out = view.Line{Text: s.found() + " than today's defaults", Tone: view.Good}
	case worked == 0 && failed > 0:
		out = view.Line{Text: s.found() + prefixed(": ", s.commonest()), Tone: view.Bad}
	case s.NoSuggestion != "":
		out.Text = "nothing is suggested: " + s.NoSuggestion
	case s.winner == nil && len(s.Trials) == 0:
		out.Text = "nothing was tried" + prefixed(": ", s.outcome())
	default:
		out.Text = s.found()
	}
	if s.r.Interrupted {
		out.Text, out.Tone = "interrupted: "+out.Text, view.Unsure
	}
	return out
}

// outcome returns why the run did not pass; "" where it did, or nobody knows.
func (s *search) outcome() string {
	return textOf(s.r.Outcome, func(o *result.Outcome) string { return strings.Join(o.Reasons, "; ") })
}

// commonest says what most failures have in common; "" without failures.
func (s *search) commonest() string {
	if len(s.failures) == 0 {
		return ""
	}
	f := s.failures[0]
	return unit.Count(f.Trials) + " × " + string(f.Status) + prefixed(", most often: ", f.Message)
}

// next says what to do now.
func (s *search) next() string {
	switch {
	case s.r.Interrupted, s.Ended == "workers":
		return s.resume() + " goes on"
	case s.suggested() && !slices.Contains(s.r.Command, "--apply"):
		return "apply it: " + s.again() + " --last --apply"
	case s.unproven():
		return s.resume() + " goes on; a longer --budget has time for more duets"
	}
	return ""
}

// resume is the command that goes on with this search: that of the search itself, since a search goes on
// with the configs, objective and weights that it began with.
func (s *search) resume() string {
	words := slices.DeleteFunc(slices.Clone(s.r.Command), func(word string) bool { return word == "--resume" || word == "--last" })
	if len(words) < 2 || words[1] != "tune" {
		return s.again() + " --resume"
	}
	return term.ShellLine(append(each(words, view.Flat), "--resume")...)
}

// again is the beginning of a command about this search.
func (s *search) again() string { return term.ShellLine("pawl", "tune", view.Flat(s.Kernel)) }

// tuneText adds what a terminal shows: the winner on each config, and the search in a few lines.
func (b *builder) tuneText(s *search) {
	columns := []column[pair]{
		{text: func(p pair) string { return p.name }, tone: view.Quiet},
		{words: true, cell: func(p pair) view.Cell {
			return view.Cell{Text: p.text, Tone: map[bool]view.Tone{true: view.Strong}[p.name == "best"]}
		}},
	}
	if s.winner != nil {
		b.add(view.Terminal, view.Section{Table: tableOf("", []pair{{"best", s.setting(s.winner.Params)}, {"changes", s.changed(s.winner.Params)}}, columns)})
		b.add(view.Terminal, view.Section{Table: s.results()})
	}
	for _, form := range []view.Form{view.Text, view.Verbose} {
		b.add(form, view.Section{Table: tableOf("", s.facts(form == view.Verbose), columns)})
	}
}

// setting writes params in the order of pawl.yaml: "BLOCK_M=128 BLOCK_N=64".
func (s *search) setting(params map[string]string) string {
	return strings.Join(each(s.order(params), func(name string) string { return name + "=" + params[name] }), " ")
}

// order names params as the space does, and then those that it does not have.
func (s *search) order(params map[string]string) []string {
	var names []string
	for _, p := range s.Space.Params {
		if _, has := params[p.Name]; has {
			names = append(names, p.Name)
		}
	}
	return distinct(slices.Concat(names, sortedKeys(params)))
}

// changed says which of today's defaults a setting changes: "BLOCK_M 64 → 128".
func (s *search) changed(params map[string]string) string {
	var parts []string
	for _, p := range s.Space.Params {
		if value, has := params[p.Name]; has && value != p.Default {
			parts = append(parts, fmt.Sprintf("%s %s → %s", p.Name, p.Default, value))
		}
	}
	if len(parts) == 0 {
		return "nothing: today's defaults are the best"
	}
	return strings.Join(parts, ", ")
}

// unlike says what a setting has other than the winner: "NUM_WARPS=8".
func (s *search) unlike(params map[string]string) string {
	if s.winner == nil {
		return s.setting(params)
	}
	other := map[string]string{}
	for name, value := range params {
		if s.winner.Params[name] != value {
			other[name] = value
		}
	}
	return s.setting(other)
}
