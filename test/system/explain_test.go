package system

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/nsight/nsighttest"
	"pawl/internal/result"
)

// explained is a project with a kernel on a GPU that became slower, and an Nsight Compute.
func explained(t *testing.T, mode string) *project {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	p := newCUDAProject(t, "")
	p.env = append(p.env, "PAWL_NCU="+nsighttest.Make(t, mode))
	text := func(entry string) string {
		return "version: 1\nkernels:\n" + cudaKernel("k", entry) + cudaKernel("same", "scale") + "configs: {c: {N: 4096}}\n"
	}
	p.write("pawl.yaml", text("scale"))
	p.commitAll()
	p.write("pawl.yaml", text("slow_scale"))
	return p
}

func (p *project) decode(out outcome) *result.Report {
	p.t.Helper()
	report, err := result.Decode([]byte(out.stdout))
	if err != nil {
		p.t.Fatalf("%v\n%s", err, out.stderr)
	}
	return report
}

// A check profiles both versions of what became slower, says why, and keeps the profile with the run.
func TestCheckExplains(t *testing.T) {
	t.Parallel()
	p := explained(t, nsighttest.Works)
	got := p.run("check", "--json", "--budget", "200ms")
	report := p.decode(got)
	row := rowOf(t, report, "k")
	if got.code != 1 || row.Verdict != result.Regression || len(row.Why) != 1 {
		t.Fatalf("exit %d, %s, %+v", got.code, row.Verdict, row.Why)
	}
	if other := rowOf(t, report, "same"); other.Why != nil {
		t.Errorf("an unchanged row is explained: %+v", other.Why)
	}
	why := row.Why[0]
	if why.Kernel != "slow_scale" || len(why.Versions) != 2 || why.Repeats != [2]int{3, 3} || !strings.HasPrefix(why.Sentence, "it is slower") {
		t.Fatalf("%+v", why)
	}
	for i, label := range []string{"scale <<<16, 256", "slow_scale <<<16, 256"} {
		if v := why.Versions[i]; v.Version != []string{"base", "change"}[i] || !strings.HasPrefix(v.Label, label) || v.Repeats != 3 || v.CC != 90 {
			t.Errorf("%s %s, %d repeats", v.Version, v.Label, v.Repeats)
		}
	}
	by := why.Profiler
	if by == nil || by.Tool != nsighttest.Version || by.Cache != "all" || by.Clock != "none" || by.Replay != "kernel" {
		t.Fatalf("%+v", by)
	}
	folder := filepath.Join(p.dir, ".pawl", "runs", report.ID)
	if want := []string{"profile-0.csv", "profile-0-details.csv", "profile-0.ncu-rep"}; !slices.Equal(by.Files, want) {
		t.Errorf("kept %v, want %v", by.Files, want)
	}
	for _, name := range append(by.Files, "why.svg", "why.png", "report.html") {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	page, err := os.ReadFile(filepath.Join(folder, "report.html"))
	if err != nil || !strings.Contains(string(page), `<img class="picture"`) {
		t.Errorf("the page has no picture: %v", err)
	}
	if stages := report.Cost.Stages; !slices.ContainsFunc(stages, func(s result.StageCost) bool { return s.Name == "explain" }) {
		t.Errorf("%+v", stages)
	}
}

// Whatever happens to the profiler, a check has its verdict, and says what could not be seen.
func TestCheckWithoutProfile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode, option, says string
	}{
		{nsighttest.Refused, "auto", "does not let this user read the GPU's counters"},
		{nsighttest.Blind, "auto", "no kernel"},
		{nsighttest.Works, "static", ""},
		{nsighttest.Works, "off", ""},
	} {
		t.Run(test.mode+test.option, func(t *testing.T) {
			t.Parallel()
			p := explained(t, test.mode)
			got := p.run("check", "--json", "--budget", "200ms", "--explain", test.option)
			row := rowOf(t, p.decode(got), "k")
			if got.code != 1 || row.Verdict != result.Regression {
				t.Fatalf("exit %d, %s: %s", got.code, row.Verdict, got.stderr)
			}
			if test.option == "off" {
				if row.Why != nil {
					t.Errorf("%+v", row.Why)
				}
				return
			}
			if len(row.Why) != 1 || row.Why[0].Profiler != nil || len(row.Why[0].Versions) != 2 {
				t.Fatalf("%+v", row.Why)
			}
			said := ""
			for _, limit := range row.Why[0].Limits {
				said += limit.Message + "\n"
			}
			if !strings.Contains(said, test.says) || test.option == "static" && strings.Contains(said, "not profiled") {
				t.Errorf("%s", said)
			}
		})
	}
}

