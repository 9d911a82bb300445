package spec

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"pawl/internal/pattern"
)

// specDraft is the file while it is read.
type specDraft struct {
	*Spec
	kernels []*kernelDraft
	fuzz    []*node // names of the matrix
	broken  bool    // configs could not all be read
}

var specKeys = []key[specDraft]{
	{"version", func(*decoder, *specDraft, *node) {}}, // read first, by Parse
	{"kernels", (*decoder).kernels},
	{"configs", func(d *decoder, s *specDraft, n *node) {
		before := d.trouble()
		s.Configs = d.configs(n)
		s.broken = d.trouble() > before
	}},
	{"gate", func(d *decoder, s *specDraft, n *node) { readKeys(d, n, "gate", gateKeys, nil, &s.Gate) }},
	{"fuzz", (*decoder).fuzz},
	{"pools", (*decoder).pools},
	{"device_class", (*decoder).deviceClass},
	{"ci", func(d *decoder, s *specDraft, n *node) { readKeys(d, n, "ci", ciKeys, nil, &s.CI) }},
	{"findings", (*decoder).findings},
}

// version checks the one key that decides how all others are read.
func (d *decoder) version(root *node) bool {
	n := root.find("version")
	if n == nil {
		d.problems.Addf(root.pos, "version is missing").Hint = "add the line version: 1"
		return true
	}
	if v, err := parseInteger(n.text); n.kind != integerKind || err != nil || v != 1 {
		d.fail(n, "version %s is not known; this pawl reads version 1", n.describe()).Hint = "write version: 1, or use a newer pawl for a newer file"
		return false
	}
	return true
}

func (d *decoder) kernels(s *specDraft, n *node) {
	if n.kind != mappingKind || len(n.fields) == 0 {
		d.expect(n, "a mapping of kernel names to kernels").Hint = "for example kernels: {attention: {source: attention.cu, …}}"
		return
	}
	for _, f := range n.fields {
		k := d.kernel(f.key, f.value)
		s.kernels = append(s.kernels, k)
		s.Kernels = append(s.Kernels, k.Kernel)
	}
}

func (d *decoder) configs(n *node) []*Config {
	var configs []*Config
	for _, f := range d.entries(n, "a mapping of config names to variables", "for example configs: {small: {N: 1024}}") {
		c := &Config{Name: f.key.text, Pos: f.key.pos}
		configs = append(configs, c)
		d.plainName(f.key, "a config")
		for _, v := range d.entries(f.value, "the variables of config "+c.Name+" as a mapping", "for example "+c.Name+": {N: 1024}") {
			d.variableName(v.key, "a variable")
			one := Var{Name: v.key.text}
			if v.value.kind == listKind {
				d.fail(v.value, "%s needs one value in a config", v.key.text).Hint = "make several configs, or list sizes under fuzz: {matrix: …}"
			} else {
				one.Value, _ = d.value(v.value, v.key.text)
			}
			c.Vars = append(c.Vars, one)
		}
	}
	return configs
}

var gateKeys = []key[Gate]{
	{"regression", func(d *decoder, g *Gate, n *node) { d.fraction(n, "regression", &g.Regression) }},
	{"improvement", func(d *decoder, g *Gate, n *node) { d.fraction(n, "improvement", &g.Improvement) }},
	{"cv", func(d *decoder, g *Gate, n *node) { d.fraction(n, "cv", &g.CV) }},
}

var ciKeys = []key[CI]{
	{"price_per_hour", func(d *decoder, c *CI, n *node) {
		value, err := math.NaN(), error(nil)
		if n.kind == integerKind || n.kind == floatKind {
			value, err = parseNumber(n)
		}
		if err != nil || !ValidPrice(value) {
			d.expect(n, "price_per_hour as a number from 0 to 1,000,000, such as 3.5")
			return
		}
		c.PricePerHour = value
	}},
	{"currency", func(d *decoder, c *CI, n *node) {
		text, ok := d.text(n, "a currency")
		if ok && !currencyCode.MatchString(text) {
			d.fail(n, "%s is not a currency", quote(text)).Hint = "write its three capital letters, such as USD or EUR"
		} else if ok {
			c.Currency = text
		}
	}},
}

var currencyCode = pattern.New(`^[A-Z]{3}$`)

// ValidPrice reports whether a price per hour can be used.
func ValidPrice(value float64) bool {
	const most = 1e6
	return value >= 0 && value <= most
}

// fraction reads 3% or 0.03.
func (d *decoder) fraction(n *node, what string, into *float64) {
	value, err := math.NaN(), error(nil)
	percent, isPercent := strings.CutSuffix(strings.TrimSpace(n.text), "%")
	switch {
	case n.kind == textKind && isPercent:
		value, err = strconv.ParseFloat(strings.TrimSpace(percent), 64)
		value /= 100
	case n.kind == integerKind || n.kind == floatKind:
		value, err = parseNumber(n)
	}
	switch {
	case err != nil || math.IsNaN(value):
		d.expect(n, what+" as a percentage such as 3%, or a fraction such as 0.03")
	case value < 0:
		d.fail(n, "%s cannot be negative", what)
	case value > 1 && !isPercent:
		d.fail(n, "%s of %s means %g%%", what, n.text, value*100).Hint = "write " + n.text + "%"
	case value > 1:
		d.fail(n, "%s must be between 0%% and 100%%", what)
	default:
		*into = value
	}
}

