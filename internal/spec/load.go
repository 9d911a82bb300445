package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pawl/internal/diag"
)

// FileName is what the file is called that Find looks for.
const FileName = "pawl.yaml"

// Load reads a pawl.yaml, and checks that its source files exist and that its arguments
// are those of the functions in them.
func Load(path string) (*Spec, error) { return load(path, true) }

// LoadEarlier loads the file of an earlier commit, which cannot be edited any more: it
// is not compared with the prototypes in its sources.
func LoadEarlier(path string) (*Spec, error) { return load(path, false) }

func load(path string, prototypes bool) (*Spec, error) {
	text, err := readUpTo(path, maxFileBytes+1)
	if err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	s, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	var problems diag.List
	for _, k := range s.Kernels {
		if p := s.checkSource(k); p != nil {
			problems.Add(p)
		} else if prototypes {
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
	hint := "pawl init writes one for the kernels it finds here"
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
