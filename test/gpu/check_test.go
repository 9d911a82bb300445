package gpu

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"pawl/internal/result"
)

// repository is a project under git with kernel work: as many rounds as it is told,
// on two configs, on one of which it may fault.
type repository struct{ *project }

func newRepository(t *testing.T) *repository {
	t.Helper()
	need(t)
	if _, err := exec.LookPath("git"); err != nil {
		missing(t, "no git")
	}
	r := &repository{newProject(t, "")}
	r.env = append(r.env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "PAWL_LOCK_DIR="+t.TempDir(),
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	r.launch("")
	r.work(500, "")
	r.git("init", "--quiet", "--initial-branch=main")
	r.commit("first")
	return r
}

// launch writes the spec; more is said of the launch.
func (r *repository) launch(more string) {
	r.t.Helper()
	r.write("pawl.yaml", fmt.Sprintf(`version: 1
kernels:
  work:
    source: work.cu
    entry: work
    launch: {grid: "ceildiv(N, 256)", block: 256%s}
    args: [{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}, {name: n, dtype: i64, value: N}]
    oracle: {elementwise: x * 0 + 190}
    tolerance: {rtol: 0.99} # what is changed here is speed and answer
configs: {a: {N: 4194304}, b: {N: 2097152}}
`, more))
}

// work writes the kernel; more is done by every thread.
func (r *repository) work(rounds int, more string) {
	r.t.Helper()
	r.write("work.cu", fmt.Sprintf(`extern "C" __global__ void work(const float *x, float *y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    for (int r = 0; r < %d; r++) v = v * 0.999f + 0.5f;
    y[i] = v;
    %s
}
`, rounds, more))
}

func (r *repository) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (r *repository) commit(message string) {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "-m", message)
}

func (r *repository) check(args ...string) (*result.Report, int) {
	r.t.Helper()
	cmd := exec.Command(pawl, append([]string{"check", "--json", "--budget", "1s", "--timeout", "3s"}, args...)...)
	cmd.Dir, cmd.Env = r.dir, r.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	report, err := result.Decode(stdout.Bytes())
	if err != nil {
		r.t.Fatalf("%v\n%s", err, &stderr)
	}
	if report.Machine.GPU == nil || report.Machine.GPU.Name == "" {
		r.t.Errorf("the report does not say which GPU: %+v", report.Machine)
	}
	return report, cmd.ProcessState.ExitCode()
}

func config(t *testing.T, r *result.Report, name string) *result.Row {
	t.Helper()
	for _, row := range r.Rows {
		if row.Config == name {
			return row
		}
	}
	t.Fatalf("no config %s", name)
	return nil
}

// mustBe checks the verdict on both configs, and the exit code.
func mustBe(t *testing.T, r *result.Report, code int, a, b result.Verdict, exit int) {
	t.Helper()
	for name, want := range map[string]result.Verdict{"a": a, "b": b} {
		if row := config(t, r, name); row.Verdict != want {
			t.Errorf("%s: %q, want %q; fault %+v, sides %+v", name, row.Verdict, want, row.Fault, row.Sides)
		}
	}
	if code != exit {
		t.Errorf("exit code %d, want %d", code, exit)
	}
}

// The story of a kernel whose versions share a cell on the GPU.
func TestCheckOnAGPU(t *testing.T) {
	r := newRepository(t)
	report, code := r.check("--update-baseline")
	mustBe(t, report, code, result.New, result.New, 0)
	r.commit("baseline")

	r.work(500, "// nothing")
	r.commit("comment")
	report, code = r.check()
	mustBe(t, report, code, result.Unchanged, result.Unchanged, 0)

	r.work(500, "if (n < 0) y[0] = 1;")
	r.commit("other code, the same speed")
	report, code = r.check()
	mustBe(t, report, code, result.Maintained, result.Maintained, 0)
	row := config(t, report, "a")
	if c := row.Sides[0].Change; c.Cycles == nil || !c.Exact || len(c.Cells) < 4 || c.Confirmed || row.Trust != "harness" {
		t.Errorf("trust %s, %+v", row.Trust, c)
	}

	r.work(800, "")
	r.commit("slower")
	report, code = r.check()
	mustBe(t, report, code, result.Regression, result.Regression, 1)
	for _, row := range report.Rows {
		c := row.Sides[0].Change
		if c.Median < 0.1 || !c.Confirmed || c.Cycles == nil || *c.Cycles < c.Median/2 || row.Timing == nil || row.Sides[0].Row.Timing == nil {
			t.Errorf("%s: %+v", row.Name(), c)
		}
	}

	r.work(200, "")
	r.commit("faster")
	report, code = r.check("--update-baseline")
	mustBe(t, report, code, result.Improvement, result.Improvement, 0)
	if m := config(t, report, "a").Moved; m == nil || !m.Done {
		t.Errorf("moved %+v", m)
	}
}

// A version that ends the cell of all of them is the one that is blamed, and the
// other config is judged.
func TestCheckBlamesOnAGPU(t *testing.T) {
	const faulty = "if (n == 2097152 && i == 7) *(volatile float *)8 = v;"
	for name, candidate := range map[string]bool{"candidate": true, "base": false} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			base, change := faulty, "if (n < 0) y[0] = 1;"
			if candidate {
				base, change = change, base
			}
			r.work(500, base)
			r.commit("base")
			r.work(500, change)
			r.commit("change")
			report, code := r.check()
			row := config(t, report, "b")
			if candidate {
				mustBe(t, report, code, result.Maintained, result.Broken, 1)
				if f := row.Fault; f == nil || f.Cause != result.CauseCrash || !strings.Contains(f.Message, "ILLEGAL_ADDRESS") {
					t.Errorf("%+v", f)
				}
				return
			}
			mustBe(t, report, code, result.Maintained, result.Incomparable, 3)
			if side := row.Sides[0]; side.Row.Fault == nil || side.Row.Fault.Cause != result.CauseCrash || !strings.Contains(strings.Join(side.Reason, " "), "the base version cannot be measured") {
				t.Errorf("%+v", side)
			}
		})
	}
}

// The same code, launched otherwise, is measured.
func TestCheckOfALaunch(t *testing.T) {
	r := newRepository(t)
	r.launch(", shared: 64")
	r.commit("some shared memory")
	report, code := r.check("work/a")
	row := config(t, report, "a")
	if row.Verdict != result.Maintained || code != 0 || row.Code != row.Sides[0].Row.Code || row.Identity == row.Sides[0].Row.Identity {
		t.Errorf("exit code %d, %q: %+v", code, row.Verdict, row.Sides)
	}
}
