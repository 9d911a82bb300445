package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl/internal/pattern"
	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// How much of a search a document shows; the JSON report and the CSV have the rest.
const (
	mostTried   = 10 // settings
	mostColumns = 8  // params with a column of their own
	mostOnFront = 20
	mostKinds   = 10
)

// outdone is the winner on one config, or over all.
type outdone struct {
	compared
	name    string
	overall *float64
	shown   bool // the overall change was
	energy  string
}

// results has the winner on each config, against today's defaults.
func (s *search) results() *view.Table {
	var rows []outdone
	for _, row := range s.r.Rows {
		o := outdone{compared: compared{row: row, after: row}, name: row.Config, energy: s.energy(row.Config)}
		if side := played(row, result.Defaults); side != nil {
			o.before, o.change = side.Row, side.Change
		}
		rows = append(rows, o)
	}
	if len(rows) > 1 {
		rows = append(rows, outdone{name: "all, " + cmp.Or(map[string]string{"worst": "the worst"}[s.Over], "mean") + when(s.Objective == "both", " of both"), overall: &s.winner.Overall, shown: s.suggested()})
	}
	return tableOf("results", rows, used(rows, []column[outdone]{
		{head: "config", bytes: 120, text: func(o outdone) string { return o.name }, tone: view.Strong},
		{head: when(s.Objective == "energy", "energy") + when(s.Objective != "energy", "time"), number: true, cell: outdone.effectOnTime},
		{head: "95% interval", text: func(o outdone) string { return o.interval() }},
		{head: "δ", rank: 2, number: true, text: func(o outdone) string { return o.effect() }},
		{head: "defaults → best", rank: 1, number: true, text: outdone.both},
		{head: "energy", rank: 1, number: true, text: func(o outdone) string { return o.energy }},
		{head: "samples", rank: 4, number: true, text: func(o outdone) string { return o.pairs() }},
		{words: true, tone: view.Quiet, text: outdone.remark},
	}))
}

func (o outdone) effectOnTime() view.Cell {
	switch {
	case o.overall != nil:
		return view.Cell{Text: unit.Percent(*o.overall), Tone: map[bool]view.Tone{true: gained(-*o.overall, -*o.overall), false: view.Even}[o.shown]}
	case o.change == nil:
		return view.Cell{}
	}
	return view.Cell{Text: o.changed(), Tone: gained(-o.change.High, -o.change.Low)}
}

func (o outdone) both() string {
	if o.row == nil {
		return ""
	}
	return o.times()
}

func (o outdone) pairs() string {
	if o.change == nil {
		return ""
	}
	return o.samples()
}

func (o outdone) remark() string {
	if o.row == nil {
		return ""
	}
	switch v := o.row.Verdict; {
	case o.row.Fault != nil:
	case v == result.Improvement, v == result.Maintained:
		return "" // the numbers say so
	case v == result.Inconclusive && o.change != nil && o.change.High < 0:
		return "faster; how much is less exact than a check asks"
	}
	return status(o.row)
}

// energy returns the change of a launch's energy on a config, between the trials of the two settings.
func (s *search) energy(config string) string {
	if c := s.winner.Energy[config]; c != nil {
		return unit.Percent(c.Median)
	}
	best := s.Trial(s.winner.Trial)
	if best == nil || s.today == nil {
		return ""
	}
	now, before := joulesOn(best, config), joulesOn(s.today, config)
	if now <= 0 || before <= 0 {
		return ""
	}
	return unit.Percent(now/before - 1)
}

func joulesOn(t *result.Trial, config string) float64 {
	for _, on := range t.On {
		if on.Config == config {
			return on.Joules
		}
	}
	return 0
}

// tuneBest adds the best params and what they came to.
func (b *builder) tuneBest(s *search) {
	const forms = view.Markdown | view.HTML
	section := view.Section{ID: "best", Title: when(s.suggested(), "Best params") + when(!s.suggested(), "What was found")}
	part := func(p view.Section) {
		p.In = forms
		section.Parts = append(section.Parts, p)
	}
	part(view.Section{Lines: []view.Line{{Text: asSentence(s.closing().Text)}}})
	if s.winner != nil {
		part(view.Section{Table: s.settings(s.winner.Params)})
		part(view.Section{Table: s.results(), Noun: "config"})
	}
	b.add(forms, section)
}

