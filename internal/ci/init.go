package ci

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"pawl/internal/claim"
	"pawl/internal/disk"
	"pawl/internal/forge"
	"pawl/internal/git"
	"pawl/internal/pattern"
)

// Forges lists the forges that Init knows.
var Forges = func() (names []string) {
	for _, kind := range forge.Kinds {
		names = append(names, string(kind))
	}
	return names
}()

// InitOptions say what the workflows of a repository are like.
type InitOptions struct {
	Forge   string
	Dir     string // in the repository
	Runner  string // label of the runner that measures; ubuntu-latest and its kin are the forge's own
	Branch  string // the default branch
	Version string // of pawl, that runners install
	URL     string // of the file that runners install
	SHA256  string // of that file
	Force   bool   // replace files that somebody else wrote or edited
}

//go:embed templates
var templates embed.FS

// pins are the actions that the workflows use, by commit.
var pins = map[string]map[string]string{
	"github": {
		"Checkout": "actions/checkout@8e8c483db84b4bee98b60c0593521ed34d9990e8 # v6.0.1",
		"Upload":   "actions/upload-artifact@b7c566a772e6b6bfb58ed0dc250532a479d7789f # v6.0.0",
	},
	// Gitea's runners have Node 20.
	"gitea": {
		"Checkout": "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2",
	},
}

// targets say where each template goes.
var targets = map[string]map[string]string{
	"github": {
		"pawl.yml":                 ".github/workflows/pawl.yml",
		"pawl-strangers.yml":       ".github/workflows/pawl-strangers.yml",
		"pawl-report.yml":          ".github/workflows/pawl-report.yml",
		"pawl-ratchet.yml":         ".github/workflows/pawl-ratchet.yml",
		"pawl-tune.yml":            ".github/workflows/pawl-tune.yml",
		"pull_request_template.md": ".github/pull_request_template.md",
		"CODEOWNERS.pawl":          ".github/CODEOWNERS.pawl",
		"actionlint.yaml":          ".github/actionlint.yaml",
	},
	"gitea": {
		"pawl.yml":                        ".gitea/workflows/pawl.yml",
		"pawl-report.yml":                 ".gitea/workflows/pawl-report.yml",
		"pawl-ratchet.yml":                ".gitea/workflows/pawl-ratchet.yml",
		"pawl-tune.yml":                   ".gitea/workflows/pawl-tune.yml",
		"../github/pull_request_template": ".gitea/pull_request_template.md",
	},
	"gitlab": {
		"pawl.gitlab-ci.yml":              ".gitlab/pawl.gitlab-ci.yml",
		"../github/pull_request_template": ".gitlab/merge_request_templates/Default.md",
	},
}

// Init writes the workflows into the repository that holds Dir, and returns their paths relative to
// its top folder. It writes all of them or, where one is somebody else's, none.
func Init(ctx context.Context, opts InitOptions) ([]string, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	root, err := git.Root(ctx, opts.Dir)
	if err != nil {
		return nil, err
	}
	files, err := fill(opts)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(files))
	var foreign []string
	for _, name := range names {
		switch mine, err := isOurs(filepath.Join(root, name)); {
		case err != nil:
			return nil, err
		case !mine && !opts.Force:
			foreign = append(foreign, name)
		}
	}
	if len(foreign) > 0 {
		return nil, fmt.Errorf("%s: not as pawl ci init wrote it; move it away, or replace it with --force", strings.Join(foreign, ", "))
	}
	for _, name := range names {
		target := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		if err := disk.Write(target, files[name]); err != nil {
			return nil, err
		}
	}
	return names, nil
}

var (
	labelForm  = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	branchForm = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
	urlForm    = pattern.New(`^(https|file)://[A-Za-z0-9._~:/?@%+=&-]+$`)
	sumForm    = pattern.New(`^[0-9a-f]{64}$`)
	wordForm   = pattern.New(`^[A-Za-z0-9._+-]+$`)
)