// The code of a stranger is profiled only if somebody asks for it, and never as root.
func TestForkIsNotProfiled(t *testing.T) {
	t.Parallel()
	p := explained(t, nsighttest.Works)
	tried := func(w result.Warning) bool { return strings.Contains(w.Message, "not profiled") }
	row := rowOf(t, p.decode(p.run("check", "--json", "--budget", "200ms", "--fork")), "k")
	if len(row.Why) != 1 || row.Why[0].Profiler != nil || slices.ContainsFunc(row.Why[0].Limits, tried) {
		t.Fatalf("%+v", row.Why)
	}
	row = rowOf(t, p.decode(p.run("check", "--json", "--budget", "200ms", "--fork", "--explain", "ncu")), "k")
	if os.Geteuid() != 0 {
		t.Skip("not root: the rest is about root")
	}
	if why := row.Why; len(why) != 1 || why[0].Profiler != nil || !slices.ContainsFunc(why[0].Limits, func(w result.Warning) bool { return strings.Contains(w.Message, "not profiled as root") }) {
		t.Errorf("%+v", why)
	}
}

// A profile of several kernels is one start of Nsight Compute, and names what it found.
func TestProfileOfKernels(t *testing.T) {
	t.Parallel()
	p := explained(t, nsighttest.Works)
	got := p.run("profile", "--json", "--repeats", "2")
	report := p.decode(got)
	if got.code != 0 || report.Kind != result.KindProfile || len(report.Rows) != 2 {
		t.Fatalf("exit %d, %s, %d rows: %s", got.code, report.Kind, len(report.Rows), got.stderr)
	}
	for i, entry := range []string{"slow_scale", "scale"} {
		row := report.Rows[i]
		if len(row.Why) != 1 || row.Timing == nil || row.Why[0].Kernel != entry || row.Why[0].Last().Repeats != 2 {
			t.Fatalf("%s: %+v", row.Name(), row.Why)
		}
		if files := row.Why[0].Profiler.Files; !slices.Equal(files, report.Rows[0].Why[0].Profiler.Files) {
			t.Errorf("%s: %v", row.Name(), files)
		}
	}
	if err := os.Mkdir(filepath.Join(p.dir, "all"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("all/profile-7.csv", "of an earlier run")
	shown := p.run("profile", "k", "-o", filepath.Join(p.dir, "why.png"), "-o", filepath.Join(p.dir, "all")+"/")
	if shown.code != 0 || !strings.Contains(shown.stdout, "slow_scale <<<16, 256") || !strings.Contains(shown.stdout, "explained 1 of 1 config") {
		t.Errorf("exit %d\n%s\n%s", shown.code, shown.stdout, shown.stderr)
	}
	var kept []string
	entries, err := os.ReadDir(filepath.Join(p.dir, "all"))
	for _, entry := range entries {
		kept = append(kept, entry.Name())
	}
	if want := []string{"profile-0-details.csv", "profile-0.csv", "profile-0.ncu-rep", "report.html", "report.json", "report.md", "why.png", "why.svg"}; !slices.Equal(kept, want) {
		t.Errorf("the folder has %v, want %v (%v)", kept, want, err)
	}
	if picture, err := os.ReadFile(filepath.Join(p.dir, "why.png")); err != nil || !strings.HasPrefix(string(picture), "\x89PNG") {
		t.Errorf("%v", err)
	}
}

// A kernel that cannot be measured is not explained, and keeps nobody else from it.
func TestProfileBesideABrokenKernel(t *testing.T) {
	t.Parallel()
	p := explained(t, nsighttest.Works)
	p.write("pawl.yaml", "version: 1\nkernels:\n"+cudaKernel("broken", "not_there")+cudaKernel("k", "scale")+"configs: {c: {N: 4096}}\n")
	got := p.run("profile", "--json")
	report := p.decode(got)
	if broken, k := rowOf(t, report, "broken"), rowOf(t, report, "k"); broken.Fault == nil || broken.Why != nil || k.Fault != nil || len(k.Why) != 1 || k.Why[0].Profiler == nil {
		t.Errorf("exit %d: %+v, %+v", got.code, broken.Why, k.Why)
	}
}