var fuzzKeys = []key[specDraft]{
	{"matrix", (*decoder).matrix},
	{"sample", func(d *decoder, s *specDraft, n *node) { s.Fuzz.Sample = int(d.integer(n, "sample", 1, 1<<31-1)) }},
	{"specials", func(d *decoder, s *specDraft, n *node) {
		if text, ok := d.choice(n, "what the kernels do with special values", "%s is not a way to treat special values", specialsWords, nil); ok {
			s.Fuzz.Specials = text
		}
	}},
}

var specialsWords = []string{SpecialsNone, SpecialsPropagate}

func (d *decoder) fuzz(s *specDraft, n *node) {
	s.Fuzz = &Fuzz{Pos: n.pos, Specials: SpecialsNone}
	readKeys(d, n, "fuzz", fuzzKeys, nil, s)
}

func (d *decoder) matrix(s *specDraft, n *node) {
	// A matrix without cases is fuzz's own trouble: other commands work all the same.
	s.Fuzz.Matrix = []FuzzAxis{}
	for _, f := range d.entries(n, "a mapping of config variables to lists of values", "for example matrix: {S: [448, 512]}") {
		d.variableName(f.key, "a variable")
		s.Fuzz.Matrix = append(s.Fuzz.Matrix, FuzzAxis{Name: f.key.text, Pos: f.key.pos, Values: d.values(f)})
		s.fuzz = append(s.fuzz, f.key)
	}
}

var poolKeys = []key[Pool]{
	{"launch", func(d *decoder, p *Pool, n *node) { p.Launch = d.command(n, "launch") }},
	{"workers", func(d *decoder, p *Pool, n *node) { p.Workers = int(d.integer(n, "workers", 1, 4096)) }},
	{"cleanup", func(d *decoder, p *Pool, n *node) { p.Cleanup = d.command(n, "cleanup") }},
}

func (d *decoder) pools(s *specDraft, n *node) {
	for _, f := range d.entries(n, "a mapping of pool names to pools", `for example pools: {lab: {launch: "ssh -T lab pawl worker"}}`) {
		p := &Pool{Name: f.key.text, Pos: f.key.pos, Workers: 1}
		d.plainName(f.key, "a pool")
		if readKeys(d, f.value, "pool "+p.Name, poolKeys, nil, p).lacks("launch") {
			d.fail(f.key, "pool %s has no launch", p.Name).Hint = `add the command that starts a worker, for example launch: "ssh -T host pawl worker"`
		}
		s.Pools = append(s.Pools, p)
	}
}

// command reads a command line, as one string or as a list of words.
func (d *decoder) command(n *node, what string) []string {
	if n.kind == textKind {
		words, err := splitWords(n.text)
		if err != nil {
			d.fail(n, "%s: %v", what, err)
			return nil
		}
		if len(words) == 0 {
			d.fail(n, "expected a command for %s, found an empty string", what)
		}
		return words
	}
	if n.kind != listKind || len(n.items) == 0 {
		d.expect(n, "a command for "+what+", as a string or a list of words")
		return nil
	}
	var words []string
	for _, item := range n.items {
		switch item.kind {
		case textKind, integerKind, floatKind, boolKind:
			words = append(words, item.text)
		default:
			d.expect(item, "a word of the command")
		}
	}
	if len(words) > 0 && words[0] == "" {
		d.fail(n.items[0], "expected a command for %s, found an empty string", what)
	}
	return words
}

var classSlug = pattern.New(`^[a-z0-9]+([.-][a-z0-9]+)*$`)

func (d *decoder) deviceClass(s *specDraft, n *node) {
	text, ok := d.text(n, "a device class")
	if !ok {
		return
	}
	if !classSlug.MatchString(text) {
		p := d.fail(n, "%s is not a valid device class, which is used in file names", quote(text))
		words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
		if len(words) > 0 {
			p.Hint = "write " + strings.Join(words, "-")
		}
		return
	}
	s.DeviceClass = text
}

// splitWords splits a command line as a shell does, without expanding
// anything: blanks separate, single quotes keep all, double quotes keep all but
// a backslash before " \ $ or `, and a backslash keeps the next character.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune // that is open; 0 for none
	escaped, inWord := false, false
	for _, c := range line {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`", c) {
				word.WriteByte('\\')
			}
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, inWord = true, true
		case c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c != ' ' && c != '\t' && c != '\n':
			word.WriteRune(c)
			inWord = true
		case inWord:
			words = append(words, word.String())
			word.Reset()
			inWord = false
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("a %c is never closed", quote)
	case escaped:
		return nil, errors.New("a backslash at the end keeps nothing")
	case inWord:
		words = append(words, word.String())
	}
	return words, nil
}
