package explain

import (
	"fmt"
	"strings"

	"pawl/internal/advice"
	"pawl/internal/profile"
	"pawl/internal/report/view"
	"pawl/internal/unit"
)

const (
	mostKernels  = 3 // with all their details on a terminal; more have a table
	mostFindings = 3 // of a kernel, unless everything is asked for
	mostMoves    = 12
	manyUnseen   = 5
)

// View returns the answer as it is shown. Verbose has everything.
func (a *Answer) View(verbose bool) view.View {
	v := view.View{Kind: a.Kind, Tool: a.Tool, Heading: []string{"pawl " + a.Tool, strings.Join(a.Files, " → ")}}
	if a.Device != "" {
		v.Heading = append(v.Heading, a.Device)
	}
	if a.Own != nil && verbose {
		text := "beside pawl's own findings, those of " + a.Own.File + ": " + unit.Few(a.Own.Findings, 8)
		v.Sections = append(v.Sections, view.Section{In: view.All, ID: "own", Lines: []view.Line{{Text: text, Tone: view.Quiet}}})
	}
	if a.Kind == "diff" {
		a.diffView(&v, verbose)
		return v
	}
	launches := 0
	for _, k := range a.Kernels {
		launches += len(k.repeats)
	}
	v.Heading = append(v.Heading, view.Counted(len(a.Kernels), "kernel")+", "+unit.Plural(launches, "launch", "launches"))
	v.Title = strings.Join(v.Heading[1:], " · ")
	if len(a.Kernels) > 1 {
		v.Sections = append(v.Sections, view.Section{In: view.All, ID: "kernels", Title: "Kernels", Table: a.overview()})
	}
	for i, k := range a.Kernels {
		if i == mostKernels && !verbose && len(a.Kernels) > mostKernels {
			v.Sections = append(v.Sections, view.Section{In: view.Terminal, Lines: []view.Line{{Text: "more of one kernel: --kernel NAME; of all: -v", Tone: view.Quiet}}})
			break
		}
		if len(a.Kernels) > mostKernels && !verbose {
			continue
		}
		v.Sections = append(v.Sections, k.sections(verbose)...)
	}
	v.Records = a.records()
	return v
}

// overview is a row for each kernel.
func (a *Answer) overview() *view.Table {
	t := &view.Table{Look: "results", Columns: []view.Column{
		{Head: "kernel", Bytes: 60},
		{Head: "time", Number: true},
		{Head: "SM", Number: true, Rank: 2},
		{Head: "memory", Number: true, Rank: 2},
		{Head: "DRAM", Number: true, Rank: 3},
		{Head: "occupancy", Number: true, Rank: 4},
		{Head: "first finding", Words: true},
	}}
	for _, k := range a.Kernels {
		finding := "nothing stands out"
		tone := view.Quiet
		if len(k.Advice.Findings) > 0 {
			first := k.Advice.Findings[0]
			finding, tone = first.ID+": "+first.Gain(), view.Plain
			if first.Settled {
				tone = view.Good
			}
		}
		t.Rows = append(t.Rows, view.Row{Cells: []view.Cell{
			{Text: k.label()},
			{Text: k.get(profile.Duration)},
			{Text: k.get(profile.SMPercent)},
			{Text: k.get(profile.MemoryPercent)},
			{Text: k.get(profile.DRAMPercent)},
			{Text: k.get(profile.Occupancy)},
			{Text: finding, Tone: tone},
		}})
	}
	return t
}

// label names a kernel with its launch, where several have its name.
func (k Kernel) label() string {
	named := *k.Profile
	named.Kernel = k.Name
	label := named.Name()
	if v, known := k.Profile.Get(profile.SharedDynamic); known && v > 0 {
		label = strings.TrimSuffix(label, ">>>") + fmt.Sprintf(", %.0f>>>", v)
	}
	return label
}

// get writes a reading; – where there is none.
func (k Kernel) get(m profile.Metric) string {
	v, ok := k.Profile.Get(m)
	if !ok {
		return "–"
	}
	_, of := m.Describe()
	return advice.Shown(v, of)
}

