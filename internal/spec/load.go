package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pawl/internal/diag"
	"pawl/internal/pattern"
)

// FileName is what the file is called that Find looks for.
const FileName = "pawl.yaml"

// Load reads a pawl.yaml, and checks that its source files exist and that its arguments
// are those of the functions in them.
func Load(path string) (*Spec, error) { return load(path, false) }

// LoadEarlier loads the file of an earlier commit, which cannot be edited any more: it
// is not compared with the prototypes in its sources, and may have keys that nothing reads.
func LoadEarlier(path string) (*Spec, error) { return load(path, true) }

func load(path string, earlier bool) (*Spec, error) {
	text, err := readUpTo(path, maxFileBytes+1)
	if err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	s, err := parse(path, text, earlier)
	if err != nil {
		return nil, err
	}
	var problems diag.List
	for _, k := range s.Kernels {
		if p := s.checkSource(k); p != nil {
			problems.Add(p)
		} else if !earlier {
			s.checkPrototypes(k, &problems)
		}
	}
	if err := problems.Err(text); err != nil {
		return nil, err
	}
	return s, nil
}

// readUpTo reads the first bytes of a file, as many as most.
func readUpTo(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, most))
}

// checkSource reports a source that cannot be read.
func (s *Spec) checkSource(k *Kernel) *diag.Problem {
	path := filepath.Join(s.Dir, filepath.FromSlash(k.Source))
	p := &diag.Problem{Pos: k.SourcePos, Width: len([]rune(k.Source))}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.Message = fmt.Sprintf("%s does not exist", path)
		p.Hint = nearFile(path)
	case err != nil:
		p.Message = fmt.Sprintf("cannot read the source: %v", err)
	case info.IsDir():
		p.Message = fmt.Sprintf("%s is a folder, not a source file", path)
	default:
		return nil
	}
	return p
}

// nearFile finds a file beside path with a similar name.
func nearFile(path string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return fmt.Sprintf("there is no folder %s", filepath.Dir(path))
	}
	var names []string
	for _, e := range entries {
		if CellOf(e.Name()) != "" || filepath.Ext(e.Name()) == filepath.Ext(path) {
			names = append(names, e.Name())
		}
	}
	if near := diag.Nearest(filepath.Base(path), names); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// Find looks for pawl.yaml in dir and the folders above it.
func Find(dir string) (path string, err error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", FileName, err)
	}
	hint := "pawl init writes one for the C, C++ and CUDA kernels it finds here; for Python functions it shows an example"
	for at := start; ; at = filepath.Dir(at) {
		path := filepath.Join(at, FileName)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
		other := filepath.Join(at, "pawl.yml")
		if _, err := os.Stat(other); err == nil {
			hint = fmt.Sprintf("rename %s to %s", other, FileName)
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return "", diag.Errors{{Message: fmt.Sprintf("no %s in %s or any folder above it", FileName, start), Hint: hint}}
}

// Parse reads the text of a pawl.yaml. File is only the name under which
// errors and Spec.File speak of it; nothing on disk is touched. The error holds
// all problems found, as diag.Errors.
func Parse(file string, source []byte) (*Spec, error) { return parse(file, source, false) }

func parse(file string, source []byte, earlier bool) (*Spec, error) {
	var problems diag.List
	root, todos := readYAML(file, source, &problems)
	sum := sha256.Sum256(source)
	source = bytes.TrimPrefix(source, byteOrderMark)
	s := &specDraft{Spec: &Spec{
		File:   file,
		Dir:    filepath.Dir(file),
		SHA256: hex.EncodeToString(sum[:]),
		Gate:   DefaultGate,
		TODOs:  todos,
		source: source,
	}}
	if root == nil {
		if problems.Len() == 0 {
			problems.Addf(diag.Pos{File: file, Line: 1, Column: 1}, "the file is empty").Hint = "pawl init writes a first one"
		}
		return nil, report(&problems, source)
	}
	d := &decoder{problems: &problems, earlier: earlier}
	if root.kind != mappingKind {
		d.expect(root, "a mapping with version, kernels and configs")
		return nil, report(&problems, source)
	}
	if !d.version(root) {
		return nil, report(&problems, source)
	}
	keys := readKeys(d, root, "pawl.yaml", specKeys, map[string]string{
		"kernel": "did you mean kernels?", "config": "did you mean configs?",
	}, s)
	if keys.lacks("kernels") {
		d.problems.Addf(root.pos, "kernels is missing").Hint = "add the kernels to test: kernels: {name: {source: …, entry: …, args: …}}"
	}
	for _, k := range s.Kernels {
		k.source = source
	}
	s.placeTODOs(root)
	d.check(s)
	if err := report(&problems, source); err != nil {
		return nil, err
	}
	return s.Spec, nil
}

// LoadFindings reads the findings of a pawl.yaml and nothing else: mistakes in its kernels do not matter to
// whoever only explains profiles. A file without the key has none, whatever else is wrong with it.
func LoadFindings(path string) (*Spec, error) {
	text, err := readUpTo(path, maxFileBytes+1)
	if err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	return parseFindings(path, text)
}

func parseFindings(file string, source []byte) (*Spec, error) {
	var problems diag.List
	root, _ := readYAML(file, source, &problems)
	source = bytes.TrimPrefix(source, byteOrderMark)
	s := &specDraft{Spec: &Spec{File: file, Dir: filepath.Dir(file), source: source}}
	if root.field("findings") == nil && (root != nil || !hasFindings.Match(source)) {
		return s.Spec, nil
	}
	if d := (&decoder{problems: &problems}); problems.Len() == 0 && d.version(root) {
		d.findings(s, root.find("findings"))
	}
	if err := report(&problems, source); err != nil {
		return nil, err
	}
	return s.Spec, nil
}

// hasFindings finds the key in a file that is no YAML.
var hasFindings = pattern.New(`(?m)^["']?findings["']?\s*:`)

// report returns the error of all problems, cut where nobody would read on.
func report(problems *diag.List, source []byte) error {
	err := problems.Err(source)
	list := diag.Problems(err)
	if len(list) <= maxProblems {
		return err
	}
	rest := list[maxProblems]
	more := &diag.Problem{Pos: rest.Pos, Message: fmt.Sprintf("%d more problems from here on", len(list)-maxProblems)}
	return diag.Errors(append(list[:maxProblems:maxProblems], more))
}
