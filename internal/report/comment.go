package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"pawl/internal/pattern"
	"pawl/internal/report/render"
	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// CommentOptions are what a comment says and its report does not know.
type CommentOptions struct {
	Trust   string // who ran it, and what their word is worth
	Claimed bool   // a pass is only claimed
	URL     string // of the whole report; "": nobody can open it

	Against []string // claims of the report that do not hold
	Rules   []string // rules that the change would alter, and that were not used
}

// Comment renders a check for those who review the change: what a forge shows below a pull request.
func Comment(r *result.Report, opts CommentOptions) string { return render.Comment(CommentOf(r, opts)) }

// How much a comment shows before it is unfolded, and after.
const (
	mostAttention = 5
	mostFolded    = 40
	mostReasons   = 8
	mostDoubts    = 12
)

// CommentOf returns what a comment says of a check.
func CommentOf(r *result.Report, opts CommentOptions) view.Comment {
	rows := checkedRows(r)
	alert := attention(rows)
	scale := chartOf(gateOf(r))
	c := view.Comment{Axis: scale.axis(), Trust: trustLine(r, opts), Next: commands(alert)}
	c.Mark, c.Bold, c.Verdict = sentence(r, rows, opts.Claimed)
	if len(opts.Against) > 0 {
		c.Mark, c.Bold, c.Verdict = "❌", "The report contradicts itself", ". By its samples: "+strings.ToLower(c.Bold[:1])+c.Bold[1:]+c.Verdict
		c.Reason = opts.Against[0]
	}
	var cause view.Fold
	c.Causes, cause = causes(alert)
	shown := min(mostAttention-len(c.Causes), len(alert))
	c.Rows = each(alert[:shown], scale.row)
	rest := slices.Concat(alert[shown:], calmRows(rows, alert))
	c.Folds = slices.DeleteFunc([]view.Fold{
		quoted(opts.Against, "claim that does not hold", "claims that do not hold"), quoted(opts.Rules, "rule that this change would alter", "rules that this change would alter"),
		restFold(rest, rows, shown > 0, scale), cause, reasonFold(alert, shown), doubtFold(r),
	}, func(f view.Fold) bool { return f.Title == "" })
	return c
}

// Refusal returns what a comment says of a report that is not used.
func Refusal(why error, opts CommentOptions) view.Comment {
	c := view.Comment{Mark: "❌", Bold: "The report is not used", Verdict: ".", Trust: []view.Phrase{{Own: opts.Trust}}}
	if opts.URL != "" {
		c.Trust = append(c.Trust, view.Phrase{Own: "the run", URL: opts.URL})
	}
	if why != nil {
		c.Reason = why.Error()
	}
	return c
}

// quoted is a fold of somebody else's words.
func quoted(texts []string, one, many string) view.Fold {
	if len(texts) == 0 {
		return view.Fold{}
	}
	f := view.Fold{Title: unit.Plural(len(texts), one, many), Noun: one, Left: max(0, len(texts)-mostDoubts)}
	for _, text := range texts[:len(texts)-f.Left] {
		f.Items = append(f.Items, view.FoldItem{Phrase: view.Phrase{Quoted: text}})
	}
	return f
}

// needs orders the sections of rows that need attention.
var needs = []section{slowed, failed, onPurpose, undecided, faster}

// attention returns the rows that somebody must review, the gravest first.
func attention(rows []checked) []checked {
	out := where(rows, func(c checked) bool { return slices.Contains(needs, c.section()) || suspicious(c.row) })
	slices.SortStableFunc(out, func(a, b checked) int {
		return cmp.Or(cmp.Compare(a.need(), b.need()), cmp.Compare(math.Abs(b.median()), math.Abs(a.median())))
	})
	return out
}

func (c checked) need() int {
	if at := slices.Index(needs, c.section()); at >= 0 {
		return at
	}
	return slices.Index(needs, undecided) // suspicious, though nothing else is said against it
}

// median returns the change of a row; 0: it has none.
func (c checked) median() float64 {
	if c.change == nil || math.IsNaN(c.change.Median) {
		return 0
	}
	return c.change.Median
}

// calmRows returns the rows that need no attention, those that became slower first.
func calmRows(rows, alert []checked) []checked {
	known := map[*result.Row]bool{}
	for _, c := range alert {
		known[c.row] = true
	}
	out := where(rows, func(c checked) bool { return !known[c.row] })
	slices.SortStableFunc(out, func(a, b checked) int {
		return cmp.Or(cmp.Compare(a.section(), b.section()), cmp.Compare(b.median(), a.median()))
	})
	return out
}

