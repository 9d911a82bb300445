package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/sheet"
	"pawl/internal/unit"
)

const (
	mostExplained = 3 // kernels with all their details on a terminal; more have a table
	mostFindings  = 3 // of a kernel, unless everything is asked for
	mostMoves     = 12
	manyUnseen    = 5
)

// profile shows why kernels take their time, or why their versions differ.
func (b *builder) profile() {
	r, all := b.r, explained(b.r.Rows)
	b.v.Heading = profileHeading(r, all)
	b.v.Title, b.v.Brief = strings.Join(b.v.Heading[1:], " · "), machineLine(r)
	few := len(all) <= mostExplained
	if single := where(all, (*reason).single); len(all) > 1 && len(single) > 0 {
		b.add(view.All, view.Section{ID: "kernels", Title: "Kernels", Table: overview(single)})
	}
	for _, w := range all {
		switch {
		case !w.single():
			b.differ(w, view.All)
		case few:
			b.detail(w, view.All)
		default:
			b.detail(w, view.All&^view.Text)
		}
	}
	if !few && slices.ContainsFunc(all, (*reason).single) {
		one := "more of one kernel: --kernel NAME; of all: -v"
		if len(r.Inputs) == 0 {
			one = "more of one: pawl profile " + all[0].row.Name() + "; of all: -v"
		}
		b.lines(view.Text, view.Quiet, one)
	}
	b.page("why", "Why")
	b.add(view.Terminal, view.Section{Items: faults(r, true)})
	b.add(view.Markdown, view.Section{Items: allFaults(r)})
	b.add(view.HTML, view.Section{ID: "problems", Title: "Problems", Items: faults(r, false)})
	b.limits(all, view.All)
	b.warnings(view.All, allWarnings(r))
	if len(r.OwnFindings) > 0 {
		b.lines(view.Verbose|view.HTML, view.Quiet, "beside pawl's own findings, those of "+r.Spec.File+": "+unit.Few(r.OwnFindings, 8))
	}
	if len(r.Inputs) == 0 {
		b.v.Closing = profileClosing(r)
		b.v.Foot = present(methodLine(r), prefixed("commit ", commit(r)), "pawl "+r.Tool.Version, prefixed("run ", r.ID))
	}
}

// reason is the reason for the time of one kernel, and the row that it belongs to.
type reason struct {
	*result.Why
	row *result.Row
	own bool // the row has others
}

func explained(rows []*result.Row) (all []*reason) {
	for _, row := range rows {
		for _, w := range row.Why {
			if len(w.Versions) > 0 {
				all = append(all, &reason{w, row, len(row.Why) > 1})
			}
		}
	}
	return all
}

// single reports whether the reason is about one version.
func (w *reason) single() bool { return len(w.Versions) == 1 }

// name names what it is about: the row or, where nothing was run, the launch.
func (w *reason) name() string {
	label := w.Last().Label
	switch {
	case w.row.Config == "":
		return label
	case w.own || label != w.row.Kernel && strings.Contains(label, "<<<"):
		return w.row.Name() + "   " + label
	}
	return w.row.Name()
}

func profileHeading(r *result.Report, all []*reason) []string {
	heading := []string{"pawl " + r.Tool.Version}
	if len(r.Inputs) == 0 {
		return append(heading, machineLine(r), view.Counted(len(r.Rows), "config"))
	}
	heading = append(heading, strings.Join(each(r.Inputs, func(in result.Input) string { return in.File }), " → "))
	launches, devices := 0, []string{}
	for _, w := range all {
		launches += max(1, w.Last().Repeats)
		if device := w.Last().Device; device != "" && !slices.Contains(devices, device) {
			devices = append(devices, device)
		}
	}
	heading = append(heading, present(strings.Join(devices, ", "))...)
	if len(r.Inputs) == 1 {
		heading = append(heading, view.Counted(len(all), "kernel")+", "+unit.Plural(launches, "launch", "launches"))
	}
	return heading
}

func profileClosing(r *result.Report) view.Line {
	seen := where(r.Rows, func(row *result.Row) bool { return len(row.Why) > 0 })
	out := view.Line{Text: "explained " + unit.Count(len(seen)) + " of " + view.Counted(len(r.Rows), "config"), Tone: view.Good}
	if len(seen) < len(r.Rows) {
		out.Tone = view.Bad
	}
	if r.Interrupted {
		out.Text, out.Tone = "interrupted: "+out.Text, view.Unsure
	}
	return out
}

// shownFact writes a reading; – where there is none.
func shownFact(s *result.ExplainedSide, metric string) string {
	fact, known := s.Metrics[metric]
	if !known {
		return "–"
	}
	return unit.Quantity(fact.Value, fact.Unit)
}

