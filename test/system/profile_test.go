package system

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/build"
	"pawl/internal/lab"
	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/nsight"
	"pawl/internal/nsight/nsighttest"
	"pawl/internal/profile"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
)

// profiler is a lab whose worker has GPUs and an Nsight Compute that do not exist.
type profiler struct {
	*lab.Lab

	t     *testing.T
	cubin []byte
}

func newProfiler(t *testing.T, mode string, command ...string) *profiler {
	t.Helper()
	binary, err := fakeGPU()
	if err != nil {
		t.Skip(err)
	}
	nsighttest.Use(t, mode)
	t.Setenv("PAWL_LOCK_DIR", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	source, err := os.ReadFile("testdata/fake.cu")
	if err != nil {
		t.Fatal(err)
	}
	l := lab.New(run.New(t.TempDir(), time.Now(), nil), &result.Report{}, lab.Options{
		Sandbox: "auto", Worker: append(command, binary, "worker"), Timeout: 10 * time.Second,
	})
	t.Cleanup(l.Close)
	return &profiler{Lab: l, t: t, cubin: cudafake.Cubin(t, string(source))}
}

// jobs returns built jobs of entries of fake.cu.
func (p *profiler) jobs(entries ...string) []*lab.Job {
	p.t.Helper()
	text := "version: 1\nkernels:\n"
	for _, entry := range entries {
		text += cudaKernel("k"+fmt.Sprint(len(text)), entry)
	}
	file, err := spec.Parse("pawl.yaml", []byte(text+"configs: {c: {N: 4096}}\n"))
	if err != nil {
		p.t.Fatal(err)
	}
	var all []*lab.Job
	for i, kernel := range file.Kernels {
		job := lab.NewJob(".", kernel.Default(), kernel.Configs[0])
		job.Artifact = build.NewArtifact(p.cubin, entries[i])
		all = append(all, job)
	}
	return all
}

var twoMetrics = []string{"dram__bytes_read.sum", "gpu__time_duration.sum"}

// kernelsOf reads the kernels of a profile, in order, with the value of the first metric.
func kernelsOf(t *testing.T, done *lab.Profiled) []string {
	t.Helper()
	file, err := profile.Read("raw.csv", done.Raw)
	if err != nil {
		t.Fatalf("%v\n%s", err, done.Raw)
	}
	var all []string
	for _, l := range file.Launches {
		all = append(all, fmt.Sprintf("%s %v", l.Kernel, profile.Of(l).Metrics[profile.Duration].Number))
	}
	return all
}

// Several jobs are profiled in one process. The rows are theirs in their order, and the report and
// its CSV come as Nsight Compute wrote them.
func TestProfile(t *testing.T) {
	for _, mode := range []string{"auto", "require", "off"} {
		t.Run(mode, func(t *testing.T) {
			p := newProfiler(t, nsighttest.Works)
			done, err := p.Profile(t.Context(), p.jobs("scale", "other_scale", "short_scale"), lab.Profiling{Metrics: twoMetrics, Repeats: 2, Sandbox: mode})
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, done.Log, done.Printed)
			}
			if !slices.Equal(done.Launches, []int{2, 2, 2}) {
				t.Errorf("launches %v", done.Launches)
			}
			kernels := []string{"scale", "scale", "other_scale", "other_scale", "short_scale", "short_scale"}
			if want := "NVR\x00\nmetrics " + strings.Join(twoMetrics, ",") + "\n" + strings.Join(kernels, "\n") + "\n"; string(done.Report) != want {
				t.Errorf("report %q, want %q", done.Report, want)
			}
			var raw, details strings.Builder
			raw.WriteString(`"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes_read.sum","gpu__time_duration.sum"` + "\n")
			raw.WriteString(strings.TrimSuffix(strings.Repeat(`"",`, 13), ",") + "\n")
			details.WriteString(`"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"` + "\n")
			for i, kernel := range kernels {
				fmt.Fprintf(&raw, `"%d","1","pawl","127.0.0.1","%s","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0","%d","%d"`+"\n", i, kernel, 100*(i+1)+1, 100*(i+1)+2)
				for j, metric := range twoMetrics {
					fmt.Fprintf(&details, `"%d","%s","Command line profiler metrics","%s","","%d"`+"\n", i, kernel, metric, 100*(i+1)+j+1)
				}
			}
			if string(done.Raw) != raw.String() {
				t.Errorf("raw:\n%s\nwant\n%s", done.Raw, raw.String())
			}
			if string(done.Details) != details.String() {
				t.Errorf("details:\n%s\nwant\n%s", done.Details, details.String())
			}
			if got := kernelsOf(t, done); len(got) != len(kernels) || !strings.HasPrefix(got[2], "other_scale ") {
				t.Errorf("%q", got)
			}
			if done.Tool != nsighttest.Version {
				t.Errorf("tool %q", done.Tool)
			}
			command := strings.Join(done.Command, " ")
			const want = "ncu --profile-from-start off --target-processes application-only --replay-mode kernel --cache-control all --clock-control none " +
				"--log-file profiler.log -f -o profile --metrics dram__bytes_read.sum,gpu__time_duration.sum pawl-fakegpu cell cuda"
			if command != want {
				t.Errorf("command %s\nwant    %s", command, want)
			}
			if strings.Contains(done.Log, "devices lo \n") != (mode != "off") || !strings.Contains(done.Log, "transport uds") {
				t.Errorf("%s", done.Log)
			}
			if len(done.Sandbox.Attempts) > 0 || (done.Sandbox.Level == "off") != (mode == "off") {
				t.Errorf("%+v", done.Sandbox)
			}
			// The worker and the device are free for the next.
			if _, err := p.Profile(t.Context(), p.jobs("scale"), lab.Profiling{Full: true, Clock: "base", Cache: "none", Sandbox: mode}); err != nil {
				t.Errorf("once more: %v", err)
			}
		})
	}
}