// sentence says what the check came to.
func sentence(r *result.Report, rows []checked, claimed bool) (mark, bold, rest string) {
	var clauses []string
	add := func(some []checked, one, many string) {
		if n := len(some); n > 0 {
			of := when(len(clauses) == 0, " of "+view.Counted(len(rows), "config"))
			clauses = append(clauses, unit.Count(n)+of+" "+verb(n, many, one))
		}
	}
	verdict := func(v result.Verdict) []checked {
		return where(rows, func(c checked) bool { return c.row.Verdict == v })
	}
	allowed := "slower than the gate of " + share(gateOf(r).Regression) + " allows"
	add(of(rows, slowed), "is "+allowed, "are "+allowed)
	add(verdict(result.Incorrect), "gives wrong answers", "give wrong answers")
	add(verdict(result.Broken), "does not build or run", "do not build or run")
	add(verdict(result.Rejected), "was caught cheating", "were caught cheating")
	add(of(rows, onPurpose), "is slower on purpose", "are slower on purpose")
	add(of(rows, undecided), "is undecided", "are undecided")
	add(where(rows, func(c checked) bool { return suspicious(c.row) }), "is suspicious", "are suspicious")
	add(of(rows, faster), "is faster", "are faster")
	if len(of(rows, slowed, failed)) == 0 && len(clauses) > 0 {
		clauses = append(clauses, "none is "+allowed)
	}
	mark = "✅"
	ending := endingOf(r, rows)
	switch {
	case !r.Passes() && (ending == result.Failed || strict(r)):
		mark = "❌"
	case ending != result.Passed:
		mark = "⚠️"
	case claimed:
		mark = "⚪"
	}
	counts := ""
	switch {
	case len(rows) == 0:
		clauses = []string{"Nothing to check: no kernel changed"}
	case len(clauses) == 0:
		clauses, counts = []string{"No config is " + allowed}, ": "+summary(rows)
	}
	if ending == result.Interrupted {
		clauses = slices.Insert(clauses, 0, "The run was interrupted")
	}
	if bold = clauses[0]; claimed && r.Passes() {
		bold = "Claimed: " + strings.ToLower(bold[:1]) + bold[1:]
	}
	return mark, bold, prefixed(", ", strings.Join(clauses[1:], ", ")) + counts + "."
}

// share writes a change in percent, in few characters whatever it is.
func share(v float64) string {
	const most = 99.99
	switch {
	case math.IsNaN(v):
		return "?"
	case v > most:
		return "> +9,999%"
	}
	return view.Percent(math.Max(-1, v))
}

// exactShare is share with one decimal.
func exactShare(v float64) string {
	if v >= -1 && v <= 99 {
		return unit.Percent(v)
	}
	return share(v)
}

func (c checked) effectText() string {
	if c.change == nil {
		return ""
	}
	return exactShare(c.change.Median) + prefixed(" (", when(c.first != nil && measured(c.first.Row), c.times(c.first)+")"))
}

func (c checked) intervalText() string {
	if c.change == nil || c.change.Low == c.change.High {
		return ""
	}
	trim := func(v float64) string { return strings.TrimSuffix(exactShare(v), "%") }
	return trim(c.change.Low) + " … " + trim(c.change.High)
}

// commentWord returns the verdict as a reviewer says it.
func (c checked) commentWord() string {
	switch {
	case c.section() == slowed:
		return "slower"
	case c.section() == onPurpose:
		return "slower on purpose"
	case c.section() == faster:
		return "faster"
	case c.row.Verdict == result.Incorrect:
		return "wrong"
	case c.row.Verdict == result.Inconclusive:
		return "undecided"
	case suspicious(c.row):
		return "suspicious"
	case slices.Contains([]string{string(result.Rejected), string(result.Broken), string(result.Incomparable), string(result.Maintained), string(result.New), string(result.Unchanged), unknownWord}, c.word()):
		return c.word()
	}
	return "not judged" // a report may have any word there
}

// commentNote says in a few words why a row has no change to show.
func (c checked) commentNote() string {
	const most = 90
	text := ""
	switch {
	case c.honesty() != "":
		text = c.honesty()
	case c.row.Fault != nil:
		text = string(c.row.Fault.Cause) + ": " + c.row.Fault.Message
	default:
		text = strings.Join(c.remarks(), "; ")
	}
	return view.Shorten(view.Flat(text), most)
}

