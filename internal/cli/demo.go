package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/demo"
	"pawl/internal/report"
	"pawl/internal/result"
	"pawl/internal/term"
)

func newDemo(e *env) *cobra.Command {
	var dir string
	var host bool
	cmd := &cobra.Command{
		Use: "demo", Short: "show pawl's verdicts on six example changes", GroupID: groupMachine, Args: cobra.NoArgs,
		Long: `demo makes a git repository with two example kernels, for the GPU if there is one, and
checks six changes to them: a first baseline, a harmless change, a comment, a different
launch, a planted slowdown and a real improvement.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), e, dir, host) },
	}
	cmd.Flags().StringVar(&dir, "dir", "", "keep the repository in this folder, which must be empty or new")
	cmd.Flags().BoolVar(&host, "host", false, "use the CPU, even if there is a GPU")
	return cmd
}

func runDemo(ctx context.Context, e *env, dir string, host bool) error {
	story, err := demo.Choose(ctx, host)
	if err != nil {
		return err
	}
	if dir, err = demoFolder(dir); err != nil {
		return err
	}
	if err := story.Begin(ctx, dir); err != nil {
		return err
	}
	t := &tale{env: e, self: called(), width: e.width(), check: func(c *demo.Chapter) (*result.Report, int, error) { return checkChapter(ctx, e, c, dir) }}
	return t.tell(story, dir)
}

// tale is how a demo is told: in at most 40 lines.
type tale struct {
	*env
	check func(*demo.Chapter) (*result.Report, int, error) // commits a change, checks it and shows its rows
	self  string                                           // how pawl is called
	width int                                              // of the terminal; 0: any

	shown, open, wrong []string // what chapters have shown, the numbers of those that were not decided, and what went wrong
}

func (t *tale) tell(story *demo.Story, dir string) error {
	began := time.Now()
	t.say("A story in six changes, in %s", relative(dir))
	for i := range story.Chapters {
		c := &story.Chapters[i]
		t.say("%s%s", strings.Repeat("\n", min(i, 1)), t.style().Bold(fmt.Sprintf("%d. %s", i+1, c.Title)))
		if err := c.Apply(dir); err != nil {
			return err
		}
		made, code, err := t.check(c)
		if err != nil {
			return err
		}
		if c.Want == result.Regression {
			for _, line := range report.Causes(made, 1, 2) {
				t.say("  %s", line)
			}
		}
		t.say("  exit code %d, %s", code, report.Result(made))
		switch got := verdictOf(made, story.Kernel); got {
		case c.Want:
			t.shown = append(t.shown, c.Shows)
		case result.Inconclusive:
			t.open = append(t.open, strconv.Itoa(i+1))
		default:
			t.wrong = append(t.wrong, fmt.Sprintf("%d. %s: expected %s, got %s", i+1, c.Title, c.Want, got))
		}
	}
	t.end(time.Since(began))
	t.say("Its history and reports in a browser:")
	// It is not wrapped, so that it can be copied.
	fmt.Fprintln(t.stdout, term.ShellLine(t.self, "serve", "-f", relative(filepath.Join(dir, "pawl.yaml"))))
	if len(t.wrong) > 0 {
		return &outcomeError{exitFailed, "the demo did not go as expected: " + strings.Join(t.wrong, "; ")}
	}
	return nil
}

// say writes a line that fits the terminal.
func (t *tale) say(format string, args ...any) {
	fmt.Fprintln(t.stdout, term.Wrap(fmt.Sprintf(format, args...), t.width))
}

// called returns how pawl was called. Who builds it and has not installed it calls it by its path.
func called() string {
	if strings.ContainsRune(os.Args[0], '/') {
		return os.Args[0]
	}
	return "pawl"
}

// end says what was shown, and what this machine was too busy for.
func (t *tale) end(took time.Duration) {
	text := fmt.Sprintf("Shown in %.0f s: %s", took.Seconds(), strings.Join(t.shown, ", "))
	if len(t.open) > 0 {
		text += "; not decided, because the machine was busy: change " + strings.Join(t.open, ", ")
	}
	t.say("\n%s.", text)
}

// demoFolder returns an empty folder, temporary unless it is named.
func demoFolder(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "pawl-demo-")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", usage("--dir %s: the folder is not empty", dir)
	}
	return filepath.Abs(dir)
}

// checkChapter commits a change and checks it, as any user would.
func checkChapter(ctx context.Context, e *env, c *demo.Chapter, dir string) (*result.Report, int, error) {
	if err := demo.Git(ctx, dir, []string{"add", "--all"}, []string{"commit", "--quiet", "--message", c.Commit}); err != nil {
		return nil, 0, err
	}
	opts := &checkOptions{}
	flags := pflag.NewFlagSet("check", pflag.ContinueOnError)
	opts.AddFlags(flags)
	words := []string{"--file", filepath.Join(dir, "pawl.yaml")}
	shown := "pawl check"
	if c.Update {
		words, shown = append(words, "--update-baseline"), shown+" --update-baseline"
	}
	if err := flags.Parse(words); err != nil {
		return nil, 0, err
	}
	fmt.Fprintf(e.stdout, "  $ git commit -m %q && %s\n", c.Commit, shown)
	opts.output.brief = true
	chapter := *e
	chapter.started, chapter.args = time.Now(), append([]string{"check"}, words...)
	made, err := runCheck(ctx, &chapter, opts, nil)
	if _, judged := errors.AsType[*outcomeError](err); err != nil && !judged {
		return nil, 0, err
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	var after [][]string
	if c.Update {
		after = append(after, []string{"add", "--all"}, []string{"commit", "--quiet", "--allow-empty", "--message", "the baseline [skip ci]"})
	}
	if c.Undo {
		after = append(after, []string{"reset", "--quiet", "--hard", "HEAD~1"})
	}
	return made, exitCode(err), demo.Git(ctx, dir, after...)
}

func verdictOf(r *result.Report, kernel string) result.Verdict {
	at := slices.IndexFunc(r.Rows, func(row *result.Row) bool { return row.Kernel == kernel })
	if at < 0 {
		return ""
	}
	return r.Rows[at].Verdict
}
