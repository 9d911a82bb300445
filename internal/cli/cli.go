// Package cli is pawl's command line. Each command has one file with an options struct, its flags
// and a run function. The exit codes are in one place.
package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/diag"
	"pawl/internal/pattern"
	"pawl/internal/result"
	"pawl/internal/term"
)

// version and commit are set by the linker.
var (
	version = "0.1.0"
	commit  = ""
)

// env is the environment of every command.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	args           []string // as the user wrote them
	started        time.Time
	database       string // address of the history, with its password; "": none is set
	serveToken     string // what visitors of pawl serve must have; "": none is set
	told           bool   // the terminal shows a report, whose last line says what it came to
}

func (e *env) tool() result.Tool { return result.Tool{Version: version, Commit: commit} }

func (e *env) style() term.Style { return term.Style{Color: term.ColorEnabled(e.stdout)} }

// table returns an empty table for stdout.
func (e *env) table(columns ...term.Column) *term.Table {
	return &term.Table{Indent: 2, HeaderStyle: e.style().Dim, Columns: columns, Width: e.width()}
}

func (e *env) width() int { return widthOf(e.stdout) }

// widthOf returns the columns of a terminal; 0 where w is none, and nothing is to be wrapped or left
// out.
func widthOf(w io.Writer) int {
	if !term.IsTerminal(w) {
		return 0
	}
	return term.Width(w)
}

func left(header string) term.Column { return term.Column{Header: header} }

func right(header string) term.Column { return term.Column{Header: header, Align: term.Right} }

// ranked gives a column a rank: where a terminal is narrow, columns of a lower rank stay.
func ranked(rank int, column term.Column) term.Column {
	column.Rank = rank
	return column
}

// words is a last column of sentences.
func words(header string) term.Column { return term.Column{Header: header, Words: true} }

// command returns the command line, as the report keeps it.
func (e *env) command() []string { return append([]string{"pawl"}, e.args...) }

// withFlags returns a command with the flags of its options.
func withFlags(cmd *cobra.Command, opts interface{ AddFlags(f *pflag.FlagSet) }) *cobra.Command {
	opts.AddFlags(cmd.Flags())
	return cmd
}

func printJSON(e *env, v any) error {
	enc := json.NewEncoder(e.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// warn writes a message to stderr that is not part of the command's data.
func (e *env) warn(format string, args ...any) { say(e.stderr, "pawl: "+format+"\n", args...) }

func (e *env) hint(format string, args ...any) { say(e.stderr, "hint: "+format+"\n", args...) }

// print writes sentences to stdout.
func (e *env) print(format string, args ...any) { say(e.stdout, format, args...) }

// say writes sentences, wrapped where w is a terminal: files and pipes have whole lines.
func say(w io.Writer, format string, args ...any) {
	fmt.Fprint(w, term.Wrap(fmt.Sprintf(format, args...), widthOf(w)))
}

// databaseVariable names the history of a team.
const databaseVariable = "PAWL_DB"

// Run parses args, runs the command and returns the exit code.
func Run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args []string) int {
	e := &env{stdin: stdin, stdout: stdout, stderr: stderr, args: args, started: time.Now()}
	// No process that pawl starts may have the password: compilers and kernels are somebody else's code.
	e.database = os.Getenv(databaseVariable)
	_ = os.Unsetenv(databaseVariable)
	e.serveToken = os.Getenv(serveTokenVariable)
	_ = os.Unsetenv(serveTokenVariable)
	root := newRoot(e)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	e.explain(err)
	return exitCode(err)
}

const longHelp = `pawl lets GPU-kernel performance turn one way only: forward.

It builds kernels described in pawl.yaml, runs them in sandboxed cells and
measures them. Selectors are kernel[/config], globs allowed.`

const exitHelp = `
Exit codes:
  0    everything passed
  1    a kernel is slower, wrong, broken or not to be trusted
  2    nothing was decided
  3    nothing could be judged: bad input, no compiler, no device
  130  interrupted; what was measured so far is kept
`

// ciExitHelp is for commands that judge no kernel.
const ciExitHelp = `
Exit codes:
  0    done
  1    no: settings are open, the job is refused, the report failed
  3    not done, and the message says why
  130  interrupted
`

// exitsOf returns what the help of a command says of exit codes; "": its description does.
func exitsOf(cmd *cobra.Command) string {
	switch {
	case strings.Contains(cmd.Long, "Exit code 0:"):
		return ""
	case cmd.Name() == "ci" || cmd.HasParent() && cmd.Parent().Name() == "ci":
		return ciExitHelp
	}
	return exitHelp
}

func newRoot(e *env) *cobra.Command {
	root := &cobra.Command{
		Use: "pawl", Short: "performance that turns one way only", Long: longHelp,
		Version: version, SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.AddGroup(
		&cobra.Group{ID: groupDaily, Title: "Every day:"},
		&cobra.Group{ID: groupMemory, Title: "Memory:"},
		&cobra.Group{ID: groupMachine, Title: "This machine:"},
	)
	root.SetHelpCommandGroupID(groupMachine)
	cobra.AddTemplateFunc("exits", exitsOf)
	root.SetUsageTemplate(root.UsageTemplate() + "{{exits .}}")
	fitHelp(root, e.width())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if invalid, found := errors.AsType[*pflag.InvalidValueError](err); found && expected[invalid.GetFlag().Value.Type()] != "" {
			err = fmt.Errorf("--%s %s: expected %s", invalid.GetFlag().Name, invalid.GetValue(), expected[invalid.GetFlag().Value.Type()])
			if meant := durationMeant(invalid.GetValue()); meant != "" && invalid.GetFlag().Value.Type() == "duration" {
				err = fmt.Errorf("%w; did you mean %s?", err, meant)
			}
		}
		return &usageError{fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())}
	})
	root.AddCommand(
		newInit(e), newCheck(e), newBench(e), newFuzz(e), newCompare(e), newProfile(e), newTune(e), newAdvise(e), newBisect(e),
		newBaseline(e), newHistory(e), newServe(e), newCI(e),
		newDoctor(e), newCalibrate(e), newSelftest(e), newDemo(e), newBuild(e), newWorker(e), newCell(e), newManual(e),
	)
	complete(root)
	return root
}