// charted reports whether the table shows a row's change, and not its note.
func (c checked) charted() bool { return c.change != nil && c.section() != failed }

// row returns a row of the table.
func (s chartScale) row(c checked) view.CommentRow {
	at := c.section()
	out := view.CommentRow{Word: c.commentWord(), Loud: at == slowed || at == failed, Name: c.row.Name(), Effect: c.effectText(), Interval: c.intervalText()}
	if c.charted() {
		out.Chart = s.draw(c.change)
	} else {
		out.Effect, out.Interval, out.Note = "", "", c.commentNote()
	}
	return out
}

// restFold has the rows that the table has no room for, and those that need no attention.
func restFold(rest, all []checked, others bool, scale chartScale) view.Fold {
	if len(rest) == 0 {
		return view.Fold{}
	}
	title := view.Counted(len(rest), when(others, "other ")+"config") + ": " + tallied(each(gravest(rest), checked.commentWord))
	if words := distinct(each(rest, checked.commentWord)); len(words) == 1 && len(rest) > 1 {
		title = view.Counted(len(rest), when(others, "other ")+"config") + ": all " + words[0]
	}
	told := where(rest, func(c checked) bool { return c.change != nil || slices.Contains(needs, c.section()) })
	told = told[:min(mostFolded, len(told))]
	f := view.Fold{Title: title, Axis: scale.axis(), Rows: each(told, scale.row), Noun: "config"}
	listed := map[*result.Row]bool{}
	for _, c := range told {
		listed[c.row] = true
	}
	names := gather(where(rest, func(c checked) bool { return !listed[c.row] }), all)
	for _, n := range names[:min(mostFolded, len(names))] {
		f.Names = append(f.Names, n.Text)
	}
	f.Left = sum(names[min(mostFolded, len(names)):], func(n view.Name) int { return n.Rows })
	return f
}

// reasonFold explains the rows that need attention. What a note of the first rows, which the table shows,
// says already is left out.
func reasonFold(alert []checked, shown int) view.Fold {
	f := view.Fold{Title: "Why", Noun: "explanation"}
	seen, noted := map[string]bool{}, map[string]bool{}
	for _, c := range alert[:shown] {
		noted[c.row.Name()+": "+c.commentNote()] = !c.charted()
	}
	for _, c := range alert {
		var made []view.FoldItem
		if faulty(c.row) {
			item := faultOf(c.row)
			text := item.Name + ": " + hinted(item.Message, item.Hint)
			made = append(made, view.FoldItem{Phrase: view.Phrase{Quoted: text}, Code: when(item.Built, item.Output)})
		}
		texts := present(c.honesty())
		if c.section() != failed {
			texts = c.remarks()
		}
		if len(texts) > 0 {
			made = append(made, view.FoldItem{Phrase: view.Phrase{Quoted: c.row.Name() + ": " + strings.Join(texts, "; ")}})
		}
		for _, item := range made {
			switch {
			case seen[item.Quoted], noted[item.Quoted] && item.Code == "":
			case len(f.Items) == mostReasons:
				f.Left++
			default:
				f.Items = append(f.Items, item)
			}
			seen[item.Quoted] = true
		}
	}
	if len(f.Items) == 0 {
		return view.Fold{}
	}
	return f
}

// doubtFold has the warnings of the run.
func doubtFold(r *result.Report) view.Fold {
	all := allWarnings(calm(attentive(r)))
	if len(all) == 0 {
		return view.Fold{}
	}
	f := view.Fold{Title: view.Counted(len(all), "doubt"), Noun: "doubt", Left: max(0, len(all)-mostDoubts)}
	for _, text := range all[:len(all)-f.Left] {
		f.Items = append(f.Items, view.FoldItem{Phrase: view.Phrase{Quoted: text}})
	}
	return f
}

