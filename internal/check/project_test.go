package check

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/build"
	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
)

// The test binary stands in for pawl's worker and cells: kernels are really built
// and really loaded from their commits, but take exactly as long as they say.
func TestMain(m *testing.M) {
	if puppet.StandIn(os.Args, os.Stdin, os.Stdout) {
		return
	}
	cache, err := os.MkdirTemp("", "pawl-check-")
	if err != nil {
		panic(err)
	}
	for name, value := range map[string]string{
		"XDG_CACHE_HOME": cache, "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "GITHUB_ACTOR": "", "GITLAB_USER_LOGIN": "",
		"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com", "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com",
	} {
		_ = os.Setenv(name, value)
	}
	code := puppet.Run(m)
	_ = os.RemoveAll(cache)
	os.Exit(code)
}

const class = "test-device"

// project is a repository with kernels in it.
type project struct {
	t      *testing.T
	dir    string
	follow func(run.Event) // sees what happens; may be nil

	patterns []string // of the rows to check; none: all
}

// template is a repository that projects begin as a copy of. It is made once: a match for each would
// take most of the time of the tests.
type template struct {
	sync.Once
	dir string
}

var plain, withBaseline template

// copyOf returns a project that is a copy of what make leaves in an empty folder.
func (f *template) copyOf(t *testing.T, make func(*project)) *project {
	t.Helper()
	t.Parallel()
	f.Do(func() {
		dir, err := os.MkdirTemp(os.Getenv("XDG_CACHE_HOME"), "template-") // TestMain removes it
		if err != nil {
			t.Fatal(err)
		}
		make(&project{t: t, dir: dir})
		f.dir = dir
	})
	if f.dir == "" {
		t.Fatal("the repository that this test begins with could not be made")
	}
	p := &project{t: t, dir: t.TempDir()}
	if err := os.CopyFS(p.dir, os.DirFS(f.dir)); err != nil {
		t.Fatal(err)
	}
	return p
}

// newProject has kernel k, of 500 µs, on config c; committed.
func newProject(t *testing.T) *project {
	t.Helper()
	return plain.copyOf(t, (*project).first)
}

// newBaselined is a new project whose commit is the baseline.
func newBaselined(t *testing.T) *project {
	t.Helper()
	return withBaseline.copyOf(t, func(p *project) {
		p.first()
		p.baseline()
	})
}

func (p *project) first() {
	p.t.Helper()
	p.git("init", "--quiet", "--initial-branch=main", "--template=")
	p.spec("")
	p.kernel("k", 500)
	p.commit("first")
}

