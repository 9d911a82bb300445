package spec

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl/internal/diag"
	"pawl/internal/pattern"
)

// findingDraft is a finding while it is read.
type findingDraft struct {
	*Finding
	node *node
	id   *node
}

var findingKeys = []key[findingDraft]{
	{"id", func(d *decoder, f *findingDraft, n *node) {
		text, ok := d.text(n, "the id of a finding")
		if ok && !findingID.MatchString(text) {
			d.fail(n, "%s is not a valid id for a finding", quote(text)).
				Hint = "ids are short words of small letters and digits with - between them, such as gather-thrashes"
		} else if ok {
			f.ID, f.id = text, n
		}
	}},
	{"title", func(d *decoder, f *findingDraft, n *node) { f.Title = d.line(n, "the title of "+f.label()) }},
	{"when", func(d *decoder, f *findingDraft, n *node) {
		what := "when of " + f.label()
		f.When = d.conditions(n, "a list of conditions for "+what, what, `for example when: [dram_pct >= 70, l2_hit_pct < 30]; all must hold`)
		if n.kind == listKind && len(n.items) == 0 {
			d.fail(n, "%s is an empty list", what).Hint = "a finding needs a condition, or it is said of every kernel"
		}
	}},
	{"unless", (*decoder).unless},
	{"gain", func(d *decoder, f *findingDraft, n *node) { f.Gain = d.one(n, "gain of "+f.label()) }},
	{"confidence", func(d *decoder, f *findingDraft, n *node) {
		what := "the confidence of " + f.label()
		f.Confidence = 0
		before := d.trouble()
		if d.fraction(n, what, &f.Confidence); d.trouble() == before && f.Confidence == 0 {
			d.fail(n, "%s is 0, expected more", what).Hint = "remove the finding if it is never right"
		}
	}},
	{"evidence", (*decoder).evidence},
	{"first", func(d *decoder, f *findingDraft, n *node) { f.First = d.line(n, "what to do first about "+f.label()) }},
	{"deeper", func(d *decoder, f *findingDraft, n *node) {
		for _, item := range d.items(n, "a list of what else to do about "+f.label(), "for example deeper: [split the table, prefetch]") {
			if text := d.line(item, "what else to do about "+f.label()); text != "" {
				f.Deeper = append(f.Deeper, text)
			}
		}
	}},
	{"next", func(d *decoder, f *findingDraft, n *node) { f.Next = d.line(n, "the next step of "+f.label()) }},
}

// findingID is what findings may be called: ids appear in tables and lists of words.
var findingID = pattern.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const (
	maxFindings = 200 // more is no catalogue that people wrote
	maxLine     = 400 // runes of a text that is shown to people

	usualConfidence = 0.5 // of a finding that says nothing about it
)

// label names the finding in messages, also when its id comes last in the file or is missing.
func (f *findingDraft) label() string {
	if n := f.node.find("id"); n != nil && n.kind == textKind && findingID.MatchString(n.text) {
		return n.text
	}
	return "a finding"
}

func (d *decoder) findings(s *specDraft, n *node) {
	items := d.items(n, "a list of findings", "for example findings: [{id: gather-thrashes, title: …, when: [dram_pct >= 70], evidence: …, first: …}]")
	if len(items) > maxFindings {
		d.fail(n, "%d findings, more than the %d allowed", len(items), maxFindings)
		return
	}
	seen := map[string]*node{}
	for _, item := range items {
		f := &findingDraft{Finding: &Finding{Pos: item.pos, Confidence: usualConfidence}, node: item}
		present := readKeys(d, item, "a finding", findingKeys, map[string]string{
			"name": "did you mean id?",
			"if":   "did you mean when?",
			"do":   "did you mean first?",
			"then": "did you mean deeper?",
		}, f)
		if present.fields == nil {
			continue
		}
		for _, name := range []string{"id", "title", "when", "evidence", "first"} {
			if present.lacks(name) {
				d.fail(item, "%s has no %s", f.label(), name)
			}
		}
		if f.id != nil {
			if before := seen[f.ID]; before != nil {
				d.fail(f.id, "finding %s is given twice; first on line %d", f.ID, before.pos.Line)
			} else {
				seen[f.ID] = f.id
			}
		}
		s.Findings = append(s.Findings, f.Finding)
	}
}

