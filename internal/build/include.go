package build

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// include is one #include of a source, or one file that it asks for with
// __has_include.
type include struct {
	name   string
	quoted bool // "name": the folder of the file that includes it is searched too
	next   bool // #include_next: the search goes on behind that folder
}

// included is what one file includes.
type included struct {
	list     []include
	computed string // a macro that names a file, if there is one
	incbin   bool   // it may have the assembler read a file

	stat fileStat
	read time.Time
}

// includeScanner finds the files that compiling a source may read, for a compiler that does not
// list them. It finds more than the compiler reads, never less: both branches of every condition,
// and every file of a name on the search path, whichever the compiler would take.
type includeScanner struct {
	mu   sync.Mutex
	seen map[string]*included
}

func newIncludeScanner() *includeScanner { return &includeScanner{seen: map[string]*included{}} }

// scan returns the files that source may read, itself first, and the macro of an
// #include that only the preprocessor could resolve. Relative folders of path are
// below dir. Files below one of the folders in system are left out, and so is what
// only they include.
func (s *includeScanner) scan(dir, source string, path, system []string) (files []string, computed string) {
	visited := map[string]bool{}
	var folders []string
	for _, folder := range path {
		folders = append(folders, filepath.Clean(within(dir, folder)))
	}
	var visit func(file string)
	visit = func(file string) {
		if visited[file] {
			return
		}
		visited[file] = true
		found := s.file(file)
		if found == nil || slices.ContainsFunc(system, func(folder string) bool { return below(folder, file) }) {
			return
		}
		files = append(files, nameIn(dir, file))
		if computed == "" {
			computed = found.computed
		}
		for _, inc := range found.list {
			if filepath.IsAbs(inc.name) {
				visit(filepath.Clean(inc.name))
				continue
			}
			if inc.quoted {
				visit(filepath.Join(filepath.Dir(file), inc.name))
			}
			for _, folder := range folders {
				visit(filepath.Join(folder, inc.name))
			}
		}
	}
	visit(filepath.Clean(within(dir, source)))
	return files, computed
}

// file returns what a file includes, from memory if it was read before; nil when there is no such
// file.
func (s *includeScanner) file(path string) *included {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	s.mu.Lock()
	known := s.seen[path]
	s.mu.Unlock()
	if known != nil && known.stat == statOf(info) && known.read.Sub(known.stat.ctime) > stampTick {
		return known
	}
	now := time.Now()
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	found := parseIncludes(string(text))
	found.stat, found.read = statOf(info), now
	s.mu.Lock()
	s.seen[path] = found
	s.mu.Unlock()
	return found
}

// below reports whether a file is in a folder, at any depth.
func below(folder, file string) bool {
	return strings.HasPrefix(file, strings.TrimSuffix(folder, "/")+"/")
}

// nameIn returns a file's path relative to dir where it is inside, so that a key does
// not depend on where a checkout lies.
func nameIn(dir, file string) string {
	if below(dir, file) {
		return strings.TrimPrefix(file, strings.TrimSuffix(dir, "/")+"/")
	}
	return file
}

var (
	includeLine = regexp.MustCompile(`^(?:include|include_next|import)\b\s*(?:"([^"\n]+)"|<([^>\n]+)>|([A-Za-z_]\w*))?`)
	hasInclude  = regexp.MustCompile(`\b__has_include(?:_next)?\s*\(\s*(?:"([^"\n]+)"|<([^>\n]+)>|([A-Za-z_]\w*))`)
	nextOnly    = regexp.MustCompile(`^(?:__has_)?include_next\b`)
	splices     = strings.NewReplacer("\\\r\n", "", "\\\n", "")
)

// parseIncludes finds the includes of a C++ source. If it errs it finds too many: only a comment
// could hide one, and text that merely looks like a comment (in a literal) is not treated as one
// here either.
func parseIncludes(text string) *included {
	found := &included{incbin: strings.Contains(text, ".incbin")}
	add := func(m []string) {
		switch {
		case m == nil || m[1]+m[2]+m[3] == "":
		case m[3] != "":
			found.computed = m[3]
		default:
			inc := include{name: m[1] + m[2], quoted: m[1] != "", next: nextOnly.MatchString(m[0])}
			if !slices.Contains(found.list, inc) {
				found.list = append(found.list, inc)
			}
		}
	}
	text = splices.Replace(text)
	lineStart := true
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := text[i]; {
		case c == '\n':
			lineStart = true
			i++
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			i++
		case strings.HasPrefix(rest, "//"):
			i += lineLength(rest)
		case strings.HasPrefix(rest, "/*"):
			i += commentLength(rest)
		case c == '#' && lineStart:
			lineStart = false
			line, length := directive(rest[1:])
			add(includeLine.FindStringSubmatch(line))
			for _, m := range hasInclude.FindAllStringSubmatch(line, -1) {
				add(m)
			}
			i += 1 + length
		case c == '"':
			lineStart = false
			i += stringLength(text, i)
		case c == '\'':
			lineStart = false
			i += literalLength(rest)
		default:
			lineStart = false
			i++
		}
	}
	return found
}

// directive returns a preprocessor line without its comments, trimmed, and its length
// in the text, without the line's end. A comment that goes on beyond the line is
// left to the caller.
func directive(text string) (line string, length int) {
	var out strings.Builder
	i := 0
	for i < len(text) && text[i] != '\n' {
		rest, n := text[i:], 1
		switch c := text[i]; {
		case strings.HasPrefix(rest, "//"):
			i += lineLength(rest)
			continue
		case strings.HasPrefix(rest, "/*"):
			n = commentLength(rest)
			if strings.Contains(rest[:n], "\n") {
				return strings.TrimSpace(out.String()), i
			}
			out.WriteByte(' ')
			i += n
			continue
		case c == '"':
			n = stringLength(text, i)
		case c == '\'':
			n = literalLength(rest)
		case c == '<' && headerName.MatchString(rest): // slashes in it are slashes
			n = len(headerName.FindString(rest))
		}
		out.WriteString(rest[:n])
		i += n
	}
	return strings.TrimSpace(out.String()), i
}

var headerName = regexp.MustCompile(`^<[^<>()\s]+>`)

func lineLength(text string) int {
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		return end
	}
	return len(text)
}

func commentLength(text string) int {
	if end := strings.Index(text[2:], "*/"); end >= 0 {
		return end + 4
	}
	return len(text)
}

// literalLength returns the length of the string or character literal that begins text; an unclosed
// one ends with its line.
func literalLength(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\n':
			return i
		case text[0]:
			return i + 1
		}
	}
	return len(text)
}

var rawPrefix = regexp.MustCompile(`(?:^|[^A-Za-z0-9_])(?:u8|u|U|L)?R$`)

// stringLength returns the length of the string literal at text[i], which may be a raw one.
func stringLength(text string, i int) int {
	before := text[max(0, i-4):i]
	open := strings.IndexByte(text[i:min(len(text), i+20)], '(')
	if !rawPrefix.MatchString(before) || open < 0 {
		return literalLength(text[i:])
	}
	closing := ")" + text[i+1:i+open] + `"`
	if end := strings.Index(text[i+open:], closing); end >= 0 {
		return open + end + len(closing)
	}
	return literalLength(text[i:])
}
