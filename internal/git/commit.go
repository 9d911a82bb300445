package git

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// remotesOf lists the remotes of the clone that holds dir.
func remotesOf(ctx context.Context, dir string) ([]string, error) {
	out, err := line(ctx, dir, "list the remotes of "+dir, "remote")
	return strings.Fields(out), err
}

// mainRemote returns the remote that is asked where nobody named one: origin or, where it
// has another name, the only one there is; "" where nothing says which.
func mainRemote(remotes []string) string {
	switch {
	case slices.Contains(remotes, "origin"):
		return "origin"
	case len(remotes) == 1:
		return remotes[0]
	}
	return ""
}

var errNoRemote = errors.New("it has no remote")

// fetch gets commits from the main remote and returns its name, and the remotes that were not asked.
// Without commits it fetches what the clone follows.
func fetch(ctx context.Context, dir, depth string, shas ...string) (remote string, silent []string, err error) {
	remotes, err := remotesOf(ctx, dir)
	if err != nil {
		return "", nil, err
	}
	remote = mainRemote(remotes)
	silent = slices.DeleteFunc(slices.Clone(remotes), func(other string) bool { return other == remote })
	switch {
	case remote != "":
		err = fetchFrom(ctx, dir, remote, depth, shas...)
	case len(remotes) == 0:
		err = errNoRemote
	default:
		err = fmt.Errorf("none of its remotes (%s) is called origin", strings.Join(remotes, ", "))
	}
	return remote, silent, err
}

// fetchFrom leaves no trace but objects: no tags, no FETCH_HEAD, no submodules. depth
// is an option, or empty.
func fetchFrom(ctx context.Context, dir, remote, depth string, shas ...string) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"}
	if depth != "" {
		args = append(args, depth)
	}
	_, err := work(ctx, dir, append(append(args, remote), shas...)...)
	return err
}

// depthOf returns how much of the history to fetch: in a complete clone a depth would make it
// shallow.
func depthOf(shallow bool) string {
	if shallow {
		return "--depth=1"
	}
	return ""
}

// NamedBase returns where the working tree that holds dir left a named branch, tag or commit. A ref
// that the clone does not have is fetched; a clone of a single branch, for example, does not have
// main.
func NamedBase(ctx context.Context, dir, ref string) (Base, error) {
	sha, err := Resolve(ctx, dir, ref)
	if missing, ok := errors.AsType[*NoCommitError](err); ok {
		sha, err = fetchNamed(ctx, dir, missing)
	}
	if err == nil {
		sha, err = MergeBase(ctx, dir, "HEAD", sha)
	}
	if err != nil {
		return Base{}, err
	}
	return Base{Ref: ref, SHA: sha}, nil
}

// fetchNamed fetches a ref that this clone does not have.
func fetchNamed(ctx context.Context, dir string, missing *NoCommitError) (string, error) {
	ref := missing.Commit
	if fullHash.MatchString(ref) {
		return ref, Fetch(ctx, dir, ref)
	}
	remote, name, err := remoteOf(ctx, dir, ref)
	if err != nil {
		return "", err
	}
	if name == "" || remote == "" {
		missing.Others = branches(ctx, dir)
		return "", missing
	}
	missing.Remote = remote
	sha, err := tipOf(ctx, dir, remote, name)
	if err == nil && sha == "" {
		missing.Absent, missing.Others = true, append(branches(ctx, dir), remoteBranches(ctx, dir, remote)...)
		return "", missing
	}
	if err == nil {
		err = fetchFrom(ctx, dir, remote, depthOf(missing.Shallow), sha)
	}
	if err == nil {
		return sha, nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	missing.Cause = err
	return "", missing
}

// remoteOf returns the branch or tag of a remote that a name may mean; none where it is no plain
// name (HEAD~2), or there is no remote to ask.
func remoteOf(ctx context.Context, dir, ref string) (remote, name string, err error) {
	if ref == "" || strings.HasPrefix(ref, "\"") || strings.ContainsAny(ref, "~^:?*[\\ ") || strings.Contains(ref, "@{") {
		return "", "", nil
	}
	remotes, err := remotesOf(ctx, dir)
	if err != nil {
		return "", "", err
	}
	for _, prefix := range []string{"refs/remotes/", "refs/heads/", "refs/tags/"} {
		ref = strings.TrimPrefix(ref, prefix)
	}
	for _, remote := range remotes {
		if name, ok := strings.CutPrefix(ref, remote+"/"); ok {
			return remote, name, nil
		}
	}
	return mainRemote(remotes), ref, nil
}

// tipOf asks a remote for the commit of a branch or else a tag; "" where it has neither.
func tipOf(ctx context.Context, dir, remote, name string) (string, error) {
	wanted := []string{"refs/heads/" + name, "refs/tags/" + name + "^{}", "refs/tags/" + name}
	out, err := work(ctx, dir, append([]string{"ls-remote", "--quiet", remote}, wanted...)...)
	if err != nil {
		return "", err
	}
	tips := map[string]string{}
	for line := range strings.Lines(out) {
		sha, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		tips[ref] = sha
	}
	for _, ref := range wanted {
		if tips[ref] != "" {
			return tips[ref], nil
		}
	}
	return "", nil
}

// branches returns the branch names of this clone, to suggest for a mistyped one.
func branches(ctx context.Context, dir string) []string {
	out, err := run(ctx, dir, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
	if err != nil {
		return nil
	}
	return strings.Fields(out)
}

func remoteBranches(ctx context.Context, dir, remote string) []string {
	out, err := work(ctx, dir, "ls-remote", "--quiet", "--heads", remote)
	if err != nil {
		return nil
	}
	var names []string
	for line := range strings.Lines(out) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "\trefs/heads/"); ok {
			names = append(names, name, remote+"/"+name)
		}
	}
	return names
}