// sections are what there is to say of one kernel.
func (k Kernel) sections(verbose bool) []view.Section {
	var lines []view.Line
	for i, f := range k.Advice.Findings {
		if i == mostFindings && !verbose {
			lines = append(lines, view.Line{Text: fmt.Sprintf("… and %s more: -v", view.Count(len(k.Advice.Findings)-i, "finding")), Tone: view.Quiet})
			break
		}
		lines = append(lines, findingLines(i+1, f, verbose)...)
	}
	if len(k.Advice.Findings) == 0 {
		text := "nothing stands out: no unit is at its limit, and no known fault shows"
		if len(k.Advice.Unseen) > manyUnseen {
			text = "nothing stands out among what was measured, and much was not"
		}
		lines = append(lines, view.Line{Text: text, Tone: view.Quiet})
	}
	if verbose {
		for _, r := range k.Advice.Remarks {
			lines = append(lines, view.Line{Text: r.Text, Mark: "·", Tone: view.Quiet})
		}
		for _, x := range k.Advice.Excepted {
			lines = append(lines, view.Line{Text: x.ID + " does not apply: " + x.Why, Mark: "·", Tone: view.Quiet})
		}
	}
	if n := len(k.Advice.Unseen); n > 0 {
		var ids []string
		for _, u := range k.Advice.Unseen {
			ids = append(ids, u.ID)
		}
		text := "not judged, for want of counters: " + unit.Few(ids, 4)
		if verbose {
			text = "not judged, for want of counters:"
			for _, u := range k.Advice.Unseen {
				text += " " + u.ID + " (" + strings.Join(u.Missing, ", ") + ")"
			}
		}
		lines = append(lines, view.Line{Text: text, Tone: view.Quiet})
	}
	return []view.Section{
		{In: view.All, ID: "numbers", Title: k.label(), Name: k.label(), Table: k.numbers()},
		{In: view.All, ID: "findings", Lines: lines, List: true},
	}
}