// The choices are on the command line, whatever the defaults of a version are.
func TestProfileChoices(t *testing.T) {
	p := newProfiler(t, nsighttest.Works)
	done, err := p.Profile(t.Context(), p.jobs("scale"), lab.Profiling{Full: true, Metrics: twoMetrics[:1], Clock: "boost", Cache: "none"})
	if err != nil {
		t.Fatal(err, done.Log)
	}
	command := strings.Join(done.Command, " ")
	for _, want := range []string{"--clock-control boost", "--cache-control none", "--replay-mode kernel", "--set full", "--metrics dram__bytes_read.sum "} {
		if !strings.Contains(command, want) {
			t.Errorf("no %s in %s", want, command)
		}
	}
	for _, wrong := range []lab.Profiling{
		{},
		{Metrics: []string{"a b"}},
		{Metrics: []string{"a,b"}},
		{Metrics: []string{"--help"}},
		{Metrics: twoMetrics, Clock: "fast"},
		{Metrics: twoMetrics, Cache: "some"},
		{Metrics: twoMetrics, Replay: "range"},
		{Metrics: twoMetrics, Repeats: -1},
	} {
		if _, err := p.Profile(t.Context(), p.jobs("scale"), wrong); err == nil {
			t.Errorf("%+v was taken", wrong)
		}
	}
	unbuilt := p.jobs("scale")
	unbuilt[0].Artifact = nil
	for _, jobs := range [][]*lab.Job{nil, unbuilt} {
		if _, err := p.Profile(t.Context(), jobs, lab.Profiling{Metrics: twoMetrics}); err == nil {
			t.Errorf("%v was profiled", jobs)
		}
	}
	if _, err := p.Profile(t.Context(), p.jobs("scale"), lab.Profiling{Metrics: twoMetrics}); err != nil {
		t.Errorf("after refusals: %v", err)
	}
}

