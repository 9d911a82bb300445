package ci

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"pawl/internal/csource"
	"pawl/internal/forge"
	"pawl/internal/git"
	"pawl/internal/report"
	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// sourceReader returns a file of the repository whose top folder is root.
type sourceReader func(ctx context.Context, root, file string) ([]byte, error)

func localSource(_ context.Context, root, file string) ([]byte, error) {
	const most = 8 << 20
	return readBounded(filepath.Join(root, filepath.FromSlash(file)), most)
}

func readBounded(file string, most int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(raw)) > most {
		err = fmt.Errorf("%s has more than %d MiB", file, most>>20)
	}
	return raw, err
}

var levels = map[view.Tone]forge.Level{view.Bad: forge.Fail, view.Unsure: forge.Warn, view.Plain: forge.Notice}

// annotate puts what needs attention beside the kernels' sources. Where a kernel is, the base's
// pawl.yaml says: the report is not asked. Kernels that the base does not have get no annotation.
func annotate(ctx context.Context, opts PostOptions, r *result.Report, source sourceReader) ([]forge.Annotation, error) {
	if opts.Spec == "" {
		return nil, nil
	}
	s, err := spec.LoadEarlier(opts.Spec)
	if err != nil {
		return nil, err
	}
	root, err := git.Root(ctx, s.Dir)
	if err != nil {
		return nil, err
	}
	var out []forge.Annotation
	for _, remark := range report.Remarks(r) {
		k := s.Kernel(remark.Kernel)
		if k == nil {
			continue
		}
		file, inside := within(root, filepath.Join(s.Dir, filepath.FromSlash(k.Source)))
		if !inside {
			continue
		}
		raw, err := source(ctx, root, file)
		if err != nil {
			continue // the change has moved it: the comment says the same
		}
		out = append(out, forge.Annotation{Path: file, Line: lineOf(k, raw), Level: levels[remark.Tone], Title: remark.Title, Message: remark.Text})
	}
	return out, nil
}

// within returns a file's path below a folder, and whether it is there.
func within(root, file string) (string, bool) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return "", false
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(absolute)); err == nil {
		absolute = filepath.Join(real, filepath.Base(absolute))
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	below, err := filepath.Rel(root, absolute)
	return filepath.ToSlash(below), err == nil && filepath.IsLocal(below)
}

// maxAnnotated is the longest source in which functions are looked for. The change wrote it, and
// could keep the job busy with it until nothing can be posted.
const maxAnnotated = 1 << 20

// lineOf returns the line that a kernel's first function begins at; 1 where it is not found.
func lineOf(k *spec.Kernel, source []byte) int {
	if len(source) > maxAnnotated {
		return 1
	}
	entry := ""
	if len(k.Launches) > 0 {
		entry = k.Launches[0].Entry
	}
	if k.Cell == spec.CellPython {
		_, function, _ := strings.Cut(k.Python, ":")
		defines := regexp.MustCompile(`^\s*(async\s+)?def\s+` + regexp.QuoteMeta(function) + `\s*\(`)
		for i, line := range strings.Split(string(source), "\n") {
			if defines.MatchString(line) {
				return i + 1
			}
		}
		return 1
	}
	name, _, _ := strings.Cut(entry, "<") // of a template
	for _, f := range csource.Functions(csource.Read(source)) {
		if f.Name == name[strings.LastIndexByte(name, ':')+1:] {
			return max(1, f.Line)
		}
	}
	return 1
}

// codeQuality returns annotations in the form that GitLab shows in a merge request.
func codeQuality(notes []forge.Annotation) ([]byte, error) {
	severity := map[forge.Level]string{forge.Fail: "critical", forge.Warn: "minor", forge.Notice: "info"}
	out := make([]any, 0, len(notes))
	for _, n := range notes {
		out = append(out, map[string]any{
			"description": n.Title + "\n" + n.Message, "check_name": "pawl", "severity": severity[n.Level],
			"fingerprint": fmt.Sprintf("%x", sha256.Sum256([]byte(n.Path+"\x00"+n.Title))),
			"location":    map[string]any{"path": n.Path, "lines": map[string]int{"begin": n.Line}},
		})
	}
	return json.MarshalIndent(out, "", "  ")
}