func (p *project) git(args ...string) string {
	p.t.Helper()
	out, err := exec.Command("git", append([]string{"-C", p.dir}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *project) commit(message string) string {
	p.t.Helper()
	p.git("add", "--all")
	p.git("commit", "--quiet", "--allow-empty", "-m", message)
	return p.git("rev-parse", "HEAD")
}

func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) replace(name, old, by string) {
	p.t.Helper()
	raw, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	if !strings.Contains(string(raw), old) {
		p.t.Fatalf("%s does not contain %q", name, old)
	}
	p.write(name, strings.ReplaceAll(string(raw), old, by))
}

// kernel writes a kernel that takes this many microseconds.
func (p *project) kernel(name string, micros float64) {
	p.t.Helper()
	p.script(name, puppet.Script{Micros: micros})
}

func (p *project) script(name string, s puppet.Script) {
	p.t.Helper()
	p.write(name+".c", fmt.Sprintf("const char script[] = %q;\nvoid %s(const float *in, float *out, long n) { out[0] = in[0] + script[n & 7]; }\n", s, name))
}

// entry describes a kernel in the spec; more are further lines of it.
func entry(name string, more ...string) string {
	lines := append([]string{
		"source: " + name + ".c", "entry: " + name, "args:", "  - {name: in, dtype: f32, shape: [N]}",
		"  - {name: out, dtype: f32, shape: [N], role: out}", "  - {name: n, dtype: i64, value: N}", "oracle: {elementwise: in}",
	}, more...)
	return "  " + name + ":\n    " + strings.Join(lines, "\n    ") + "\n"
}

// spec writes pawl.yaml with kernel k on config c; more is its end.
func (p *project) spec(more string, kernels ...string) {
	p.t.Helper()
	if len(kernels) == 0 {
		kernels = []string{entry("k")}
	}
	if !strings.Contains(more, "configs:") {
		more += "configs: {c: {N: 64}}\n"
	}
	p.write("pawl.yaml", "version: 1\ndevice_class: "+class+"\nkernels:\n"+strings.Join(kernels, "")+more)
}

func (p *project) load() *spec.Spec {
	p.t.Helper()
	s, err := spec.Load(filepath.Join(p.dir, "pawl.yaml"))
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// run checks the project as it is.
func (p *project) run(change ...func(*Options)) (*result.Report, error) {
	p.t.Helper()
	return p.runWith(p.t.Context(), change...)
}

func (p *project) runWith(ctx context.Context, change ...func(*Options)) (*result.Report, error) {
	p.t.Helper()
	command, err := puppet.Worker(p.t.TempDir())
	if err != nil {
		p.t.Fatal(err)
	}
	opts := Options{
		Duet: measure.DuetOptions{Options: measure.Default(), Floor: measure.DefaultFloor, Visit: time.Millisecond},
		Lab:  lab.Options{Build: build.Options{NoCcache: true}, Sandbox: "off", Worker: command},
	}
	opts.Duet.Timeout = 20 * time.Second
	for _, c := range change {
		c(&opts)
	}
	seed := uint64(42)
	r, err := run.Prepare(result.KindCheck, run.Request{
		Tool: result.Tool{Version: "test"}, Command: []string{"pawl", "check"}, Spec: p.load(), Patterns: p.patterns, Seed: &seed, Follow: p.follow,
	})
	if err != nil {
		return nil, err
	}
	report, err := Run(ctx, r, opts)
	if ctx.Err() == nil {
		p.admit(report, opts)
	}
	return report, err
}

// only returns the project restricted to some rows.
func (p *project) only(patterns ...string) *project {
	some := *p
	some.patterns = patterns
	return &some
}

// check runs the project's check and expects a report.
func (p *project) check(change ...func(*Options)) *result.Report {
	p.t.Helper()
	report, err := p.run(change...)
	if err != nil {
		p.t.Fatal(err)
	}
	return report
}

func update(o *Options) { o.Update = true }

func planOnly(o *Options) { o.PlanOnly = true }

// baseline makes the commit that is checked out the baseline, and commits that.
func (p *project) baseline() {
	p.t.Helper()
	for _, row := range p.check(update).Rows {
		if row.Moved == nil || !row.Moved.Done {
			p.t.Fatalf("%s: %s did not become the baseline: %+v", row.Name(), row.Verdict, row.Moved)
		}
	}
	p.commit("baseline")
}

// entries makes the commit that is checked out the baseline, as if it had been measured on
// another machine. Here it may fail.
func (p *project) entries(seconds float64) {
	p.t.Helper()
	report := p.check(planOnly)
	err := ratchet.Open(p.dir).Update(p.t.Context(), class, func(f *ratchet.File) error {
		for _, row := range report.Rows {
			if row.Dropped {
				continue
			}
			row.Verdict = result.New
			row.Timing = &result.Timing{Samples: result.Samples{Seconds: []float64{seconds}}, Stats: result.Stats{Count: 1, Median: seconds, Low: seconds, High: seconds}}
			if err := moveElsewhere(f, ratchet.CandidateOf(report, row, nil, "Ann")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.commit("baseline")
}

// stored returns the baseline's entry of kernel k on config c.
func (p *project) stored() *ratchet.Entry {
	p.t.Helper()
	file, err := ratchet.Open(p.dir).Load(class)
	if err != nil {
		p.t.Fatal(err)
	}
	return file.Entry("k", "c")
}

func rowOf(t *testing.T, r *result.Report, name string) *result.Row {
	t.Helper()
	for _, row := range r.Rows {
		if row.Name() == name {
			return row
		}
	}
	t.Fatalf("no row %s", name)
	return nil
}

// mustBe checks a row's verdict and its reasons.
func mustBe(t *testing.T, row *result.Row, want result.Verdict, reasons ...result.Reason) {
	t.Helper()
	if row.Verdict != want || !slices.Equal(row.Reasons, reasons) {
		t.Errorf("%s: %q %v, want %q %v; fault %v, sides %s", row.Name(), row.Verdict, row.Reasons, want, reasons, row.Fault, sidesOf(row))
	}
}

func sidesOf(row *result.Row) string {
	var out []string
	for _, s := range row.Sides {
		text := string(s.Role)
		if s.Change != nil {
			text += fmt.Sprintf(" %+.4f [%+.4f, %+.4f]", s.Change.Median, s.Change.Low, s.Change.High)
		}
		out = append(out, text+" "+strings.Join(s.Reason, "; "))
	}
	return strings.Join(out, ", ")
}

func sideOf(t *testing.T, row *result.Row, role result.Role) *result.Side {
	t.Helper()
	for _, s := range row.Sides {
		if s.Role == role {
			return s
		}
	}
	t.Fatalf("%s has no side %s: %s", row.Name(), role, sidesOf(row))
	return nil
}

// mustWarn checks that a warning with a code says something.
func mustWarn(t *testing.T, warnings []result.Warning, code, says string) {
	t.Helper()
	for _, w := range warnings {
		if w.Code == code && strings.Contains(w.Message, says) {
			return
		}
	}
	t.Errorf("no warning %s that says %q: %+v", code, says, warnings)
}