// Whatever goes wrong, the fault says what, what is known comes with it, no process stays, and the
// next profile works.
func TestProfileFaults(t *testing.T) {
	for _, test := range []struct {
		mode  string
		cause result.Cause
		parts []string
	}{
		{nsighttest.Refused, result.CauseUnsupported, []string{"ERR_NVGPUCTRPERM", "NVreg_RestrictProfilingToAdminUsers=0"}},
		{nsighttest.Blind, result.CauseUnsupported, []string{"no kernel"}},
		{nsighttest.Crashes, result.CauseInternal, []string{"ended early", "segmentation fault"}},
		{nsighttest.Huge, result.CauseMemory, []string{"70000000 bytes", "67108864"}},
		{nsighttest.HugeCSV, result.CauseMemory, []string{"33554432 bytes"}},
		{nsighttest.ImportFails, result.CauseInternal, []string{"Failed to load report file"}},
		{nsighttest.Unknown + strings.Join(twoMetrics, ",") + ",", result.CauseUnsupported, []string{"does not know dram__bytes_read.sum, gpu__time_duration.sum"}},
	} {
		t.Run(test.mode, func(t *testing.T) {
			p := newProfiler(t, test.mode)
			done, err := p.Profile(t.Context(), p.jobs("scale"), lab.Profiling{Metrics: twoMetrics})
			p.failed(done, err, test.cause, test.parts...)
			p.recovers()
		})
	}
}

// failed checks a profile that did not come about.
func (p *profiler) failed(done *lab.Profiled, err error, cause result.Cause, parts ...string) {
	p.t.Helper()
	fault, ok := errors.AsType[*result.Fault](err)
	if !ok {
		p.t.Fatalf("%v, %+v", err, done)
	}
	text := fault.Message + "\n" + fault.Hint
	if fault.Cause != cause || fault.Stage != "profile" {
		p.t.Errorf("%s at %q: %s; want %s\n%s", fault.Cause, fault.Stage, text, cause, done.Log)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			p.t.Errorf("no %q in %s", part, text)
		}
	}
	if !strings.Contains(done.Log, "==PROF== Connected") || len(done.Command) == 0 || done.Tool != nsighttest.Version {
		p.t.Errorf("too little is known: %+v", done)
	}
}

// recovers profiles once more, with an Nsight Compute that works.
func (p *profiler) recovers() {
	p.t.Helper()
	path := os.Getenv(nsight.Variable)
	works, err := os.ReadFile(nsighttest.Use(p.t, nsighttest.Works))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, works, 0o755); err != nil { // the worker knows this one
		p.t.Fatal(err)
	}
	done, err := p.Profile(p.t.Context(), p.jobs("scale"), lab.Profiling{Metrics: twoMetrics})
	if err != nil || len(kernelsOf(p.t, done)) != 1 {
		p.t.Errorf("afterwards: %v\n%s", err, done.Log)
	}
	p.alone()
}

// alone checks that no process of a profile is left.
func (p *profiler) alone() {
	p.t.Helper()
	eventually(p.t, "the end of all that Nsight Compute started", func() bool { return len(processesIn(os.Getenv("TMPDIR"))) == 0 })
}

// processesIn returns the processes whose TMPDIR is inside a folder.
func processesIn(folder string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environment, _ := os.ReadFile(file)
		for set := range bytes.SplitSeq(environment, []byte{0}) {
			if bytes.HasPrefix(set, []byte("TMPDIR="+folder+"/")) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
				found = append(found, string(line))
			}
		}
	}
	return found
}

// A kernel that never ends under replay is ended with all that Nsight Compute started, even what has
// left the group of processes, as it can without a sandbox.
func TestProfileHangs(t *testing.T) {
	for _, mode := range []string{"auto", "off"} {
		t.Run(mode, func(t *testing.T) {
			p := newProfiler(t, nsighttest.Hangs)
			began := time.Now()
			done, err := p.Profile(t.Context(), p.jobs("scale"), lab.Profiling{Metrics: twoMetrics, Sandbox: mode, Deadline: 2 * time.Second})
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
			p.failed(done, err, result.CauseTimeout, "/c: no answer after 2s", "all that it started were ended", "application replay")
			p.alone()
			p.recovers()
		})
	}
}