// took writes the time of a kernel: of the profile or, without one, as it was measured.
func took(s *result.ExplainedSide) string {
	if _, known := s.Get("duration"); known {
		return shownFact(s, "duration")
	}
	return shownFact(s, "seconds")
}

// overview has a row for each kernel.
func overview(all []*reason) *view.Table {
	columns := []column[*reason]{
		{head: "kernel", bytes: 60, text: func(w *reason) string { return view.Flat(w.name()) }},
		{head: "time", number: true, text: func(w *reason) string { return took(w.Last()) }},
	}
	for _, c := range []struct {
		head, metric string
		rank         int
	}{{"SM", "sm_pct", 2}, {"memory", "memory_pct", 2}, {"DRAM", "dram_pct", 3}, {"occupancy", "occupancy_pct", 4}, {"of roof", "roof_pct", 3}, {"IPC", "ipc", 4}} {
		if slices.ContainsFunc(all, func(w *reason) bool { _, known := w.Last().Get(c.metric); return known }) && (c.metric != "roof_pct" || !profiled(all)) {
			columns = append(columns, column[*reason]{head: c.head, number: true, rank: c.rank, text: func(w *reason) string { return shownFact(w.Last(), c.metric) }})
		}
	}
	return tableOf("results", all, append(columns, column[*reason]{head: "first finding", words: true, cell: func(w *reason) view.Cell {
		if len(w.Last().Findings) == 0 {
			return view.Cell{Text: "nothing stands out", Tone: view.Quiet}
		}
		first := w.Last().Findings[0]
		return view.Cell{Text: first.ID + ": " + first.Gain, Tone: toneOf(first, view.Plain)}
	}}))
}

// profiled reports whether a profiler saw one of the kernels.
func profiled(all []*reason) bool {
	return slices.ContainsFunc(all, func(w *reason) bool { return w.Last().Repeats > 0 })
}

func toneOf(f result.Bottleneck, other view.Tone) view.Tone {
	if f.Settled {
		return view.Good
	}
	return other
}

// detail adds all there is to say of one kernel.
func (b *builder) detail(w *reason, in view.Form) {
	s := w.Last()
	b.part(w, in, view.Section{Title: w.name(), Name: w.name(), Table: numbers(s)}, func(verbose bool) view.Section {
		return view.Section{Lines: bottlenecks(s, verbose), List: true}
	})
}

// part adds a section about one kernel, of which a terminal that is not verbose has less. A page has all of
// them in one section, which page adds.
func (b *builder) part(w *reason, in view.Form, first view.Section, second func(verbose bool) view.Section) {
	for _, form := range []view.Form{view.Text, view.Verbose | view.Markdown, view.HTML} {
		if in &= b.forms; in&form == 0 {
			continue
		}
		rest := second(form != view.Text)
		if form != view.HTML {
			b.add(in&form, first)
			b.add(in&form, rest)
			continue
		}
		whole := first
		whole.In, rest.In, whole.Title = view.HTML, view.HTML, ""
		if !rest.Empty() {
			whole.Parts = append(whole.Parts, rest)
		}
		if svg, err := w.page(b.r).SVG(sheet.Auto); err == nil {
			whole.Parts = append(whole.Parts, view.Section{In: view.HTML, Picture: &view.Picture{SVG: svg, Says: w.name() + prefixed(": ", w.Sentence)}})
		}
		b.parts = append(b.parts, whole)
	}
}

// page adds what parts have left for a page.
func (b *builder) page(id, title string) {
	b.add(view.HTML, view.Section{ID: id, Title: title, Parts: b.parts})
	b.parts = nil
}

func bottlenecks(s *result.ExplainedSide, verbose bool) (lines []view.Line) {
	for i, f := range s.Findings {
		if i == mostFindings && !verbose {
			lines = append(lines, view.Line{Text: fmt.Sprintf("… and %s more: -v", view.Count(len(s.Findings)-i, "finding")), Tone: view.Quiet})
			break
		}
		lines = append(lines, findingLines(i+1, f, verbose)...)
	}
	if len(s.Findings) == 0 {
		text := "nothing stands out: no unit is at its limit, and no known fault shows"
		if len(s.Unseen) > manyUnseen {
			text = "nothing stands out among what was measured, and much was not"
		}
		lines = append(lines, view.Line{Text: text, Tone: view.Quiet})
	}
	quiet := func(text string) { lines = append(lines, view.Line{Text: text, Mark: "·", Tone: view.Quiet}) }
	if verbose {
		for _, r := range s.Remarks {
			quiet(r.Text)
		}
		for _, x := range s.Excepted {
			quiet(x.ID + " does not apply: " + x.Text)
		}
	}
	if len(s.Unseen) == 0 {
		return lines
	}
	text := "not judged, for want of counters: " + unit.Few(each(s.Unseen, func(u result.Unseen) string { return u.ID }), 4)
	if verbose {
		text = "not judged, for want of counters: " + strings.Join(each(s.Unseen, func(u result.Unseen) string { return u.ID + " (" + strings.Join(u.Missing, ", ") + ")" }), "; ")
	}
	return append(lines, view.Line{Text: text, Tone: view.Quiet})
}