// asSentence returns a text that begins and ends as a sentence does.
func asSentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// settings has a row for every param of a setting.
func (s *search) settings(params map[string]string) *view.Table {
	type chosen struct{ name, today, best, tried string }
	rows := each(s.order(params), func(name string) chosen {
		c := chosen{name: name, best: params[name]}
		for _, p := range s.Space.Params {
			if p.Name == name {
				c.today, c.tried = p.Default, unit.Few(p.Values, 8)
			}
		}
		return c
	})
	return tableOf("sheet", rows, []column[chosen]{
		{head: "param", bytes: 120, text: func(c chosen) string { return c.name }},
		{head: "today", bytes: 120, number: true, text: func(c chosen) string { return c.today }},
		{head: "best", bytes: 120, number: true, cell: func(c chosen) view.Cell {
			return view.Cell{Text: c.best, Tone: map[bool]view.Tone{true: view.Strong}[c.best != c.today]}
		}},
		{head: "values", bytes: 200, text: func(c chosen) string { return c.tried }},
	})
}

// tuneTried adds what was tried: the search in a few lines, its best settings, failures, what each param
// matters, and settings that may be preferred to the best.
func (b *builder) tuneTried(s *search) {
	b.add(view.Markdown, view.Section{Title: "What was tried", List: true, Lines: each(s.facts(true), func(p pair) view.Line { return view.Line{Text: p.name + ": " + p.text} })})
	for _, form := range []view.Form{view.Verbose, view.Markdown | view.HTML} {
		s.wordy = form == view.Verbose // tables that are wider than a terminal would lose columns
		for _, t := range s.tables() {
			switch lines := slices.Concat(t.lines, present(leftOut(t.left, "setting"))); {
			case len(t.table.Rows) == 0:
			case s.wordy:
				b.add(form, view.Section{Name: t.title, Table: t.table})
			default:
				b.add(form, view.Section{ID: t.id, Title: t.title, Table: t.table, Lines: linesOf("", lines), Noun: "setting"})
			}
		}
	}
}

// titled is a table with what is said of it.
type titled struct {
	id, title string
	table     *view.Table
	left      int // rows that it has no room for
	lines     []string
}

func (s *search) tables() []titled {
	return []titled{
		{"tried", "The best that were tried", s.best(), len(s.ranked()) - mostTried, nil},
		{"failures", "Failures", s.failureTable(), len(s.failures) - mostKinds, nil},
		{"importance", "What each param matters", s.importance(), 0, []string{
			"The share of the variance of the logarithm of the cost that a param explains by itself, over all combinations of its values: what is left is noise and params that matter together. Best and median are of the trials with that value, which were most often near the best.",
		}},
		{"tied", "Tied with the best", s.tiedTable(), 0, nil},
		{"front", "Time and energy", s.frontTable(), len(s.front) - mostOnFront, []string{"No other setting that was tried takes both less time and less energy than one of these."}},
		{"picks", "The best of each config", s.pickTable(), 0, []string{"The gain is what the setting takes less than the one for all configs, by their duets against today's defaults."}},
	}
}

// ranked returns the trials with a cost of their own, the best first.
func (s *search) ranked() []*result.Trial {
	out := where(s.Trials, (*result.Trial).Measured)
	slices.SortStableFunc(out, func(a, b *result.Trial) int { return cmp.Compare(a.Cost, b.Cost) })
	return out
}

// costs returns the columns with times, energies and costs of trials.
func (s *search) costs() []column[*result.Trial] {
	n := len(s.Configs)
	relative := func(t *result.Trial) string {
		if s.today == nil || !s.today.Measured() {
			return ""
		}
		return unit.Percent(t.Cost/s.today.Cost - 1)
	}
	return []column[*result.Trial]{
		{head: "trial", number: true, text: func(t *result.Trial) string { return unit.Count(t.N) }},
		{head: "time" + when(n > 1, ", mean"), number: true, text: func(t *result.Trial) string { return positiveText(t.Seconds(n), unit.Duration) }},
		{head: "energy" + when(n > 1, ", mean"), rank: 2, number: true, text: func(t *result.Trial) string { return positiveText(t.Joules(n), unit.Energy) }},
		{head: "against today", number: true, text: relative},
	}
}

func positiveText(v float64, text func(float64) string) string {
	if v > 0 {
		return text(v)
	}
	return ""
}

