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

// PostEnvironment returns what the environment of a job says: that of GitHub Actions, Gitea Actions or
// GitLab CI. A token is only read here.
func PostEnvironment(getenv func(string) string) (PostOptions, error) {
	first := func(names ...string) string {
		for _, name := range names {
			if value := getenv(name); value != "" {
				return value
			}
		}
		return ""
	}
	var o PostOptions
	number := func(text string) { _, _ = fmt.Sscan(text, &o.Run) }
	switch {
	case getenv("GITLAB_CI") != "":
		o.Forge = forge.Options{
			Kind: forge.GitLab, URL: getenv("CI_API_V4_URL"), Repo: first("CI_MERGE_REQUEST_PROJECT_PATH", "CI_PROJECT_PATH"), Token: first("PAWL_FORGE_TOKEN", "GITLAB_TOKEN"),
		}
		o.Head = forge.Head{
			Repo: getenv("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH"), Branch: getenv("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"),
			SHA: first("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "CI_COMMIT_SHA"), // the first is set where the pipeline's commit is the merge
		}
		o.URL = getenv("CI_PIPELINE_URL")
		number(getenv("CI_PIPELINE_ID"))
	case getenv("GITHUB_ACTIONS") != "" || getenv("GITEA_ACTIONS") != "":
		o.Forge = forge.Options{Kind: forge.GitHub, URL: getenv("GITHUB_API_URL"), Repo: getenv("GITHUB_REPOSITORY"), Token: first("PAWL_FORGE_TOKEN", "GITHUB_TOKEN", "GH_TOKEN")}
		if getenv("GITEA_ACTIONS") != "" {
			o.Forge.Kind, o.Forge.Token = forge.Gitea, first("PAWL_FORGE_TOKEN", "GITEA_TOKEN", "GITHUB_TOKEN")
		}
		if id, key := getenv("PAWL_APP_ID"), getenv("PAWL_APP_KEY"); id != "" && key != "" && o.Forge.Kind == forge.GitHub {
			o.Forge.App = &forge.App{ID: id, Key: []byte(key)}
		}
		o.Head.SHA, o.Summary = getenv("GITHUB_SHA"), getenv("GITHUB_STEP_SUMMARY")
		number(getenv("GITHUB_RUN_ID"))
		if err := o.event(getenv("GITHUB_EVENT_PATH")); err != nil {
			return o, err
		}
		if server := getenv("GITHUB_SERVER_URL"); server != "" && o.Run > 0 {
			o.URL = fmt.Sprintf("%s/%s/actions/runs/%d", server, o.Forge.Repo, o.Run)
		}
	default:
		o.Forge.Token = first("PAWL_FORGE_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN")
	}
	return o, nil
}

// event reads from the event of the job which commit was measured, and by which run: by another one
// where the job was started by its end.
func (o *PostOptions) event(file string) error {
	if file == "" {
		return nil
	}
	raw, err := readBounded(file, 32<<20)
	if os.IsNotExist(err) {
		return nil
	} else if err != nil {
		return err
	}
	type repository struct {
		Name string `json:"full_name"`
	}
	var e struct {
		Run *struct {
			ID     int64       `json:"id"`
			Event  string      `json:"event"`
			SHA    string      `json:"head_sha"`
			Branch string      `json:"head_branch"`
			Repo   *repository `json:"head_repository"`
		} `json:"workflow_run"`
		Pull *struct {
			Head struct {
				SHA  string      `json:"sha"`
				Ref  string      `json:"ref"`
				Repo *repository `json:"repo"`
			} `json:"head"`
		} `json:"pull_request"`
		Group *struct {
			SHA string `json:"head_sha"`
		} `json:"merge_group"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("the event of this job (%s): %w", file, err)
	}
	switch {
	case e.Run != nil:
		o.Head, o.Run, o.Queue = forge.Head{SHA: e.Run.SHA, Branch: e.Run.Branch}, e.Run.ID, e.Run.Event == "merge_group"
		if e.Run.Repo != nil {
			o.Head.Repo = e.Run.Repo.Name
		}
	case e.Pull != nil:
		o.Head = forge.Head{SHA: e.Pull.Head.SHA, Branch: e.Pull.Head.Ref}
		if e.Pull.Head.Repo != nil {
			o.Head.Repo = e.Pull.Head.Repo.Name
		}
	case e.Group != nil:
		o.Head, o.Queue = forge.Head{SHA: e.Group.SHA}, true
	}
	return nil
}
