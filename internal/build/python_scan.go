package build

import (
	"bytes"
	"slices"
	"strings"

	"pawl/internal/pattern"
)

// pythonImport is one name that a module imports.
type pythonImport struct {
	name   string // dotted, with the dots of a relative import before it; pkg.* for all names of a package
	quoted bool   // it is in a string or comment, and may be prose
}

// scanImports lists what a Python module imports. The word import is a keyword, so each one in the
// code begins a list of names, at any depth: after a colon, a semicolon, a continued line. Strings
// are searched as well, since they may contain code (exec, a field of an f-string), and so are
// comments: the quotes within an f-string's fields may be taken for its end, and what follows for a
// comment. opaque means that more may be imported than is found: the text is in an encoding that
// hides its letters, a name has letters that Python normalizes to others, or something else than an
// import statement loads code.
func scanImports(text []byte) (found []pythonImport, opaque bool) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	s := &pythonScanner{text: text, opaque: oddEncoding(text)}
	s.scan()
	return s.found, s.opaque
}

// encodingLine matches a module's encoding declaration, in its first two lines.
var encodingLine = pattern.New(`^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)`)

// plainEncoding matches the names of encodings in which ASCII letters are themselves.
var plainEncoding = pattern.New(`(?i)^(?:utf[-_]?8|us[-_]ascii|ascii|latin[-_]?1|iso[-_]8859[-_]|cp125|windows[-_]125)`)

// oddEncoding reports whether a text declares an encoding in which ASCII letters may be
// written as something else.
func oddEncoding(text []byte) bool {
	lines := bytes.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' })
	for _, line := range lines[:min(2, len(lines))] {
		if m := encodingLine.FindSubmatch(line); m != nil {
			return !plainEncoding.Match(m[1])
		}
	}
	return false
}

// pythonScanner reads tokens as far as imports need them.
type pythonScanner struct {
	text   []byte
	at     int
	quoted bool // text is the content of a string or comment; quotes and # have no meaning
	found  []pythonImport
	opaque bool
}

func (s *pythonScanner) scan() {
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case isWordByte(c):
			s.keyword(s.word())
		case s.quoted:
			s.at++
		case c == '#':
			s.inside(s.comment())
		case c == '"' || c == '\'':
			s.inside(s.literal())
		default:
			s.at++
		}
	}
}

// inside searches the text of a string or comment.
func (s *pythonScanner) inside(text []byte) {
	inner := &pythonScanner{text: text, quoted: true}
	inner.scan()
	s.found, s.opaque = append(s.found, inner.found...), s.opaque || inner.opaque
}

func isWordByte(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// word reads a word; "" where none comes next.
func (s *pythonScanner) word() string {
	from := s.at
	for s.at < len(s.text) && isWordByte(s.text[s.at]) {
		s.at++
	}
	return string(s.text[from:s.at])
}

// comment skips a comment and returns its text.
func (s *pythonScanner) comment() []byte {
	text := s.text[s.at:]
	if end := bytes.IndexAny(text, "\r\n"); end >= 0 {
		text = text[:end]
	}
	s.at += len(text)
	return text
}

// literal skips a string and returns its text. A backslash keeps a quote from ending it, in raw
// ones too. An unclosed one-line string ends with its line.
func (s *pythonScanner) literal() []byte {
	quote := s.text[s.at : s.at+1]
	if triple := bytes.Repeat(quote, 3); bytes.HasPrefix(s.text[s.at:], triple) {
		quote = triple
	}
	from := s.at + len(quote)
	for s.at = from; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\':
			s.at++
			if bytes.HasPrefix(s.text[min(s.at, len(s.text)):], []byte("\r\n")) {
				s.at++
			}
		case len(quote) == 1 && (c == '\n' || c == '\r'):
			return s.text[from:s.at]
		case bytes.HasPrefix(s.text[s.at:], quote):
			text := s.text[from:s.at]
			s.at += len(quote)
			return text
		}
	}
	s.at = len(s.text)
	return s.text[min(from, s.at):]
}

// space skips blanks, continued lines and, within brackets, line ends and comments.
func (s *pythonScanner) space(brackets bool) {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\f':
			s.at++
		case bytes.HasPrefix(rest, []byte("\\\r\n")):
			s.at += 3
		case bytes.HasPrefix(rest, []byte("\\\n")) || bytes.HasPrefix(rest, []byte("\\\r")):
			s.at += 2
		case brackets && (c == '\n' || c == '\r'):
			s.at++
		case brackets && c == '#' && !s.quoted: // the text within is read once
			s.inside(s.comment())
		default:
			return
		}
	}
}