// trustLine says whose word this is, how far the gate errs, on what it was measured, and for how long.
func trustLine(r *result.Report, opts CommentOptions) []view.Phrase {
	var out []view.Phrase
	add := func(own, quoted string) {
		if own+quoted != "" {
			out = append(out, view.Phrase{Own: own, Quoted: quoted})
		}
	}
	add(opts.Trust, "")
	if rate := alarmRate(r); rate != "" && r.FalseAlarms.PerRun >= 0 && r.FalseAlarms.PerRun <= 1 {
		add(rate, "")
	} else {
		add("false-alarm rate not known", "")
	}
	add("", machineLine(r))
	if took := r.Finished.Sub(r.Started); took > 0 && took < 1000*time.Hour {
		add(lasted(took)+prefixed(", ", heldLine(r)), "")
	}
	add(priceLine(r), "")
	add(when(r.Commit != nil, "commit "), textOf(r.Commit, func(c *result.Commit) string { return shortSHA(c.SHA) }))
	if r.Base != nil {
		add("against ", comparedWith(r.Base))
	}
	if opts.URL != "" {
		out = append(out, view.Phrase{Own: "report and pictures", URL: opts.URL})
	}
	return out
}

// lasted writes how long a run took: "18 s", "2 min 5 s".
func lasted(took time.Duration) string {
	minutes, seconds := int(took.Minutes()), int(math.Ceil(took.Seconds()))%60
	if minutes == 0 {
		return fmt.Sprintf("%d s", max(1, int(math.Ceil(took.Seconds()))))
	}
	return unit.Count(minutes) + fmt.Sprintf(" min %d s", seconds)
}

// copyable is a kernel/config that a shell and pawl take as it is.
var copyable = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(/[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$`)

// commands returns what to do next about the gravest row.
func commands(alert []checked) []view.Command {
	if len(alert) == 0 {
		return nil
	}
	c := alert[0]
	name := c.row.Name()
	if !copyable.MatchString(name) {
		name = "KERNEL/CONFIG"
	}
	again := view.Command{Text: "pawl check " + name, Why: "measure it on your machine"}
	switch {
	case c.section() == slowed:
		return []view.Command{
			again,
			{Text: "pawl bisect " + name, Why: "find the commit that made it slower"},
			{Text: "pawl baseline accept " + name + " --reason 'WHY'", Why: "keep it on purpose, then commit"},
		}
	case c.row.Verdict == result.Incorrect || c.row.Verdict == result.Rejected:
		kernel, _, _ := strings.Cut(name, "/")
		return []view.Command{{Text: "pawl check " + name + " -v", Why: "see what is wrong with its answers"}, {Text: "pawl fuzz " + kernel, Why: "find the smallest problem that fails"}}
	case c.section() == failed:
		return []view.Command{{Text: "pawl check " + name + " -v", Why: "see why it fails"}}
	case c.row.Verdict == result.Inconclusive:
		return []view.Command{{Text: "pawl check " + name + prefixed(" --budget ", budget(c.row)), Why: "decide it with more time, on a quieter machine"}}
	case c.section() == undecided:
		return []view.Command{again}
	}
	return nil
}

// budget returns the --budget that would decide a row; "": not known.
func budget(row *result.Row) string {
	if row.Needs == nil || !(row.Needs.BudgetS > 0 && row.Needs.BudgetS < 1e5) {
		return ""
	}
	return fmt.Sprintf("%.0fs", math.Ceil(row.Needs.BudgetS))
}

// Remark is what is to be said about a kernel beside its source.
type Remark struct {
	Kernel string
	Tone   view.Tone // Bad, Unsure or Plain
	Title  string
	Text   string // plain: of several lines
}

// Remarks returns what needs attention, one remark for each kernel, the gravest first.
func Remarks(r *result.Report) []Remark {
	const most = 8 // configs of a kernel
	var out []Remark
	for _, g := range grouped(attention(checkedRows(r)), func(c checked) string { return c.row.Kernel }) {
		first := g.items[0]
		tone := view.Unsure
		switch first.section() {
		case slowed, failed:
			tone = view.Bad
		case faster, onPurpose:
			tone = view.Plain
		}
		lines := each(g.items[:min(most, len(g.items))], func(c checked) string {
			what := c.effectText() + prefixed(" [", when(c.intervalText() != "", c.intervalText()+"]"))
			if c.change == nil || c.section() == failed {
				what = c.commentNote()
			}
			return strings.TrimSpace(c.row.Config + " " + c.commentWord() + " " + what)
		})
		if more := len(g.items) - len(lines); more > 0 {
			lines = append(lines, "and "+view.Counted(more, "more config"))
		}
		title := view.Shorten(view.Flat(view.Harmless(g.name)), 80) + ": " + tallied(each(g.items, checked.commentWord))
		out = append(out, Remark{Kernel: g.name, Tone: tone, Title: title, Text: view.Harmless(strings.Join(each(lines, view.Flat), "\n"))})
	}
	return out
}
