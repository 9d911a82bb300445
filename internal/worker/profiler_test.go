package worker

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/nsight"
	"pawl/internal/nsight/nsighttest"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

func TestProfilerArgs(t *testing.T) {
	request, err := wire.Profiler{Metrics: []string{"a.sum", "b"}, Full: true}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/opt/ncu", "--profile-from-start", "off", "--target-processes", "application-only",
		"--replay-mode", "kernel", "--cache-control", "all", "--clock-control", "none",
		"--log-file", "/scratch/profiler.log", "-f", "-o", "/scratch/profile", "--set", "full", "--metrics", "a.sum,b",
	}
	if got := profilerArgs("/opt/ncu", request, "/scratch"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What becomes words of a command line is refused unless it is a name.
func TestProfilerIsValidated(t *testing.T) {
	for _, wrong := range []wire.Profiler{
		{},
		{Metrics: []string{""}},
		{Metrics: []string{"a b"}},
		{Metrics: []string{"a,b"}},
		{Metrics: []string{"--help"}},
		{Metrics: []string{"a;b"}},
		{Metrics: []string{"a\n"}},
		{Metrics: slices.Repeat([]string{"a"}, 501)},
		{Metrics: []string{strings.Repeat("a", 201)}},
		{Full: true, Clock: "boosted"},
		{Full: true, Cache: "none "},
		{Full: true, Replay: "range"},
	} {
		if _, err := wrong.Complete(); err == nil {
			t.Errorf("%.100v was taken", wrong)
		}
	}
}

// The reasons that Nsight Compute gives, in its own words.
func TestProfilerExplains(t *testing.T) {
	for _, test := range []struct {
		said  string
		cause result.Cause
		part  string
	}{
		{"==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0. For …", result.CauseUnsupported, "ERR_NVGPUCTRPERM"},
		{"==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) is concurrently collecting", result.CauseUnsupported, "another program"},
		{"==ERROR== Cuda driver is not compatible with Nsight Compute.", result.CauseUnsupported, "driver"},
		{"==ERROR== Nsight Compute failed to connect to the CUDA driver (stub libcuda.so[.1] on path?).", result.CauseUnsupported, "CUDA driver"},
		{"==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock.", result.CauseInternal, "lock"},
		{"==ERROR== Failed to find metric sm__made_up.sum", result.CauseUnsupported, "does not know sm__made_up.sum"},
		{"==ERROR== Unhandled C++ exception: bad allocation", result.CauseMemory, "memory"},
	} {
		p := &profiling{log: test.said, request: wire.Profiler{Metrics: []string{"sm__made_up.sum"}}}
		fault := p.explain("")
		if fault == nil || fault.Cause != test.cause || !strings.Contains(fault.Message, test.part) || fault.Hint == "" || fault.Stage != "profile" {
			t.Errorf("%s: %+v", test.said, fault)
		}
	}
	if fault := (&profiling{log: "==PROF== Connected to process 7\n==WARNING== something"}).explain("the kernel's own words"); fault != nil {
		t.Errorf("%+v", fault)
	}
}

func TestUnknownMetrics(t *testing.T) {
	asked := []string{"sm__cycles_sum", "a.sum", "b.avg.pct", "c"}
	const said = `==ERROR== Failed to find metric regex:^sm__cycles_sum\.(sum|min|max|avg|pct|ratio|max_rate)$
==ERROR== Failed to find metric b.avg.pct
==ERROR== Failed to find metric regex:^c(\..*)?$
==ERROR== Failed to find metric somebody.elses
==ERROR== Failed to find metric b.avg.pct`
	if got, want := unknownMetrics(said, asked), []string{"sm__cycles_sum", "b.avg.pct", "c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A file comes in parts, and nothing but what was published comes at all.
func TestFetch(t *testing.T) {
	s, err := newStore()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	data := bytes.Repeat([]byte("0123456789abcdef"), (2*wire.MaxBlob+100)/16)
	file, err := s.publish(data)
	if err != nil || file.Bytes != int64(len(data)) {
		t.Fatal(file, err)
	}
	var got []byte
	for len(got) < len(data) {
		reply, part, err := s.get(wire.Get{SHA256: file.SHA256, Offset: int64(len(got))})
		if err != nil || reply.Total != file.Bytes || len(part) == 0 || len(part) > wire.MaxBlob {
			t.Fatalf("at %d: %d bytes, %+v, %v", len(got), len(part), reply, err)
		}
		got = append(got, part...)
	}
	if !bytes.Equal(got, data) {
		t.Error("other bytes")
	}
	if err := os.WriteFile(filepath.Join(s.profiles(), "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []wire.Get{{SHA256: "secret"}, {SHA256: "../lock"}, {SHA256: file.SHA256, Offset: -1}, {SHA256: file.SHA256, Offset: file.Bytes + 1}} {
		if _, _, err := s.get(wrong); err == nil {
			t.Errorf("%+v was answered", wrong)
		}
	}
	for i := range publishedMost {
		if _, err := s.publish([]byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.get(wire.Get{SHA256: file.SHA256}); err == nil {
		t.Error("it is kept for ever")
	}
}

// A cell that runs under one tool runs under no other, and one without a profiler is not profiled.
func TestProfilerRefusals(t *testing.T) {
	nsighttest.Use(t, nsighttest.Works)
	c := connect(t)
	metrics := []string{"a.sum"}
	for _, wrong := range []wire.Open{
		{Sanitizer: "memcheck", Profiler: &wire.Profiler{Metrics: metrics}},
		{Profiler: &wire.Profiler{Metrics: []string{"--help"}}},
		{Profiler: &wire.Profiler{Metrics: metrics, Replay: "application"}}, // of a host cell
	} {
		wrong.Cell, wrong.Sandbox = "host", "auto"
		if cell, err := c.Open(t.Context(), wrong); err == nil {
			t.Errorf("%+v was opened", wrong)
			_, _ = cell.Close(t.Context())
		}
	}
	stranger, err := c.Open(t.Context(), wire.Open{Cell: "host", Sandbox: "auto", Profiler: &wire.Profiler{Metrics: metrics, Stranger: true}})
	switch {
	case err == nil && os.Geteuid() == 0:
		t.Error("a stranger's code is profiled as root")
		fallthrough
	case err == nil:
		_, _ = stranger.Close(t.Context())
	case os.Geteuid() != 0 || causeOf(err) != result.CauseUnsupported:
		t.Errorf("of a stranger: %v", err)
	}
	cell, err := c.Open(t.Context(), wire.Open{Cell: "host", Sandbox: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cell.Profile(t.Context(), wire.ProfileLaunches{Repeats: 1}); causeOf(err) != result.CauseProtocol {
		t.Errorf("%v", err)
	}
	t.Setenv(nsight.Variable, filepath.Join(t.TempDir(), "nothing"))
	c = connect(t)
	if _, err := c.Open(t.Context(), wire.Open{Cell: "host", Sandbox: "auto", Profiler: &wire.Profiler{Metrics: metrics}}); causeOf(err) != result.CauseUnsupported {
		t.Errorf("%v", err)
	}
}

// Where the worker may not make a network for it, Nsight Compute runs without a sandbox or not at all.
func TestProfilerWithoutNetwork(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give the right up for a worker")
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip(err)
	}
	nsighttest.Use(t, nsighttest.Works)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PAWL_LOCK_DIR", t.TempDir())
	c, err := Start(t.Context(), Options{Command: []string{"setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", self, "worker"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, mode := range []string{"auto", "require", "off"} {
		cell, err := c.Open(t.Context(), wire.Open{Cell: "host", Sandbox: mode, Profiler: &wire.Profiler{Metrics: []string{"a.sum"}}})
		if mode == "off" {
			if err != nil {
				t.Errorf("off: %v", err)
			} else {
				_, _ = cell.Close(t.Context())
			}
			continue
		}
		fault := &result.Fault{}
		if err == nil || !asFault(err, &fault) || fault.Cause != result.CauseUnsupported ||
			!strings.Contains(fault.Message, "network of its own") || !strings.Contains(fault.Hint, "CAP_SYS_ADMIN") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// What Nsight Compute left is taken only if it is a file.
func TestCollect(t *testing.T) {
	scratch, keep := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	report := filepath.Join(scratch, profilerOutput+reportSuffix)
	if err := os.Symlink("/etc/passwd", report); err != nil {
		t.Fatal(err)
	}
	p := &profiling{keep: keep, size: -1}
	if p.collect(scratch); p.size >= 0 {
		t.Error("a link was taken")
	}
	_ = os.Remove(report)
	if err := os.WriteFile(report, []byte("NVR"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p.collect(scratch); p.size != 3 {
		t.Errorf("%d bytes", p.size)
	}
	if got, _ := os.ReadFile(keep); string(got) != "NVR" {
		t.Errorf("%q", got)
	}
	if err := os.Truncate(keep, wire.MaxReport+1); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(keep, report); err != nil {
		t.Fatal(err)
	}
	if p.collect(scratch); p.size != wire.MaxReport+1 {
		t.Errorf("%d bytes", p.size)
	}
	if _, err := os.Stat(keep); err == nil {
		t.Error("a huge report is kept")
	}
}