func findingLines(n int, f result.Bottleneck, verbose bool) []view.Line {
	lines := []view.Line{
		{Text: f.Title + " (" + f.ID + "), " + f.Gain, Mark: strconv.Itoa(n), Tone: toneOf(f, view.Strong)},
		{Text: "  " + f.Evidence},
	}
	for _, also := range f.Also {
		lines = append(lines, view.Line{Text: "  " + also, Tone: view.Quiet})
	}
	lines = append(lines, view.Line{Text: "  do: " + f.First})
	if verbose {
		for _, deeper := range f.Deeper {
			lines = append(lines, view.Line{Text: "  then: " + deeper})
		}
	}
	by := "(by " + strings.Join(f.Rests, ", ") + when(f.Own, "; a finding of pawl.yaml") + ")"
	return append(lines, view.Line{Text: "  " + prefixed("next: ", f.Next) + when(f.Next != "", "   ") + by, Tone: view.Quiet})
}

// pair is a number and its name.
type pair struct{ name, text string }

// numbers is what is known of a kernel, in pairs of columns.
func numbers(s *result.ExplainedSide) *view.Table {
	of := func(name, metric string) pair { return pair{name, shownFact(s, metric)} }
	limiter := "–"
	if len(s.Limiter) > 0 {
		limiter = strings.Join(s.Limiter, ", ")
	}
	shared := "–"
	if a, ok := s.Get("shared_static"); ok {
		if b, ok := s.Get("shared_dynamic"); ok {
			shared = unit.Bytes(int64(a + b))
		}
	}
	roof := pair{"roof", "–"}
	switch r := s.Roof; {
	case r != nil:
		roof = pair{"of the roof (" + r.Pipe + ")", unit.Quantity(r.Percent, "%")}
	case s.Repeats == 0:
		roof = of("of the roof", "roof_pct")
	}
	groups := []struct {
		head  string
		pairs []pair
	}{
		{"throughput", []pair{{"time", took(s)}, of("SM", "sm_pct"), of("memory", "memory_pct"), of("DRAM", "dram_pct"), of("L2", "l2_pct"), of("tensor cores", "tensor_pct"), of("issue slots", "issue_pct")}},
		{"memory", []pair{of("DRAM", "dram_rate"), of("DRAM bytes", "dram_bytes"), of("L2 hits", "l2_hit_pct"), of("L1 hits", "l1_hit_pct"), of("coalescing", "coalescing_pct"), of("bank conflicts", "conflict_pct"), of("local (spills)", "local_pct")}},
		{"launch", []pair{of("occupancy", "occupancy_pct"), of("possible", "theoretical_pct"), {"limited by", limiter}, of("registers", "registers"), {"shared", shared}, of("waves", "waves"), roof}},
		{"waits", nil},
	}
	for _, w := range s.Waits {
		if w.Share >= 0.5 && len(groups[3].pairs) < len(groups[0].pairs) {
			groups[3].pairs = append(groups[3].pairs, pair{w.Reason, unit.Quantity(w.Share, "%")})
		}
	}
	if s.Repeats == 0 { // no profiler has seen it: what is known has one place, whatever it is
		groups[1].pairs = append(groups[1].pairs, of("declared bytes", "work_bytes"), of("declared operations", "work_flops"))
		groups[0].pairs = append(groups[0].pairs, of("instructions a cycle", "ipc"), of("branches missed", "branch_miss_pct"))
		groups[1].pairs = append(groups[1].pairs, of("cache misses", "cache_miss_pct"), of("missed bytes", "llc_miss_bytes"), of("page faults", "page_faults"))
		for i := range groups {
			groups[i].pairs = slices.DeleteFunc(groups[i].pairs, func(p pair) bool { return p.text == "–" })
		}
	}
	t := &view.Table{Look: "sheet pairs"}
	deepest := 0
	for i, g := range groups {
		if s.Repeats > 0 || len(g.pairs) > 0 {
			t.Columns = append(t.Columns, view.Column{Head: g.head}, view.Column{Number: true})
		} else {
			groups[i].head = ""
		}
		deepest = max(deepest, len(g.pairs))
	}
	for i := range deepest {
		var row view.Row
		for _, g := range groups {
			var p pair
			if i < len(g.pairs) {
				p = g.pairs[i]
			}
			if g.head != "" {
				row.Cells = append(row.Cells, view.Cell{Text: p.name, Tone: view.Quiet}, view.Cell{Text: p.text})
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// differ adds why two versions of a kernel differ.
func (b *builder) differ(w *reason, in view.Form) {
	lines := []view.Line{{Text: w.Sentence, Tone: view.Strong}}
	for _, s := range slices.Concat(w.Code, w.Build) {
		lines = append(lines, view.Line{Text: s, Mark: "·", Tone: view.Quiet})
	}
	if w.Cause != nil && !w.faster() {
		lines = append(lines, view.Line{Text: "do: " + w.Cause.First})
	}
	title := w.name() + w.times()
	b.part(w, in, view.Section{Title: title, Name: title, Lines: lines, List: true}, func(verbose bool) view.Section {
		if t := w.moves(verbose); len(t.Rows) > 0 {
			return view.Section{Table: t}
		}
		return view.Section{}
	})
}

func (w *reason) faster() bool { return w.Slowdown > 0 && w.Slowdown < 1 }

func (w *reason) times() string {
	a, known := w.Versions[0].Get("duration")
	b, both := w.Last().Get("duration")
	if !known || !both || a <= 0 {
		return ""
	}
	change := unit.Percent(b/a - 1)
	if b >= 2*a {
		change = fmt.Sprintf("%.1f× as long", b/a)
	}
	return "   " + unit.Pair(a, b) + "   " + change + " under ncu"
}

// moves is the table of numbers that moved: counters, or what the compiled code says.
func (w *reason) moves(verbose bool) *view.Table {
	t := &view.Table{Look: "sheet", Columns: []view.Column{
		{Head: "counter"}, {Head: "before", Number: true}, {Head: "after", Number: true}, {Head: "change", Number: true}, {Head: "repeats differ by", Number: true, Rank: 2},
	}}
	moves := w.Moves
	if len(moves) == 0 {
		moves = w.Static
		t.Columns = t.Columns[:4]
	}
	for i, m := range moves {
		if i == mostMoves && !verbose {
			break
		}
		change := "×" + view.Short(fmt.Sprintf("%.2f", m.After/m.Before))
		noise := unit.PercentPlain(m.Noise)
		switch {
		case m.Unit == "%":
			change = strings.Replace(fmt.Sprintf("%+.0f points", m.After-m.Before), "-", "−", 1)
			noise = fmt.Sprintf("%.1f points", 100*m.Noise)
		case m.Before == 0:
			change = "new"
		case m.After == 0:
			change = "gone"
		}
		if min(w.Repeats[0], w.Repeats[1]) < 2 {
			noise = "not repeated"
		}
		cells := []view.Cell{{Text: m.Words + when(m.Limit, " *")}, {Text: unit.Quantity(m.Before, m.Unit)}, {Text: unit.Quantity(m.After, m.Unit)}, {Text: change}, {Text: noise, Tone: view.Quiet}}
		t.Rows = append(t.Rows, view.Row{Cells: cells[:len(t.Columns)]})
	}
	return t
}

// limits says once what could not be seen of the kernels, and what would show it.
func (b *builder) limits(all []*reason, in view.Form) {
	var texts []string
	for _, w := range all {
		for _, l := range w.Limits {
			if text := hinted(l.Message, l.Hint); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	section := view.Section{Lines: linesOf(view.Quiet, texts), List: true}
	b.add(in&^view.HTML, section)
	section.ID, section.Title = "unseen", "What could not be seen"
	b.add(in&view.HTML, section)
}

// profileRecords are the readings for programs: one for each kernel, version and metric.
func profileRecords(r *result.Report) [][]string {
	records := [][]string{{"kernel", "config", "version", "grid", "block", "metric", "value", "unit"}}
	for _, w := range explained(r.Rows) {
		for _, s := range w.Versions {
			for _, metric := range sortedKeys(s.Metrics) {
				fact := s.Metrics[metric]
				records = append(records, []string{
					w.Kernel, w.row.Config, s.Version, triple(s.Grid), triple(s.Block), metric, fmt.Sprint(fact.Value), fact.Unit,
				})
			}
		}
	}
	return records
}

func triple(t [3]int) string { return fmt.Sprintf("%d %d %d", t[0], t[1], t[2]) }
