package gpu

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl/examples"
	"pawl/internal/lab"
	"pawl/internal/nsight"
	"pawl/internal/profile"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
)

// Example kernels are profiled by the real Nsight Compute, in the whole sandbox, all in one process.
// Each has its own rows, and the counters that are asked for. Whatever fails, all that is known of it
// is printed: a machine with a GPU is not always at hand.
func TestProfile(t *testing.T) {
	p := newProfiler(t)
	jobs := p.jobs("softmax", "layernorm")
	cc := p.capability()
	names := profile.Curated(cc)
	done, err := p.profile(t, jobs, lab.Profiling{Metrics: names, Repeats: 2, Sandbox: "require"})
	if err != nil {
		t.Fatal(err)
	}
	if done.Sandbox.Level != "full" || len(done.Sandbox.Attempts) > 0 {
		t.Errorf("sandbox %+v", done.Sandbox)
	}
	if !strings.HasPrefix(string(done.Report), "NVR\x00") || len(done.Details) == 0 {
		t.Errorf("%d bytes of a report, %d bytes of details", len(done.Report), len(done.Details))
	}
	launches := p.read(done)
	total := 0
	for _, count := range done.Launches {
		total += count
	}
	if total != len(launches) || len(done.Launches) != len(jobs) {
		t.Fatalf("launches %v, and %d rows", done.Launches, len(launches))
	}
	at := 0
	for i, count := range done.Launches {
		for _, launch := range launches[at : at+count] {
			if entry := jobs[i].Variant.Kernel.Name; !strings.Contains(launch.Kernel, entry) {
				t.Errorf("a row of %s is of %s", entry, launch.Kernel)
			}
			for _, name := range names {
				if _, known := launch.Value(name); !known && !slices.Contains(done.Unknown, name) {
					t.Errorf("%s: no %s", launch.Kernel, name)
				}
			}
			got := profile.Of(launch)
			if took := got.Metrics[profile.Duration]; took.Number <= 0 {
				t.Errorf("%s: took %+v", launch.Kernel, took)
			}
		}
		at += count
	}
}

// The other ways of asking work as well, and without a sandbox the same comes out.
func TestProfileWays(t *testing.T) {
	metrics := []string{"gpu__time_duration.sum", "dram__bytes_read.sum"}
	for name, opts := range map[string]lab.Profiling{
		"off":         {Metrics: metrics, Sandbox: "off"},
		"unknown":     {Metrics: append([]string{"sm__made_up_by_pawl.sum"}, metrics...), Sandbox: "require"},
		"application": {Metrics: metrics, Replay: "application", Sandbox: "require"},
		"full":        {Full: true, Sandbox: "require"},
		"base":        {Metrics: metrics, Clock: "base", Cache: "none", Sandbox: "require"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProfiler(t)
			done, err := p.profile(t, p.jobs("softmax"), opts)
			if err != nil {
				t.Fatal(err)
			}
			if launches := p.read(done); len(launches) != done.Launches[0] {
				t.Errorf("%d rows, launches %v", len(launches), done.Launches)
			}
			if name == "unknown" && (len(done.Unknown) != 1 || done.Unknown[0] != opts.Metrics[0]) {
				t.Errorf("unknown %q", done.Unknown)
			}
		})
	}
}

type profiler struct {
	*lab.Lab

	t   *testing.T
	dir string
}

func newProfiler(t *testing.T) *profiler {
	t.Helper()
	need(t)
	if path, err := nsight.Find(); err != nil {
		t.Skip(err)
	} else {
		t.Logf("ncu %s, of %q", path, nsight.Installation(path))
	}
	for _, name := range []string{"/proc/driver/nvidia/params", "/proc/self/status"} {
		text, _ := os.ReadFile(name)
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "RmProfilingAdminOnly") || strings.HasPrefix(line, "CapEff") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, examples.Files); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", cache)
	l := lab.New(run.New(t.TempDir(), time.Now(), nil), &result.Report{}, lab.Options{Sandbox: "auto", Worker: []string{pawl, "worker"}, Timeout: time.Minute})
	t.Cleanup(l.Close)
	return &profiler{Lab: l, t: t, dir: filepath.Join(dir, "cuda")}
}

// jobs builds kernels of examples/cuda, each on its first config.
func (p *profiler) jobs(kernels ...string) []*lab.Job {
	p.t.Helper()
	file, err := spec.Load(filepath.Join(p.dir, "pawl.yaml"))
	if err != nil {
		p.t.Fatal(err)
	}
	var all []*lab.Job
	for _, name := range kernels {
		for _, kernel := range file.Kernels {
			if kernel.Name == name {
				all = append(all, lab.NewJob(p.dir, kernel.Default(), kernel.Configs[0]))
			}
		}
	}
	if len(all) != len(kernels) {
		p.t.Fatalf("the examples have %d of %q", len(all), kernels)
	}
	if err := p.Build(p.t.Context(), all); err != nil {
		p.t.Fatal(err)
	}
	for _, job := range all {
		if job.Record.Fault != nil {
			p.t.Fatalf("%s: %+v", job.Name(), job.Record.Fault)
		}
	}
	return all
}

// capability returns the compute capability of the GPU, times ten.
func (p *profiler) capability() int {
	p.t.Helper()
	digits := strings.TrimFunc(p.Devices()[0].Arch, func(r rune) bool { return r < '0' || r > '9' })
	cc, err := strconv.Atoi(digits)
	if err != nil {
		p.t.Fatalf("architecture %q", p.Devices()[0].Arch)
	}
	return cc
}

// profile profiles, and prints what there is to know.
func (p *profiler) profile(t *testing.T, jobs []*lab.Job, opts lab.Profiling) (*lab.Profiled, error) {
	t.Helper()
	began := time.Now()
	done, err := p.Profile(t.Context(), jobs, opts)
	t.Logf("%v: %s: %v\ncommand %s\nunknown %q, launches %v, sandbox %+v\n%d bytes of a report, %d raw, %d details",
		time.Since(began).Round(time.Millisecond), done.Tool, err, strings.Join(done.Command, " "), done.Unknown, done.Launches, done.Sandbox, len(done.Report), len(done.Raw), len(done.Details))
	if err != nil || t.Failed() || testing.Verbose() {
		t.Logf("Nsight Compute said:\n%s\nthe cell printed:\n%s\nthe first rows:\n%.3000s", done.Log, done.Printed, done.Raw)
	}
	if out := os.Getenv("OUT"); out != "" {
		for suffix, data := range map[string][]byte{".ncu-rep": done.Report, ".raw.csv": done.Raw, ".details.csv": done.Details, ".log": []byte(done.Log)} {
			name := strings.ReplaceAll(t.Name(), "/", "-") + suffix
			if err := os.WriteFile(filepath.Join(out, name), data, 0o644); err != nil {
				t.Log(err)
			}
		}
	}
	return done, err
}

func (p *profiler) read(done *lab.Profiled) []*profile.Launch {
	p.t.Helper()
	file, err := profile.Read("raw.csv", done.Raw)
	if err != nil {
		p.t.Fatal(fmt.Errorf("%w\n%.3000s", err, done.Raw))
	}
	return file.Launches
}