// Who gives up gets his device back at once.
func TestProfileInterrupted(t *testing.T) {
	for _, mode := range []string{nsighttest.Hangs, nsighttest.ImportHangs} {
		t.Run(mode, func(t *testing.T) {
			p := newProfiler(t, mode)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			began := time.Now()
			_, err := p.Profile(ctx, p.jobs("scale"), lab.Profiling{Metrics: twoMetrics})
			fault, ok := errors.AsType[*result.Fault](err)
			if !ok || fault.Cause != result.CauseInterrupted || time.Since(began) > 20*time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			p.recovers()
		})
	}
}

// A metric that is not known on a GPU is left out, and named.
func TestProfileUnknownMetric(t *testing.T) {
	p := newProfiler(t, nsighttest.Unknown+"dram__bytes_read.sum,")
	done, err := p.Profile(t.Context(), p.jobs("scale", "other_scale"), lab.Profiling{Metrics: twoMetrics})
	if err != nil {
		t.Fatal(err, done.Log)
	}
	if !slices.Equal(done.Unknown, twoMetrics[:1]) || !slices.Equal(done.Launches, []int{1, 1}) {
		t.Errorf("unknown %q, launches %v", done.Unknown, done.Launches)
	}
	if !strings.Contains(strings.Join(done.Command, " "), " --metrics gpu__time_duration.sum ") {
		t.Errorf("%q", done.Command)
	}
}

// Nor does one that Nsight Compute leaves out in silence pass for measured.
func TestProfileIgnoredMetric(t *testing.T) {
	p := newProfiler(t, nsighttest.Ignores+"dram__bytes_read.sum,")
	done, err := p.Profile(t.Context(), p.jobs("scale"), lab.Profiling{Metrics: twoMetrics})
	if err != nil || !slices.Equal(done.Unknown, twoMetrics[:1]) || !slices.Equal(done.Launches, []int{1}) {
		t.Errorf("%v: unknown %q, launches %v", err, done.Unknown, done.Launches)
	}
	if len(done.Sandbox.Attempts) > 0 {
		t.Errorf("attempts %q", done.Sandbox.Attempts)
	}
}

func TestProfileWithoutNsightCompute(t *testing.T) {
	p := newProfiler(t, nsighttest.Works)
	t.Setenv(nsight.Variable, filepath.Join(t.TempDir(), "nothing"))
	_, err := p.Profile(t.Context(), p.jobs("scale"), lab.Profiling{Metrics: twoMetrics})
	fault, ok := errors.AsType[*result.Fault](err)
	if !ok || fault.Cause != result.CauseUnsupported || !strings.Contains(fault.Message, nsight.Variable) || fault.Hint == "" {
		t.Errorf("%v", err)
	}
}

// A worker that is started by a command gives its files over the wire.
func TestProfileElsewhere(t *testing.T) {
	p := newProfiler(t, nsighttest.Works, "sh", "-c", `echo Welcome; exec "$@"`, "sh")
	var entries []string
	for range 20 {
		entries = append(entries, "scale", "short_scale")
	}
	// The report has several parts.
	metrics := slices.Clone(twoMetrics)
	for i := range 480 {
		metrics = append(metrics, fmt.Sprintf("sm__made_up_%d_%s.sum", i, strings.Repeat("x", 150)))
	}
	done, err := p.Profile(t.Context(), p.jobs(entries...), lab.Profiling{Metrics: metrics, Repeats: 5})
	if err != nil {
		t.Fatal(err)
	}
	if want := 5 * len(entries); len(kernelsOf(t, done)) != want || len(done.Details) < 3<<20 {
		t.Errorf("%d rows, %d bytes of details", len(kernelsOf(t, done)), len(done.Details))
	}
}

