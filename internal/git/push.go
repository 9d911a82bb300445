package git

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Remote is a repository that commits are pushed to.
type Remote struct {
	Dir   string // a clone of it
	Name  string // as the clone names it
	Token string // for HTTP; "": none
}

// env gives git the token where nobody else can read it: not in arguments, and not in a file.
func (r Remote) env() []string {
	if r.Token == "" {
		return nil
	}
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + r.Token))
	return []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic " + basic}
}

func (r Remote) work(ctx context.Context, doing string, args ...string) error {
	if err := command(ctx, slowPatience, r.Dir, r.env(), nil, io.Discard, args...); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// Tip fetches a branch and returns its last commit.
func (r Remote) Tip(ctx context.Context, branch string) (string, error) {
	doing := fmt.Sprintf("fetch %s from %s", branch, r.Name)
	if err := r.work(ctx, doing, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", r.Name, "refs/heads/"+branch); err != nil {
		return "", err
	}
	return line(ctx, r.Dir, doing, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
}

// Push makes a commit the last one of a branch that must have grown to it. It never forces.
func (r Remote) Push(ctx context.Context, sha, branch string) error {
	return r.work(ctx, fmt.Sprintf("push to %s of %s", branch, r.Name), "push", "--quiet", r.Name, sha+":refs/heads/"+branch)
}

// Bench is a working tree of a commit that can be changed and committed.
type Bench struct {
	Root       string
	repository string
}

// NewBench checks a commit out into a folder of its own.
func NewBench(ctx context.Context, dir, sha string) (*Bench, error) {
	return newBench(ctx, dir, sha)
}

// NewRaw is NewBench for a commit that a stranger wrote: files are as the commit has them. Its
// attributes choose among the filters that are configured here (Git LFS is on many machines), and
// these programs would run with this process's environment. A commit that is not in the clone is
// fetched.
func NewRaw(ctx context.Context, dir, sha string) (*Bench, error) {
	if err := Ensure(ctx, dir, sha); err != nil {
		return nil, fmt.Errorf("check out commit %s: %w", Short(sha), err)
	}
	configured, err := run(ctx, dir, "config", "-z", "--name-only", "--get-regexp", `^filter\..*\.(smudge|process|required)$`)
	if err != nil && !foundNothing(err) {
		return nil, fmt.Errorf("list the filters of %s: %w", dir, err)
	}
	var options []string
	for _, name := range strings.FieldsFunc(configured, func(r rune) bool { return r == 0 }) {
		value := ""
		if strings.HasSuffix(name, ".required") {
			value = "false"
		}
		options = append(options, "-c", name+"="+value)
	}
	return newBench(ctx, dir, sha, options...)
}

func newBench(ctx context.Context, dir, sha string, options ...string) (*Bench, error) {
	parent, err := os.MkdirTemp("", "pawl-*")
	if err != nil {
		return nil, err
	}
	b := &Bench{Root: filepath.Join(parent, "tree"), repository: dir}
	if _, err := work(ctx, dir, append(options, "worktree", "add", "--quiet", "--detach", b.Root, sha)...); err != nil {
		_ = os.RemoveAll(parent)
		return nil, fmt.Errorf("check out commit %s: %w", Short(sha), err)
	}
	return b, nil
}

// Close removes the tree. Its commits stay.
func (b *Bench) Close() {
	_, _ = work(context.Background(), b.repository, "worktree", "remove", "--force", b.Root)
	_ = os.RemoveAll(filepath.Dir(b.Root))
}

// Apply applies a patch to the tree. It returns the files that it has changed, of which none is new, gone, a link or
// of another mode: such a patch is refused.
func (b *Bench) Apply(ctx context.Context, patch []byte) ([]string, error) {
	const doing = "apply the patch"
	if err := stream(ctx, slowPatience, b.Root, bytes.NewReader(patch), io.Discard, "apply", "--index", "--whitespace=nowarn", "-"); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	out, err := run(ctx, b.Root, "diff", "--cached", "--raw", "-z", "--no-renames", "HEAD")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	var changed []string
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		words := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(words) != 5 || words[4] != "M" || words[0] != words[1] || !strings.HasPrefix(words[0], "100") {
			return nil, fmt.Errorf("%s: expected changes of what is in files, and %s is made, removed or of another kind", doing, fields[i+1])
		}
		changed = append(changed, fields[i+1])
	}
	return changed, nil
}

// Commit commits one folder of the tree, and nothing else. It returns the commit; "": nothing there
// has changed.
func (b *Bench) Commit(ctx context.Context, folder, message string) (string, error) {
	doing := "commit " + folder
	if _, err := work(ctx, b.Root, "add", "--all", "--force", "--", folder); err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	changed, err := run(ctx, b.Root, "diff", "--cached", "--name-only", "--", folder)
	if err != nil || strings.TrimSpace(changed) == "" {
		return "", err
	}
	who := []string{"-c", "user.name=pawl", "-c", "user.email=pawl@users.noreply.localhost"}
	if _, err := work(ctx, b.Root, append(who, "-c", "commit.gpgsign=false", "commit", "--quiet", "--no-verify", "--message", message, "--", folder)...); err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	return line(ctx, b.Root, doing, "rev-parse", "HEAD")
}