// check refuses values that could mean something else inside a workflow.
func (o InitOptions) check() error {
	switch {
	case !slices.Contains(Forges, o.Forge):
		return fmt.Errorf("forge %q: expected one of %s", o.Forge, strings.Join(Forges, ", "))
	case !labelForm.MatchString(o.Runner):
		return fmt.Errorf("--runner %q: expected one label, such as gpu or ubuntu-latest", o.Runner)
	case !branchForm.MatchString(o.Branch) || strings.Contains(o.Branch, ".."):
		return fmt.Errorf("--default-branch %q: expected the name of a branch, such as main", o.Branch)
	case o.URL == "":
		return errors.New("this pawl does not know where its releases are: name the file that runners install, --url https://…/pawl-linux-amd64")
	case !urlForm.MatchString(o.URL):
		return fmt.Errorf("--url %q: expected https://…", o.URL)
	case !sumForm.MatchString(o.SHA256):
		return fmt.Errorf("--sha256 %q: expected 64 hexadecimal digits", o.SHA256)
	case !wordForm.MatchString(o.Version):
		return fmt.Errorf("version %q: expected digits and dots", o.Version)
	}
	return nil
}

// Hosted reports whether a label names runners that the forge itself has.
func Hosted(label string) bool {
	for _, start := range []string{"ubuntu-", "windows-", "macos-"} {
		if strings.HasPrefix(label, start) {
			return true
		}
	}
	return false
}

// fill returns the files of a forge, each with its mark.
func fill(o InitOptions) (map[string][]byte, error) {
	values := map[string]any{
		"Runner": o.Runner, "Branch": o.Branch, "Remote": "origin/" + o.Branch,
		"Version": fmt.Sprintf("%q", o.Version), "URL": o.URL, "SHA256": o.SHA256,
		"Hosted": "ubuntu-latest", "RunsOn": "[self-hosted, " + o.Runner + "]", "Labels": []string{o.Runner},
		"Archive": claim.DefaultLimits().Archive,
	}
	if o.Forge == "github" && strings.HasSuffix(o.URL, "-arm64") {
		values["Hosted"] = "ubuntu-24.04-arm" // all jobs install the same file
	}
	if Hosted(o.Runner) {
		values["RunsOn"], values["Labels"] = o.Runner, nil
	}
	for name, pin := range pins[o.Forge] {
		values[name] = pin
	}
	files := map[string][]byte{}
	for source, target := range targets[o.Forge] {
		if !strings.Contains(path.Base(source), ".") {
			source += ".md"
		}
		at := path.Join("templates", o.Forge, source)
		parsed, err := template.New(path.Base(at)).Delims("<<", ">>").ParseFS(templates, at, "templates/github/parts.tmpl")
		if err != nil {
			return nil, fmt.Errorf("template %s: %w", at, err)
		}
		var text bytes.Buffer
		if err := parsed.Execute(&text, values); err != nil {
			return nil, fmt.Errorf("template %s: %w", at, err)
		}
		files[target] = mark(target, text.Bytes())
	}
	return files, nil
}

// mark puts a first line before a file by which isOurs knows it, as long as nobody edits it.
func mark(name string, text []byte) []byte {
	begin, end := "# ", "\n"
	if path.Ext(name) == ".md" {
		begin, end = "<!-- ", " -->\n"
	}
	return append([]byte(begin+markWords+sum(text)+end), text...)
}

const markWords = "Written by pawl ci init, which replaces it while it is unedited: "

func sum(text []byte) string { return fmt.Sprintf("%.8x", sha256.Sum256(text)) }

// isOurs reports whether a file may be replaced: it is not there, or is as mark made it.
func isOurs(name string) (bool, error) {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return false, err
	}
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	_, after, ok := bytes.Cut(first, []byte(markWords))
	return ok && bytes.HasPrefix(after, []byte(sum(rest))), nil
}
