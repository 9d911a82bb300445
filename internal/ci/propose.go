package ci

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pawl/internal/claim"
	"pawl/internal/diag"
	"pawl/internal/forge"
	"pawl/internal/git"
	"pawl/internal/spec"
)

// Files of a search's artifact, beside its report.
const (
	PatchName       = "pawl.patch"
	SuggestionsName = "suggestions.md"
)

// maxPatch is the most that a patch of defaults may hold, and maxSuggestions what a pull request shows of the rest.
const (
	maxPatch       = 1 << 20
	maxSuggestions = 40_000
)

// ProposeOptions say what a pull request is opened for.
type ProposeOptions struct {
	Report string        // of pawl tune: the folder or zip with its patch and its suggestions
	Spec   string        // pawl.yaml in a clone of the repository
	Branch string        // that the change is for
	Remote string        // as the clone names it
	Forge  forge.Options // where the pull request is opened
	Token  string        // that may push over HTTP; "": the clone's own way
	URL    string        // of the job's run; "": none
	DryRun bool          // nothing is pushed
}

// Proposed is what became of a search's suggestion.
type Proposed struct {
	Changes []string // defaults: "gemm: BLOCK_M 128, was 64"; none: there was nothing to propose
	Commit  string
	Branch  string // that has the commit
	Pull    *forge.Pull
}

// Propose opens a draft pull request with the defaults that a search in another job suggests. That job's patch is
// untrusted data. It is applied to the branch's newest commit. It is refused if it changes anything but the defaults
// of params in pawl.yaml. Nothing of the repository is built or run. A suggestion that was proposed before is not
// proposed again.
func Propose(ctx context.Context, opts ProposeOptions) (*Proposed, error) {
	limits := claim.DefaultLimits()
	artifact, err := claim.Read(opts.Report, limits, PatchName, SuggestionsName)
	if err != nil {
		return nil, err
	}
	patch := artifact.Attachments[PatchName]
	switch {
	case len(strings.TrimSpace(string(patch))) == 0:
		return &Proposed{}, nil
	case len(patch) > maxPatch:
		return nil, &diag.Problem{Pos: diag.Pos{File: opts.Report}, Message: fmt.Sprintf("%s has %d bytes, more than the %d allowed", PatchName, len(patch), maxPatch), Hint: "a patch of defaults is a few lines"}
	}
	dir, file := filepath.Split(opts.Spec)
	dir = cmp.Or(dir, ".")
	remote := git.Remote{Dir: dir, Name: opts.Remote, Token: opts.Token}
	tip, err := remote.Tip(ctx, opts.Branch)
	if err != nil {
		return nil, err
	}
	made, err := opts.commit(ctx, dir, file, tip, patch)
	if err != nil || len(made.Changes) == 0 || opts.DryRun {
		return made, err
	}
	at, err := forge.New(opts.Forge)
	if err != nil {
		return nil, err
	}
	if before, err := remote.Tip(ctx, made.Branch); err == nil {
		made.Commit = before // proposed before: its pull request may be open
	} else if err := remote.Push(ctx, made.Commit, made.Branch); err != nil {
		return nil, err
	}
	made.Pull, err = at.Open(ctx, forge.Proposal{
		Title: title(made.Changes), Text: opts.text(made.Changes, artifact.Attachments[SuggestionsName]),
		Head: made.Branch, Base: opts.Branch, SHA: made.Commit, Draft: true,
	})
	if err != nil {
		hint := "open it by hand, or give pawl a token that may"
		if opts.Forge.Kind == forge.GitHub && opts.Forge.App == nil {
			hint = "open it by hand; a job's own token may not, so let an App do it: PAWL_APP_ID and PAWL_APP_KEY, as docs/ci.md shows"
		}
		return nil, &diag.Problem{Message: fmt.Sprintf("branch %s has the change, but no pull request could be opened: %v", made.Branch, err), Hint: hint}
	}
	return made, nil
}

// commit applies the patch to the tip of the branch and commits it, if it changes defaults and nothing else.
func (o ProposeOptions) commit(ctx context.Context, dir, file, tip string, patch []byte) (*Proposed, error) {
	refuse := func(format string, args ...any) error {
		return &diag.Problem{
			Pos: diag.Pos{File: o.Report}, Message: PatchName + ": " + fmt.Sprintf(format, args...),
			Hint: "the patch must be one of pawl tune --patch, for " + o.Branch + " as it is now; search again if that has changed",
		}
	}
	below, err := git.Prefix(ctx, dir)
	if err != nil {
		return nil, err
	}
	name := filepath.ToSlash(filepath.Join(below, file))
	bench, err := git.NewBench(ctx, dir, tip)
	if err != nil {
		return nil, err
	}
	defer bench.Close()
	target := filepath.Join(bench.Root, name)
	before, err := readRegular(target)
	if err != nil {
		return nil, refuse("%s has no %s: %v", o.Branch, name, err)
	}
	changed, err := bench.Apply(ctx, patch)
	if err != nil {
		return nil, refuse("%v", err)
	}
	if len(changed) != 1 || changed[0] != name {
		return nil, refuse("expected changes of %s alone, got %s", name, strings.Join(changed, ", "))
	}
	after, err := readRegular(target)
	if err != nil {
		return nil, refuse("%v", err)
	}
	made := &Proposed{}
	if made.Changes, err = spec.ChangedDefaults(name, before, after); err != nil {
		return nil, refuse("%v", err)
	}
	if len(made.Changes) == 0 {
		return made, nil
	}
	made.Branch = fmt.Sprintf("pawl/tune-%.6x", sha256.Sum256(append([]byte(name+"\x00"), after...)))
	made.Commit, err = bench.Commit(ctx, name, title(made.Changes)+"\n\n"+strings.Join(made.Changes, "\n")+"\n\nFound by pawl tune.\n")
	return made, err
}

// readRegular reads a file that is no link.
func readRegular(name string) ([]byte, error) {
	info, err := os.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}

// title is the subject of the commit and of the pull request.
func title(changes []string) string {
	kernel, _, _ := strings.Cut(changes[0], ":")
	for _, change := range changes {
		if other, _, _ := strings.Cut(change, ":"); other != kernel {
			return "perf: better default params"
		}
	}
	return "perf: better default params of " + kernel
}

// text is the pull request's. What the other job wrote stands in a fence, where it can neither mention anybody nor
// close an issue.
func (o ProposeOptions) text(changes []string, suggestions []byte) string {
	var b strings.Builder
	b.WriteString("A search has found better params. They become the defaults in `pawl.yaml`; nothing else changes. " +
		"The numbers are those of the job that searched: the checks of this pull request measure them again.\n\n")
	fence := func(text string) {
		b.WriteString("```\n" + strings.ReplaceAll(strings.TrimRight(text, "\n"), "`", "'") + "\n```\n")
	}
	fence(strings.Join(changes, "\n"))
	if o.URL != "" {
		b.WriteString("\n" + o.URL + " has the report, with plots and everything that was tried.\n")
	}
	if len(suggestions) > maxSuggestions {
		suggestions = append(suggestions[:maxSuggestions:maxSuggestions], "\n…"...)
	}
	if len(suggestions) > 0 {
		b.WriteString("\n<details><summary>" + SuggestionsName + "</summary>\n\n")
		fence(strings.ToValidUTF8(string(suggestions), "?"))
		b.WriteString("\n</details>\n")
	}
	return b.String()
}