// Application replay runs the whole cell once for every pass.
func TestProfileApplicationReplay(t *testing.T) {
	p := newProfiler(t, nsighttest.Works)
	done, err := p.Profile(t.Context(), p.jobs("scale", "other_scale"), lab.Profiling{Metrics: twoMetrics, Repeats: 3, Replay: "application"})
	if err != nil {
		t.Fatal(err, done.Log, done.Printed)
	}
	if got := kernelsOf(t, done); len(got) != 6 || !slices.Equal(done.Launches, []int{3, 3}) || !strings.Contains(strings.Join(done.Command, " "), "--replay-mode application") {
		t.Errorf("%q, %v, %q", got, done.Launches, done.Command)
	}
	if len(done.Sandbox.Attempts) > 0 {
		t.Errorf("%v", done.Sandbox.Attempts)
	}
}

// A launcher is profiled by itself: nobody but the profiler counts its kernels.
func TestProfileLauncher(t *testing.T) {
	p := newProfiler(t, nsighttest.Works)
	jobs := p.jobs("scale", "scale")
	file, err := spec.Parse("pawl.yaml", []byte("version: 1\nkernels:\n  last: {source: launcher.cu, launcher: true, entry: stream_last, args: ["+
		"{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}, {name: n, dtype: i32, value: N}, stream]}\nconfigs: {c: {N: 4096}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/launcher.cu")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "launcher.cu"), source, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NVCC", cudafake.Compiler(t))
	t.Setenv("XDG_CACHE_HOME", cache)
	launcher := lab.NewJob(dir, file.Kernels[0].Default(), file.Kernels[0].Configs[0])
	if err := p.Build(t.Context(), []*lab.Job{launcher}); err != nil || launcher.Record.Fault != nil {
		t.Fatal(err, launcher.Record.Fault)
	}
	if groups := lab.Profiles([]*lab.Job{jobs[0], launcher, jobs[1]}); len(groups) != 2 || !slices.Equal(groups[0], jobs) || groups[1][0] != launcher {
		t.Errorf("%v", groups)
	}
	if _, err := p.Profile(t.Context(), []*lab.Job{jobs[0], launcher}, lab.Profiling{Metrics: twoMetrics}); err == nil {
		t.Error("a launcher was profiled with others")
	}
	done, err := p.Profile(t.Context(), []*lab.Job{launcher}, lab.Profiling{Metrics: twoMetrics})
	if err != nil {
		t.Fatal(err, done.Log)
	}
	if len(kernelsOf(t, done)) == 0 || !slices.Equal(done.Launches, []int{-1}) {
		t.Errorf("%s, %v", done.Raw, done.Launches)
	}
}

// A kernel that fails is blamed, and not the profiler.
func TestProfileOfAKernelThatFails(t *testing.T) {
	p := newProfiler(t, nsighttest.Works)
	_, err := p.Profile(t.Context(), p.jobs("scale", "illegal_address"), lab.Profiling{Metrics: twoMetrics})
	fault, ok := errors.AsType[*result.Fault](err)
	if !ok || fault.Cause != result.CauseCrash || !strings.Contains(err.Error(), "/c: ") {
		t.Errorf("%+v, %v", fault, err)
	}
	p.recovers()
}

// The code of a stranger is not profiled as root, and otherwise without any right.
func TestProfileStranger(t *testing.T) {
	p := newProfiler(t, nsighttest.Works)
	done, err := p.Profile(t.Context(), p.jobs("scale"), lab.Profiling{Metrics: twoMetrics, Stranger: true})
	if os.Geteuid() != 0 {
		if err != nil || !strings.Contains(done.Log, "capabilities 0000000000000000") {
			t.Errorf("%v\n%s", err, done.Log)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), "not profiled as root") {
		t.Errorf("%v", err)
	}
}