// ErrNoCommit matches every NoCommitError.
var ErrNoCommit = errors.New("no such commit")

// NoCommitError is a requested commit that is not available.
type NoCommitError struct {
	Commit  string // its hash, or the name it was asked for by
	Shallow bool   // the clone is shallow, so the commit may exist elsewhere
	Cause   error  // why it could not be fetched; nil: nobody tried

	Remote string   // the remote that was asked; empty: there was none
	Silent []string // remotes that were not asked
	Absent bool     // it has no branch or tag of that name
	Others []string // existing names, when the requested one may be mistyped
}

// Error says what is missing, and what was tried.
func (e *NoCommitError) Error() string {
	var b strings.Builder
	if fullHash.MatchString(e.Commit) {
		fmt.Fprintf(&b, "commit %s is not in this clone", Short(e.Commit))
	} else {
		fmt.Fprintf(&b, "%s is not in this clone", e.Commit)
	}
	if e.Shallow {
		b.WriteString(" (it is shallow)")
	}
	switch {
	case e.Absent:
		fmt.Fprintf(&b, ", and %s has no branch or tag of that name", e.Remote)
	case e.Cause != nil && e.Remote != "":
		fmt.Fprintf(&b, " and could not be fetched from %s: %v", e.Remote, e.Cause)
	case e.Cause != nil:
		fmt.Fprintf(&b, " and could not be fetched: %v", e.Cause)
	}
	return b.String()
}

// Hint says what to do about it.
func (e *NoCommitError) Hint() string {
	switch {
	case e.Absent || e.Others != nil && !e.Shallow:
		return "git branch --all lists the branches"
	case e.Shallow:
		return "git fetch --unshallow; in a GitHub workflow: actions/checkout with fetch-depth: 0"
	}
	return "git fetch, or push the branch that has it"
}

// Is makes every NoCommitError an ErrNoCommit.
func (e *NoCommitError) Is(target error) bool { return target == ErrNoCommit }

// Unwrap returns why it could not be fetched.
func (e *NoCommitError) Unwrap() error { return e.Cause }

// Gone reports whether nobody is left who may have the commit: the only remote says that it does
// not have it, or the clone is complete and has no remote. An unreachable remote or a full disk
// proves nothing.
func (e *NoCommitError) Gone() bool {
	if errors.Is(e.Cause, errNoRemote) {
		return !e.Shallow
	}
	var answer *failure
	if len(e.Silent) > 0 || !errors.As(e.Cause, &answer) {
		return false
	}
	return unknown.MatchString(answer.message) || !e.Shallow && unadvertised.MatchString(answer.message)
}

var (
	// unknown matches a server's answer that it does not have a commit.
	unknown = regexp.MustCompile(`not our ref`)
	// unadvertised matches the answer of servers that hand out only the tips of branches: the
	// commit may be in the history that a shallow clone lacks.
	unadvertised = regexp.MustCompile(`unadvertised object|want [0-9a-f]+ not valid`)
)

var fullHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// Short returns a hash in the form for people.
func Short(sha string) string {
	if fullHash.MatchString(sha) {
		return sha[:7]
	}
	return sha
}

// Resolve returns the hash of the commit that ref names: a branch, a tag, HEAD~2.
func Resolve(ctx context.Context, dir, ref string) (string, error) {
	if ref == "" || strings.ContainsAny(ref[:1], "-^") { // git would take it for an option, or for all but that
		return "", &NoCommitError{Commit: fmt.Sprintf("%q", ref)}
	}
	out, err := run(ctx, dir, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	switch {
	case err == nil:
		return strings.TrimSpace(out), nil
	case foundNothing(err):
		shallow, _ := IsShallow(ctx, dir)
		return "", &NoCommitError{Commit: ref, Shallow: shallow}
	}
	return "", fmt.Errorf("look for commit %s: %w", ref, err)
}

// IsShallow reports whether the clone that holds dir has only a part of the history.
func IsShallow(ctx context.Context, dir string) (bool, error) {
	out, err := line(ctx, dir, "inspect the repository of "+dir, "rev-parse", "--is-shallow-repository")
	return out == "true", err
}

// Ensure makes sure that a commit is in the clone, fetching it from its remote when
// it is not.
func Ensure(ctx context.Context, dir, sha string) error {
	_, err := Resolve(ctx, dir, sha)
	if errors.Is(err, ErrNoCommit) {
		return Fetch(ctx, dir, sha)
	}
	return err
}

// Fetch gets one commit, named by its whole hash, from the main remote.
func Fetch(ctx context.Context, dir, sha string) error {
	if !fullHash.MatchString(sha) {
		return &NoCommitError{Commit: fmt.Sprintf("%q", sha), Cause: errors.New("that is not a full hash")}
	}
	shallow, err := IsShallow(ctx, dir)
	if err != nil {
		return err
	}
	remote, silent, err := fetch(ctx, dir, depthOf(shallow), sha)
	if err == nil {
		_, err = Resolve(ctx, dir, sha)
	}
	if err != nil && ctx.Err() == nil {
		return &NoCommitError{Commit: sha, Shallow: shallow, Remote: remote, Silent: silent, Cause: err}
	}
	return err
}