// headed are the names that can be the head of a column: a report may claim any, and documents show heads
// as they are.
var headed = pattern.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$`)

// paramColumns has a column for each param or, where there are many, one for all.
func paramColumns[T any](s *search, params func(T) map[string]string) []column[T] {
	strange := slices.ContainsFunc(s.Space.Params, func(p result.SpaceParam) bool { return !headed.MatchString(p.Name) })
	if len(s.Space.Params) > mostColumns || len(s.Space.Params) == 0 || strange || s.wordy {
		return []column[T]{{head: "params", words: true, bytes: 400, text: func(item T) string { return s.setting(params(item)) }}}
	}
	var out []column[T]
	for _, p := range s.Space.Params {
		out = append(out, column[T]{head: p.Name, number: true, bytes: 60, text: func(item T) string { return params(item)[p.Name] }})
	}
	return out
}

func paramsOf(t *result.Trial) map[string]string { return t.Params }

// best has the best settings that were tried.
func (s *search) best() *view.Table {
	ranked := s.ranked()
	return sheetOf(ranked[:min(mostTried, len(ranked))], slices.Concat(s.costs(), paramColumns(s, paramsOf)))
}

func (s *search) failureTable() *view.Table {
	return sheetOf(s.failures[:min(mostKinds, len(s.failures))], []column[result.Failure]{
		{head: "failure", text: func(f result.Failure) string { return string(f.Status) }},
		{head: "settings", number: true, text: func(f result.Failure) string { return unit.Count(f.Trials) }},
		{head: "first trial", rank: 2, number: true, text: func(f result.Failure) string {
			return textOf(f.First, func(t *result.Trial) string { return unit.Count(t.N) })
		}},
		{head: "most often", words: true, bytes: 600, text: func(f result.Failure) string {
			return when(f.Message != "", view.Shorten(hinted(f.Message, f.Hint), 300)+when(f.Said < f.Trials, fmt.Sprintf(" (%d of %d)", f.Said, f.Trials)))
		}},
	})
}

// importance has the params, and the best value of each.
func (s *search) importance() *view.Table {
	type valued struct {
		result.Effect
		best result.EffectValue
		n, k int // trials, and those that failed
	}
	rows := each(s.Effects, func(e result.Effect) valued {
		v := valued{Effect: e}
		for _, value := range e.Values {
			v.n, v.k = v.n+value.Trials, v.k+value.Failed
			if value.Best > 0 && (v.best.Best == 0 || value.Best < v.best.Best) {
				v.best = value
			}
		}
		return v
	})
	return sheetOf(rows, []column[valued]{
		{head: "param", bytes: 120, text: func(v valued) string { return v.Param }},
		{head: "share", number: true, text: func(v valued) string { return portion(v.Share) }},
		{head: "best with", number: true, bytes: 120, text: func(v valued) string { return v.best.Value }},
		{head: "best", rank: 2, number: true, text: func(v valued) string { return s.amount(v.best.Best) }},
		{head: "failed most with", rank: 3, bytes: 120, text: func(v valued) string { return mostFailing(v.Values) }},
		{head: "medians by value", words: true, bytes: 400, text: func(v valued) string {
			measured := where(v.Values, func(value result.EffectValue) bool { return value.Median > 0 })
			return unit.Few(each(measured, func(value result.EffectValue) string { return value.Value + ": " + s.amount(value.Median) }), 8)
		}},
	})
}

// mostFailing names the value whose trials failed most often, where many did.
func mostFailing(values []result.EffectValue) string {
	const many = 0.25
	worst, at := many, ""
	for _, v := range values {
		if rate := float64(v.Failed) / float64(max(v.Trials, 1)); rate > worst {
			worst, at = rate, fmt.Sprintf("%s (%d of %d)", v.Value, v.Failed, v.Trials)
		}
	}
	return at
}

// amount writes a cost: as what it is, or relative to today's defaults.
func (s *search) amount(cost float64) string {
	return positiveText(cost*s.scale, func(v float64) string {
		if s.unit == "×" {
			return fmt.Sprintf("%.2f×", v)
		}
		return unit.Quantity(v, s.unit)
	})
}

// tiedTable has the finalists that cannot be told from the winner.
func (s *search) tiedTable() *view.Table {
	columns := []column[*result.Finalist]{
		{head: "trial", number: true, text: func(f *result.Finalist) string { return unit.Count(f.Trial) }},
		{head: s.what(), number: true, text: func(f *result.Finalist) string { return unit.Percent(f.Overall) }},
	}
	for _, config := range where(s.Configs, headed.MatchString) {
		columns = append(columns, column[*result.Finalist]{head: config, rank: 3, number: true, text: func(f *result.Finalist) string {
			c := compared{change: f.Changes[config]}
			return strings.TrimSpace(c.changed() + " " + c.interval())
		}})
	}
	return sheetOf(s.ties(), slices.Concat(columns, paramColumns(s, func(f *result.Finalist) map[string]string { return f.Params })))
}

func (s *search) frontTable() *view.Table {
	return sheetOf(s.front[:min(mostOnFront, len(s.front))], slices.Concat(s.costs(), paramColumns(s, paramsOf)))
}

func (s *search) pickTable() *view.Table {
	return sheetOf(s.Picks, slices.Concat([]column[*result.Pick]{
		{head: "config", bytes: 120, text: func(p *result.Pick) string { return p.Config }},
		{head: "trial", number: true, text: func(p *result.Pick) string { return unit.Count(p.Trial) }},
		{head: "gain", number: true, text: func(p *result.Pick) string { return unit.PercentPlain(p.Gain) }},
	}, paramColumns(s, func(p *result.Pick) map[string]string { return p.Params })))
}