// take skips a byte if it comes next.
func (s *pythonScanner) take(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// keyword parses what follows a word that may import something.
func (s *pythonScanner) keyword(word string) {
	escape := s.at - len(word) - 1
	if s.quoted && escape >= 0 && s.text[escape] == '\\' && strings.Contains("nrt", word[:1]) { // "\nimport x" as it is written in a string
		word = word[1:]
	}
	switch word {
	case "import":
		s.names("")
	case "from":
		s.from()
	case "__import__", "import_module":
		s.call()
	default:
		s.loader(word)
	}
}

// Words that import modules by other means than an import statement, or lead to something that does.
var (
	// However they are used: called, renamed, passed on.
	loaderWords = wordSet(`
		__builtins__ __loader__ __spec__ _getframe _imp builtins entry_points exec_module f_builtins f_globals find_loader find_module
		find_spec get_importer import_string importorskip load_dynamic load_module load_source meta_path module_from_spec path_hooks
		pkg_resources pkgutil pydoc resolve_name run_module run_path runpy SourceFileLoader SourcelessFileLoader spec_from_file_location
		spec_from_loader stevedore zipimport`)
	// Where they are no attributes: eval, but not model.eval.
	loaderFunctions = wordSet(`compile eval exec globals locals vars`)
	// Where they are imported: other names are common, too.
	loaderModules = wordSet(`cloudpickle code codeop dill imp marshal pickle`)
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// loader gives up where a word loads code that no import names. Of a string it must be all: prose
// has such words, too. Modules that have such functions may be used, but not passed on.
func (s *pythonScanner) loader(word string) {
	before := s.text[:s.at-len(word)]
	attribute, passed := bytes.HasSuffix(before, []byte(".")), !bytes.HasPrefix(s.text[s.at:], []byte("."))
	switch {
	case s.quoted:
		s.opaque = s.opaque || len(word) == len(s.text) && (loaderWords[word] || word == "modules" || word == "__import__")
	case loaderWords[word], loaderFunctions[word] && !attribute, (word == "importlib" || word == "sys") && passed && !attribute,
		word == "modules" && bytes.HasSuffix(before, []byte("sys.")):
		s.giveUp()
	}
}

// dotted reads a name with its dots; "" where there is none.
func (s *pythonScanner) dotted(brackets bool) string {
	var name strings.Builder
	for {
		s.space(brackets)
		word := s.word()
		name.WriteString(word)
		s.space(brackets)
		if word == "" || !s.take('.') {
			return name.String()
		}
		name.WriteByte('.')
	}
}

// from reads what follows the word: dots and a name, then import. Otherwise the word belongs to
// yield or raise.
func (s *pythonScanner) from() {
	dots := 0
	for s.space(false); s.take('.'); s.space(false) {
		dots++
	}
	start := s.at
	module := s.dotted(false)
	if module == "import" && dots > 0 {
		module, s.at = "", start
	}
	s.space(false)
	before := s.at
	if s.word() != "import" {
		s.at = before
		return
	}
	base := strings.Repeat(".", dots) + module
	s.add(base)
	s.names(base)
}

// names reads the list after import, of modules or of names in one.
func (s *pythonScanner) names(base string) {
	s.space(false)
	brackets := s.take('(')
	join := base
	if base != "" && !strings.HasSuffix(base, ".") {
		join += "."
	}
	for {
		s.space(brackets)
		if base != "" && s.take('*') {
			s.add(join + "*")
			return
		}
		name := s.dotted(brackets)
		if name == "" {
			return
		}
		s.add(join + name)
		s.space(brackets)
		before := s.at
		switch s.word() {
		case "":
		case "as":
			s.space(brackets)
			if alias := s.word(); alias != "" && alias != name && base == "importlib" {
				s.giveUp() // it is import_module, or __import__
			}
			s.space(brackets)
		default:
			s.at = before
			return
		}
		if !s.take(',') {
			return
		}
	}
}

// call reads the arguments of __import__ or importlib.import_module where they are
// literals: a name and, for one that begins with dots, its package.
func (s *pythonScanner) call() {
	start := s.at
	s.space(true)
	if !s.take('(') { // it may be called by another name
		s.at = start
		s.giveUp()
		return
	}
	inside := s.at
	defer func() { s.at = inside }() // strings and calls among the arguments are read as everywhere
	name, ok := s.argument("name")
	if !ok {
		s.giveUp()
		return
	}
	if s.space(true); s.at < len(s.text) && s.text[s.at] != ',' && s.text[s.at] != ')' { // the name goes on
		s.giveUp()
	}
	if relative := strings.TrimLeft(name, "."); relative != name && s.take(',') {
		if pkg, ok := s.argument("package"); ok {
			for range len(name) - len(relative) - 1 {
				pkg = pkg[:max(0, strings.LastIndexByte(pkg, '.'))]
			}
			s.add(pkg + "." + relative)
		}
	}
	s.add(name)
}

// giveUp records that more may be imported than is found; a string or comment may be prose.
func (s *pythonScanner) giveUp() { s.opaque = s.opaque || !s.quoted }

// argument reads a literal that names a module.
func (s *pythonScanner) argument(keyword string) (string, bool) {
	s.space(true)
	if s.word() == keyword { // other words are a string's prefix
		s.space(true)
		if !s.take('=') {
			return "", false
		}
		s.space(true)
		s.word()
	}
	if s.quoted {
		s.take('\\')
	}
	if s.at >= len(s.text) || s.text[s.at] != '"' && s.text[s.at] != '\'' {
		return "", false
	}
	quote := s.text[s.at]
	for s.take(quote) {
	}
	from := s.at
	for s.at < len(s.text) && (isWordByte(s.text[s.at]) || s.text[s.at] == '.') {
		s.at++
	}
	name := string(s.text[from:s.at])
	if s.quoted {
		s.take('\\')
	}
	if !s.take(quote) {
		return "", false
	}
	for s.take(quote) {
	}
	return name, name != ""
}

func (s *pythonScanner) add(name string) {
	if strings.ContainsFunc(name, func(c rune) bool { return c >= 0x80 }) { // Python takes other letters that look alike for the same
		s.giveUp()
		return
	}
	parts := strings.Split(name, ".")
	if slices.ContainsFunc(parts, func(part string) bool { return loaderWords[part] }) || loaderModules[parts[0]] || name == "sys.modules" {
		s.giveUp()
	}
	s.found = append(s.found, pythonImport{name: name, quoted: s.quoted})
}
