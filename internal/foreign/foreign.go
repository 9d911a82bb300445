// Package foreign reads result files, pawl's own and those of other tools, into a Report. It
// recognizes the format by the content: nobody names a format.
//
// Every reader follows three rules. All times become seconds. A number that cannot be a time (NaN,
// infinite, zero, negative) is refused with its place, since nothing that follows could make sense
// of it. A benchmark whose samples the tool did not write is kept with the one number there is, and
// with a warning that says how to get the samples.
package foreign

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"pawl/internal/result"
)

// Format is the format of a file: the tool that wrote it.
type Format string

// The formats that are read.
const (
	Pawl     Format = "pawl"
	NVBench  Format = "nvbench"
	Google   Format = "Google Benchmark"
	GoTest   Format = "go test -bench"
	Pytest   Format = "pytest-benchmark"
	Hyper    Format = "hyperfine"
	JSONList Format = "JSON list"
	CSVList  Format = "CSV"
)

// Exit is the code of the warning that runs of a benchmark failed.
const Exit = "exit"

// File is a result file that was read.
type File struct {
	Path   string
	Format Format

	// Report holds a row for every benchmark, in the file's order, no name twice. A row has samples
	// or a fault. Fields that the file does not give are empty: for other tools' files, nearly all.
	Report *result.Report
}

// Options hold what a file cannot say itself.
type Options struct {
	Unit float64 // of plain lists that do not say it, in seconds; 0 means 1
}

// Read reads a file, or the report of a run's folder.
func Read(path string, opts Options) (*File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "report.json")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, withoutPath(err))
	}
	return Parse(path, string(raw), opts, os.ReadFile)
}

// withoutPath returns why a file could not be read, without its name.
func withoutPath(err error) error {
	if p, found := errors.AsType[*fs.PathError](err); found {
		return p.Err
	}
	return err
}

// Parse reads a file's text. open returns the content of the files that it refers to: nvbench keeps
// samples beside its JSON.
func Parse(path, text string, opts Options, open func(string) ([]byte, error)) (*File, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	src := source{file: path, text: text}
	switch trimmed := strings.TrimSpace(text); {
	case trimmed == "":
		return nil, src.about("the file is empty", "the benchmark wrote nothing: run it again")
	case strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff"):
		return nil, src.problem(0, "the text is UTF-16; expected UTF-8", "PowerShell's > writes it so: use the tool's own output option, or Out-File -Encoding utf8")
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return nil, src.problem(invalid(text), "this is not text; expected a result file", formats)
	case isGoEvents(text):
		return finish(src, GoTest, readGoEvents)
	case trimmed[0] == '{' || trimmed[0] == '[':
		return parseJSON(src, opts, open)
	case googleTable(text) >= 0:
		return nil, src.problem(googleTable(text), "this is the table that Google Benchmark prints; expected its JSON", googleHint)
	case isGoTest(text):
		return finish(src, GoTest, readGoTest)
	}
	return finish(src, CSVList, func(s source, c *collector) error { return readCSV(s, c, opts) })
}

const formats = "pawl compares reports of its own, nvbench JSON, Google Benchmark JSON, go test -bench output (plain or -json), " +
	"pytest-benchmark JSON, hyperfine JSON, and plain lists of times in JSON or CSV"

// invalid returns the offset of the first byte that cannot be text.
func invalid(text string) int {
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); r == 0 || r == utf8.RuneError && size == 1 {
			return i
		}
	}
	return 0
}

// finish runs a reader and checks that it found something.
func finish(src source, format Format, read func(source, *collector) error) (*File, error) {
	c := newCollector()
	if err := read(src, c); err != nil {
		return nil, err
	}
	if len(c.report.Rows) == 0 {
		return nil, src.about(fmt.Sprintf("no benchmarks in this %s file", format), "run them again, and check that no filter excludes all of them")
	}
	return &File{Path: src.file, Format: format, Report: c.report}, nil
}

// parseJSON reads the outermost keys, and thereby checks the whole syntax, before it passes the
// text to the reader of its format.
func parseJSON(src source, opts Options, open func(string) ([]byte, error)) (*File, error) {
	s := &scanner{source: src}
	keys := map[string]byte{} // with the first byte of the value
	var err error
	if s.next() == '[' {
		err = s.skip()
	} else {
		err = s.object(func(key string) error {
			keys[key] = s.next()
			return s.skip()
		})
	}
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	has := func(first byte, name string) bool { return keys[name] == first }
	switch {
	case has('[', "rows") && keys["schema"] != 0:
		return readPawl(src)
	case has('[', "results"):
		return finish(src, Hyper, readHyperfine)
	case has('[', "benchmarks") && has('{', "context"):
		return finish(src, Google, readGoogle)
	case has('[', "benchmarks") && has('{', "machine_info"):
		return finish(src, Pytest, readPytest)
	case has('[', "benchmarks") && (has('[', "devices") || has('{', "meta")):
		return finish(src, NVBench, func(s source, c *collector) error { return readNVBench(s, c, open) })
	}
	return finish(src, JSONList, func(s source, c *collector) error { return readList(s, c, opts) })
}