func findingLines(n int, f advice.Finding, verbose bool) []view.Line {
	tone := view.Strong
	if f.Settled {
		tone = view.Good
	}
	lines := []view.Line{
		{Text: f.Title + " (" + f.ID + "), " + f.Gain(), Mark: fmt.Sprintf("%d", n), Tone: tone},
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
	var rests []string
	for _, r := range f.Rests {
		rests = append(rests, string(r))
	}
	by := "(by " + strings.Join(rests, ", ") + ")"
	if f.Own {
		by = "(by " + strings.Join(rests, ", ") + "; a finding of pawl.yaml)"
	}
	if f.Next != "" {
		by = "next: " + f.Next + "   " + by
	}
	return append(lines, view.Line{Text: "  " + by, Tone: view.Quiet})
}

// numbers is what ncu measured of a kernel, in pairs of columns.
func (k Kernel) numbers() *view.Table {
	t := &view.Table{Look: "sheet", Columns: []view.Column{{Head: "throughput"}, {Head: "", Number: true}, {Head: "memory"}, {Head: "", Number: true}, {Head: "launch"}, {Head: "", Number: true}, {Head: "waits"}, {Head: "", Number: true}}}
	waits := func(i int) [2]string {
		if i >= len(k.Profile.Stalls) || k.Profile.Stalls[i].Share < 0.5 {
			return [2]string{}
		}
		return [2]string{k.Profile.Stalls[i].Reason, advice.Shown(k.Profile.Stalls[i].Share, "%")}
	}
	limiter := "–"
	if len(k.Profile.Limiter) > 0 {
		limiter = strings.Join(k.Profile.Limiter, ", ")
	}
	roof := [2]string{"roof", "–"}
	if r := k.Profile.Roof; r != nil {
		roof = [2]string{"of the roof (" + r.Pipe + ")", advice.Shown(r.Percent(), "%")}
	}
	shared := "–"
	if a, ok := k.Profile.Get(profile.SharedStatic); ok {
		if b, ok := k.Profile.Get(profile.SharedDynamic); ok {
			shared = unit.Bytes(int64(a + b))
		}
	}
	rows := [][3][2]string{
		{{"time", k.get(profile.Duration)}, {"DRAM", k.get(profile.DRAMRate)}, {"occupancy", k.get(profile.Occupancy)}},
		{{"SM", k.get(profile.SMPercent)}, {"DRAM bytes", k.get(profile.DRAMBytes)}, {"possible", k.get(profile.Theoretical)}},
		{{"memory", k.get(profile.MemoryPercent)}, {"L2 hits", k.get(profile.L2Hit)}, {"limited by", limiter}},
		{{"DRAM", k.get(profile.DRAMPercent)}, {"L1 hits", k.get(profile.L1Hit)}, {"registers", k.get(profile.Registers)}},
		{{"L2", k.get(profile.L2Percent)}, {"coalescing", k.get(profile.Coalescing)}, {"shared", shared}},
		{{"tensor cores", k.get(profile.TensorPercent)}, {"bank conflicts", k.get(profile.ConflictShare)}, {"waves", k.get(profile.Waves)}},
		{{"issue slots", k.get(profile.IssuePercent)}, {"local (spills)", k.get(profile.LocalShare)}, roof},
	}
	for i, row := range rows {
		w := waits(i)
		var cells []view.Cell
		for _, pair := range row {
			cells = append(cells, view.Cell{Text: pair[0], Tone: view.Quiet}, view.Cell{Text: pair[1]})
		}
		t.Rows = append(t.Rows, view.Row{Cells: append(cells, view.Cell{Text: w[0], Tone: view.Quiet}, view.Cell{Text: w[1]})})
	}
	return t
}

func (a *Answer) diffView(v *view.View, verbose bool) {
	v.Title = strings.Join(v.Heading[1:], " · ")
	for _, d := range a.Diffs {
		lines := []view.Line{{Text: d.Cause.Sentence, Tone: view.Strong}}
		if d.Cause.Code != nil {
			for _, s := range d.Cause.Code.Sentences {
				lines = append(lines, view.Line{Text: s, Mark: "·", Tone: view.Quiet})
			}
		}
		for _, b := range d.Cause.Build {
			lines = append(lines, view.Line{Text: b, Mark: "·", Tone: view.Quiet})
		}
		if f := d.Cause.Finding; f != nil && !d.faster() {
			lines = append(lines, view.Line{Text: "do: " + f.First})
		}
		v.Sections = append(v.Sections, view.Section{In: view.All, ID: "cause", Title: d.after.label() + d.times(), Name: d.after.label() + d.times(), Lines: lines, List: true}, view.Section{In: view.All, ID: "moves", Table: d.moves(verbose)})
	}
	if len(a.Left) > 0 {
		v.Sections = append(v.Sections, view.Section{In: view.All, Lines: []view.Line{{Text: "only in one of the files: " + unit.Few(a.Left, 4), Tone: view.Quiet}}})
	}
}

func (d Diff) times() string {
	a, known := d.before.Profile.Get(profile.Duration)
	b, both := d.after.Profile.Get(profile.Duration)
	if !known || !both || a <= 0 {
		return ""
	}
	change := unit.Percent(b/a - 1)
	if b >= 2*a {
		change = fmt.Sprintf("%.1f× as long", b/a)
	}
	return "   " + unit.Pair(a, b) + "   " + change + " under ncu"
}

func (d Diff) faster() bool {
	return d.Cause.Diff != nil && d.Cause.Diff.Slowdown > 0 && d.Cause.Diff.Slowdown < 1
}

// moves is the table of counters that moved.
func (d Diff) moves(verbose bool) *view.Table {
	t := &view.Table{Look: "sheet", Columns: []view.Column{{Head: "counter"}, {Head: "before", Number: true}, {Head: "after", Number: true}, {Head: "change", Number: true}, {Head: "repeats differ by", Number: true, Rank: 2}}}
	if d.Cause.Diff == nil {
		return t
	}
	for i, m := range d.Cause.Diff.Moves {
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
		if min(d.Cause.Diff.Repeats[0], d.Cause.Diff.Repeats[1]) < 2 {
			noise = "not repeated"
		}
		name := m.Words
		if m.Limit {
			name += " *"
		}
		t.Rows = append(t.Rows, view.Row{Cells: []view.Cell{{Text: name}, {Text: advice.Shown(m.Before, m.Unit)}, {Text: advice.Shown(m.After, m.Unit)}, {Text: change}, {Text: noise, Tone: view.Quiet}}})
	}
	return t
}

// records are the readings for programs: one row for each kernel and metric.
func (a *Answer) records() [][]string {
	records := [][]string{{"kernel", "grid", "block", "metric", "value", "unit"}}
	for _, k := range a.Kernels {
		for _, m := range profile.Metrics() {
			if v, ok := k.Profile.Metrics[m]; ok {
				records = append(records, []string{k.Name, triple(k.Profile.Grid), triple(k.Profile.Block), string(m), fmt.Sprint(v.Number), v.Unit})
			}
		}
	}
	return records
}

func triple(t [3]int) string { return fmt.Sprintf("%d %d %d", t[0], t[1], t[2]) }