var exceptionKeys = []key[exceptionDraft]{
	{"if", func(d *decoder, x *exceptionDraft, n *node) { x.If = d.one(n, "unless of "+x.of) }},
	{"why", func(d *decoder, x *exceptionDraft, n *node) { x.Why = d.line(n, "why "+x.of+" does not apply") }},
}

// exceptionDraft is an exception while it is read.
type exceptionDraft struct {
	*Exception
	of string
}

func (d *decoder) unless(f *findingDraft, n *node) {
	for _, item := range d.items(n, "a list of exceptions of "+f.label(), "for example unless: [{if: uses_tma > 0, why: the table comes by TMA}]") {
		x := &exceptionDraft{&Exception{}, f.label()}
		present := readKeys(d, item, "an exception", exceptionKeys, nil, x)
		for _, name := range []string{"if", "why"} {
			if present.lacks(name) {
				d.fail(item, "an exception of %s has no %s", f.label(), name)
			}
		}
		if present.fields != nil {
			f.Unless = append(f.Unless, x.Exception)
		}
	}
}

// line reads a text that people are shown; "" where it is none.
func (d *decoder) line(n *node, what string) string {
	text, ok := d.text(n, what)
	if !ok {
		return ""
	}
	text = strings.TrimSpace(text)
	at := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) || !unicode.IsPrint(r) && !unicode.IsSpace(r) })
	switch {
	case strings.ContainsRune(text, '\n'):
		d.fail(n, "expected %s on one line", what)
	case at >= 0:
		d.fail(n, "%s holds the character %+q, which is not shown", what, firstRune(text[at:]))
	case utf8.RuneCountInString(text) > maxLine:
		d.fail(n, "%s has %d characters, more than the %d allowed", what, utf8.RuneCountInString(text), maxLine)
	default:
		return text
	}
	return ""
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// evidence reads a sentence with facts in braces.
func (d *decoder) evidence(f *findingDraft, n *node) {
	what := "the evidence of " + f.label()
	text := d.line(n, what)
	if text == "" {
		return
	}
	s := &Sentence{Text: text, node: n, what: what, inset: strings.Index(n.text, text)}
	for at := 0; at < len(text); {
		brace := strings.IndexAny(text[at:], "{}")
		if brace < 0 {
			break
		}
		brace += at
		end := strings.IndexAny(text[brace+1:], "{}")
		if text[brace] == '}' || end < 0 || text[brace+1+end] == '{' {
			d.problems.Add(s.problem(brace, 1, "a brace without its other half", "write the name of a fact in braces, such as {dram_pct}"))
			return
		}
		end += brace + 1
		name := text[brace+1 : end]
		if !factName.MatchString(name) {
			d.problems.Add(s.problem(brace, end+1-brace, quote(name)+" is not the name of a fact", "write the name of a fact in braces, such as {dram_pct}"))
		}
		s.Facts = append(s.Facts, name)
		s.places = append(s.places, brace+1)
		at = end + 1
	}
	f.Evidence = s
}

var factName = pattern.New(`^[a-z0-9_]+$`)

// Problem returns what is wrong with the name of a fact in the sentence.
func (s *Sentence) Problem(fact int, message, hint string) *diag.Problem {
	return s.problem(s.places[fact], len(s.Facts[fact]), message, hint)
}

// problem places a mistake in some bytes of the sentence.
func (s *Sentence) problem(offset, width int, message, hint string) *diag.Problem {
	p := &diag.Problem{Pos: s.node.pos, Width: s.node.width, Message: s.what + ": " + message, Hint: hint}
	if pos, exact := s.node.at(s.inset + offset); exact {
		p.Pos, p.Width = pos, utf8.RuneCountInString(s.Text[offset:offset+width])
	}
	return p
}

// Problem places an error of package formula in the file.
func (f *Formula) Problem(err error) *diag.Problem { return f.problem(err) }

// Wrong returns the error of problems in the file, each with the line it stands on.
func (s *Spec) Wrong(problems *diag.List) error { return report(problems, s.source) }