// unitWord matches a number and what people call the unit behind it.
var unitWord = pattern.New(`^([0-9.]+) ?(s|m|h|)(?:ecs?|econds?|ins?|inutes?|ours?|rs?|)$`)

// durationMeant returns the duration that a text without a unit, or with another word for it, may
// mean; "" where there is none.
func durationMeant(text string) string {
	m := unitWord.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	meant := m[1] + cmp.Or(m[2], "s")
	if _, err := time.ParseDuration(meant); err != nil {
		return ""
	}
	return meant
}

// expected describes the values of flags, by their types.
var expected = map[string]string{
	"uint64": "a whole number, 0 or more", "int": "a whole number", "duration": "a time such as 500ms or 10s", "bool": "true or false",
}

const (
	groupDaily   = "daily"
	groupMemory  = "memory"
	groupMachine = "machine"
)

// explain writes the error to stderr, with every problem's place and hint.
func (e *env) explain(err error) {
	var outcome *outcomeError
	var fault *result.Fault
	switch {
	case err == nil:
	case errors.As(err, &outcome):
		if outcome.message != "" && !e.told {
			e.warn("%s", outcome.message)
		}
	case diag.Problems(err) != nil:
		problems := diag.Problems(err)
		for i, p := range problems {
			if i > 0 {
				fmt.Fprintln(e.stderr)
			}
			e.warn("%s", p.Detail())
		}
		if n := len(problems); n > 1 {
			e.warn("%d problems", n)
		}
	case errors.As(err, &fault):
		e.warn("%s", err)
		if fault.Hint != "" {
			e.hint("%s", fault.Hint)
		}
	case errors.Is(err, context.Canceled):
		e.warn("interrupted")
	default:
		text := err.Error()
		_, likely, _ := strings.Cut(text, "Did you mean this?\n\t") // by cobra
		likely, _, _ = strings.Cut(likely, "\n")
		if word, isUnknown := strings.CutPrefix(text, "unknown command "); isUnknown {
			text = "unknown command " + strings.SplitN(word, "\n", 2)[0]
		}
		e.warn("%s", text)
		_, isUsage := errors.AsType[*usageError](err)
		switch {
		case isUsage || !strings.HasPrefix(text, "unknown command"):
		case strings.HasPrefix(text, `unknown command "version"`):
			e.hint("use pawl --version")
		case likely != "":
			e.hint("did you mean %s? pawl --help lists the commands", likely)
		default:
			e.hint("pawl --help lists the commands")
		}
	}
}
