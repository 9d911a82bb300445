package worker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/sandbox"
	"pawl/internal/worker/wire"
)

// A stand-in for compute-sanitizer: it records its arguments, starts the rest as a child with its
// own folder and pipe in TMPDIR, as the real one does, and writes a summary once the child has
// ended.
const fakeSanitizer = `#!/bin/sh
log=
options="$*"
while [ $# -gt 0 ]; do
	case "$1" in
	--log-file) log="$2"; shift 2 ;;
	--*) shift 2 ;;
	*) break ;;
	esac
done
echo "========= COMPUTE-SANITIZER" >"$log"
mkdir "$TMPDIR/tracker" && mkfifo "$TMPDIR/tracker/pipe" || exit 3
"$@"
status=$?
{
	echo "========= Options $options"
	echo "========= Transport $NV_COMPUTE_SANITIZER_LOCAL_CONNECTION_OVERRIDE, tool $PAWL_CELL_SANITIZER"
	echo "========= The cell ended with $status"
	echo "========= ERROR SUMMARY: 0 errors"
} >>"$log"
`

func writeSanitizer(t *testing.T, dir, text string) string {
	t.Helper()
	path := filepath.Join(dir, "compute-sanitizer")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func openSanitized(t *testing.T, c *Client, mode string) *Cell {
	t.Helper()
	sha, err := c.Upload(t.Context(), []byte("honest"))
	if err != nil {
		t.Fatal(err)
	}
	cell, err := c.Open(t.Context(), wire.Open{Cell: "host", Sandbox: mode, Sanitizer: "racecheck"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cell.Load(t.Context(), wire.Load{SHA256: sha}); err != nil {
		t.Fatal(err)
	}
	return cell
}

// A cell under a sanitizer keeps its descriptors and ends by itself, and what the tool writes after
// that is in the reply about its end.
func TestSanitizedCell(t *testing.T) {
	t.Setenv("PAWL_SANITIZER", writeSanitizer(t, t.TempDir(), fakeSanitizer))
	c := connect(t)
	for _, mode := range []string{"auto", "off"} {
		t.Run(mode, func(t *testing.T) {
			cell := openSanitized(t, c, mode)
			if _, err := cell.Sample(t.Context(), wire.Sample{Count: 3, Repeat: 1}); err != nil {
				t.Fatal(err)
			}
			closed, err := cell.Close(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"COMPUTE-SANITIZER", "Options --tool racecheck --log-file ", "Transport uds, tool racecheck", "The cell ended with 0", "ERROR SUMMARY: 0 errors"} {
				if !strings.Contains(closed.Sanitizer, want) {
					t.Errorf("no %q in\n%s", want, closed.Sanitizer)
				}
			}
			if len(closed.Sandbox.Attempts) > 0 {
				t.Errorf("the sandbox refused %v", closed.Sandbox.Attempts)
			}
		})
	}
}

// The tool's output about a cell that died comes with the fault.
func TestSanitizedCellThatEnds(t *testing.T) {
	t.Setenv("PAWL_SANITIZER", writeSanitizer(t, t.TempDir(), strings.Replace(fakeSanitizer, `"$@"`, `exit 86`, 1)))
	c := connect(t)
	_, err := c.Open(t.Context(), wire.Open{Cell: "host", Sandbox: "auto", Sanitizer: "memcheck"})
	failed, ok := err.(*Failed) //nolint:errorlint // the client returns it as it is
	if !ok || !failed.CellEnded || !strings.Contains(failed.Sanitizer, "COMPUTE-SANITIZER") {
		t.Errorf("got %#v", err)
	}
}

func TestSanitizerThatIsNotThere(t *testing.T) {
	t.Setenv("PAWL_SANITIZER", filepath.Join(t.TempDir(), "nothing"))
	c := connect(t)
	_, err := c.Open(t.Context(), wire.Open{Cell: "host", Sandbox: "auto", Sanitizer: "memcheck"})
	if causeOf(err) != result.CauseUnsupported {
		t.Errorf("got %v", err)
	}
}

func TestUnknownSanitizerTool(t *testing.T) {
	t.Setenv("PAWL_SANITIZER", writeSanitizer(t, t.TempDir(), fakeSanitizer))
	c := connect(t)
	_, err := c.Open(t.Context(), wire.Open{Cell: "host", Sandbox: "auto", Sanitizer: "leakcheck"})
	if causeOf(err) != result.CauseProtocol {
		t.Errorf("got %v", err)
	}
}

func TestFindSanitizer(t *testing.T) {
	t.Setenv("PAWL_SANITIZER", "")
	t.Setenv("CUDA_PATH", "")
	home := t.TempDir()
	script := writeSanitizer(t, filepath.Join(home, "bin"), "#!/bin/sh\n")
	t.Setenv("PATH", filepath.Join(home, "bin"))
	if got, err := findSanitizer(); err != nil || got != script {
		t.Errorf("on PATH: %s, %v", got, err)
	}
	tool := writeSanitizer(t, filepath.Join(home, "compute-sanitizer"), "#!/bin/sh\n")
	if got, err := findSanitizer(); err != nil || got != tool {
		t.Errorf("a script on PATH beside the tool: %s, %v", got, err)
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CUDA_HOME", home)
	if got, err := findSanitizer(); err != nil || got != tool {
		t.Errorf("in CUDA_HOME: %s, %v", got, err)
	}
}

func TestSanitizedProgram(t *testing.T) {
	p := &program{path: "/opt/pawl", args: []string{"/opt/pawl", "cell", "cuda"}, env: []string{"HOME=/scratch"}, policy: sandbox.Policy{Read: []string{"/usr"}}}
	if err := p.sanitize("/cuda/compute-sanitizer/compute-sanitizer", "memcheck", "/scratch"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/cuda/compute-sanitizer/compute-sanitizer", "--tool", "memcheck", "--log-file", "/scratch/sanitizer.log", "--error-exitcode", "86",
		"--target-processes", "application-only", "--launch-timeout", "60", "--show-backtrace", "device", "--report-api-errors", "no",
		"/opt/pawl", "cell", "cuda",
	}
	if !slices.Equal(p.args, want) || p.path != want[0] {
		t.Errorf("%s %q", p.path, p.args)
	}
	if !p.policy.Processes || !p.policy.Peers || !slices.Contains(p.policy.Read, "/cuda/compute-sanitizer") {
		t.Errorf("%+v", p.policy)
	}
	if !slices.Contains(p.env, "PAWL_CELL_SANITIZER=memcheck") {
		t.Errorf("%q", p.env)
	}
}

func TestSanitizerLogIsBounded(t *testing.T) {
	dir := t.TempDir()
	text := "first\n" + strings.Repeat("x", 3*toolLogHalf) + "\nlast"
	if err := os.WriteFile(filepath.Join(dir, sanitizerLog), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := readToolLog(filepath.Join(dir, sanitizerLog))
	if !strings.HasPrefix(got, "first\n") || !strings.HasSuffix(got, "\nlast") || len(got) > 2*toolLogHalf+100 {
		t.Errorf("%d bytes", len(got))
	}
	if err := os.Remove(filepath.Join(dir, sanitizerLog)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, sanitizerLog)); err != nil {
		t.Fatal(err)
	}
	if got := readToolLog(filepath.Join(dir, sanitizerLog)); got != "" {
		t.Errorf("a link was followed: %.40q", got)
	}
}
