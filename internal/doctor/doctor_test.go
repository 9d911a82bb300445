package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fakes makes a folder of shell scripts the whole PATH.
func fakes(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		writeFile(t, filepath.Join(dir, name), "#!/bin/sh\n"+script)
	}
	t.Setenv("PATH", dir)
	for _, name := range []string{"CC", "CXX", "NVCC", "PAWL_NVRTC", "PAWL_PYTHON", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH"} {
		t.Setenv(name, "")
	}
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func says(text string) string { return "cat <<'END'\n" + text + "\nEND\n" }

func examine(t *testing.T, o Options) *Report {
	t.Helper()
	if o.root == "" {
		o.root = t.TempDir()
	}
	if o.CacheDir == "" {
		o.CacheDir = t.TempDir()
	}
	return Examine(context.Background(), o)
}

func (r *Report) find(t *testing.T, name string) Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check of %s", name)
	return Check{}
}

func TestExamineToolsThatAnswer(t *testing.T) {
	// The scripts need cat, and the real one is not on their PATH.
	answer := func(text string) string { return strings.Replace(says(text), "cat", "/bin/cat", 1) }
	dir := fakes(t, map[string]string{
		"cc":                answer("cc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc."),
		"c++":               answer("Ubuntu clang version 18.1.3 (1ubuntu1)\nTarget: x86_64-pc-linux-gnu"),
		"nvcc":              answer("nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88"),
		"ncu":               answer("NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2025 NVIDIA Corporation\nVersion 2025.3.1.0 (build 36398880)"),
		"compute-sanitizer": answer("NVIDIA (R) Compute Sanitizer\nVersion 2025.3.1"),
		"nvidia-smi":        answer("NVIDIA H200, 9.0, 143771\nNVIDIA H200, 9.0, 143771"),
		"ccache":            answer("ccache version 4.8\nFeatures: file-storage"),
		"ninja":             "echo 1.11.1\n",
		"git":               "echo git version 2.39.5\n",
	})
	report := examine(t, Options{})
	for name, want := range map[string]string{
		"cc": "gcc 12.2.0", "c++": "clang 18.1.3", "nvcc": "13.0.88", "ncu": "2025.3.1.0",
		"compute-sanitizer": "2025.3.1", "GPU": "2 × NVIDIA H200, sm_90, 140.4 GiB",
		"ccache": "4.8", "ninja": "1.11.1", "git": "2.39.5",
	} {
		if c := report.find(t, name); c.Status != OK || c.Value != want || c.Note != "" || c.Fix != "" {
			t.Errorf("%s: %+v, want %s", name, c, want)
		} else if filepath.Dir(c.Path) != dir {
			t.Errorf("%s: path %s is not in %s", name, c.Path, dir)
		}
	}
}

func TestExamineToolsThatMisbehave(t *testing.T) {
	fakes(t, map[string]string{
		"c++":        "/usr/bin/printf '\\033[31m\\377\\000nonsense'\n",
		"nvcc":       "echo cannot execute binary >&2; exit 126\n",
		"ninja":      "exit 7\n",
		"ccache":     "/usr/bin/yes garbage without end | /usr/bin/head -c 5000000\n",
		"git":        "/bin/sleep 600 & echo git version 2.39.5\n",
		"nvidia-smi": "echo NVIDIA-SMI has failed because it could not communicate with the driver; exit 9\n",
		"python3":    "echo Traceback; exit 1\n",
	})
	report := examine(t, Options{Timeout: time.Minute})
	for name, note := range map[string]string{
		"c++":     "does not report its version: [31mnonsense",
		"nvcc":    "exit status 126: cannot execute binary",
		"ninja":   "exit status 7",
		"ccache":  "does not report its version: garbage without end",
		"GPU":     "nvidia-smi: exit status 9: NVIDIA-SMI has failed because it could not communicate with the driver",
		"python3": "exit status 1: Traceback",
	} {
		if c := report.find(t, name); c.Status != Limited || c.Note != note {
			t.Errorf("%s: %+v, want the note %q", name, c, note)
		}
	}
	if c := report.find(t, "git"); c.Status != OK || c.Value != "2.39.5" {
		t.Errorf("a tool that leaves a child behind: %+v", c)
	}
}

func TestOutputIsBounded(t *testing.T) {
	said, err := output(t.Context(), "/bin/sh", "-c", "yes | head -c 1000000")
	if err != nil || len(said) != mostOutput {
		t.Errorf("%d bytes, %v; want %d", len(said), err, mostOutput)
	}
}

func TestExamineToolThatHangs(t *testing.T) {
	left := filepath.Join(t.TempDir(), "pid")
	// Its child would hold the pipe open long after the script is gone.
	fakes(t, map[string]string{"cc": "/bin/sleep 600 & echo $! > " + left + "; wait\n"})
	report := examine(t, Options{Timeout: 500 * time.Millisecond})
	if c := report.find(t, "cc"); c.Status != Limited || c.Note != "did not answer in time" {
		t.Errorf("%+v", c)
	}
	data, err := os.ReadFile(left)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	// Killed with its group, which takes a moment; until its new parent has waited
	// it is a zombie.
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if unix.Kill(child, 0) != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d of a tool that hung is still there", child)
		}
	}
}

func TestExamineWhereThereIsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		release string
		cc, cxx string
	}{
		"debian":  {"ID=debian", "apt-get install -y gcc", "apt-get install -y g++"},
		"ubuntu":  {"ID=ubuntu\nID_LIKE=debian", "apt-get install -y gcc", "apt-get install -y g++"},
		"rocky":   {"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"", "dnf install -y gcc", "dnf install -y gcc-c++"},
		"manjaro": {"ID=manjaro\nID_LIKE=arch", "pacman -S --noconfirm gcc", "pacman -S --noconfirm gcc"},
		"alpine":  {"ID=alpine", "install a C compiler", "install a C++ compiler"},
		"unknown": {"", "install a C compiler", "install a C++ compiler"},
	} {
		t.Run(name, func(t *testing.T) {
			fakes(t, nil)
			root := t.TempDir()
			writeFile(t, filepath.Join(root, "etc/os-release"), c.release+"\n")
			report := examine(t, Options{root: root})
			for _, check := range report.Checks {
				if check.Group == Machine {
					continue
				}
				if check.Status != Missing || check.Fix == "" || check.Value != "" {
					t.Errorf("%+v is not missing, or has no fix", check)
				}
			}
			if got := strings.TrimPrefix(report.find(t, "cc").Fix, "sudo "); got != c.cc {
				t.Errorf("fix of cc = %q, want %q", got, c.cc)
			}
			if got := strings.TrimPrefix(report.find(t, "c++").Fix, "sudo "); got != c.cxx {
				t.Errorf("fix of c++ = %q, want %q", got, c.cxx)
			}
		})
	}
}

func TestCompilersAreThoseThatBuildsUse(t *testing.T) {
	dir := fakes(t, map[string]string{"my-cc": "echo my-cc 9.9; echo \"$*\" > \"${0%/*}/args\"\n"})
	t.Setenv("CC", "/usr/bin/ccache my-cc --target=x")
	if c := examine(t, Options{}).find(t, "cc"); c.Value != "9.9" || c.Path != filepath.Join(dir, "my-cc") {
		t.Errorf("%+v", c)
	}
	if args, _ := os.ReadFile(filepath.Join(dir, "args")); string(args) != "--target=x --version\n" {
		t.Errorf("it was run with %q", args)
	}
}

func TestExamineInterrupted(t *testing.T) {
	fakes(t, map[string]string{"cc": "exec /bin/sleep 600\n"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	report := Examine(ctx, Options{root: t.TempDir(), CacheDir: t.TempDir()})
	if c := report.find(t, "cc"); c.Status != Limited || c.Note == "" {
		t.Errorf("%+v", c)
	}
}

// A probe may be stuck where no context reaches, or be wrong about the machine.
func TestProbeThatNeverReturns(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	p := probe{checks: []Check{{Name: "a"}, {Name: "b"}}, look: func(context.Context, []Check) { <-release }}
	for _, c := range p.ask(context.Background(), 10*time.Millisecond) {
		if c.Status != Limited || c.Note != "no answer within 10ms" {
			t.Errorf("%+v", c)
		}
	}
}

func TestProbeThatPanics(t *testing.T) {
	p := probe{checks: []Check{{Name: "a"}}, look: func(context.Context, []Check) { panic("oh") }}
	if c := p.ask(context.Background(), time.Minute)[0]; c.Status != Limited || !strings.Contains(c.Note, "oh") {
		t.Errorf("%+v", c)
	}
}

func TestExamineThisMachine(t *testing.T) {
	report := Examine(context.Background(), Options{CacheDir: t.TempDir()})
	var groups []string
	for _, c := range report.Checks {
		if c.Name == "" || c.Gives == "" {
			t.Errorf("%+v has no name, or gives nothing", c)
		}
		switch c.Status {
		case OK:
		case Limited:
			if c.Note == "" {
				t.Errorf("%+v does not say why", c)
			}
		case Missing:
			if c.Fix == "" {
				t.Errorf("%+v has no fix", c)
			}
		default:
			t.Errorf("%+v has no status", c)
		}
		if !slices.Contains(groups, c.Group) {
			groups = append(groups, c.Group)
		}
	}
	if want := []string{Compilers, CUDA, BuildTools, Python, Machine}; !slices.Equal(groups, want) {
		t.Errorf("groups %v, want %v", groups, want)
	}
	for _, name := range []string{"cc", "c++", "git", "ninja", "ccache", "nvcc"} {
		_, err := exec.LookPath(name)
		if c := report.find(t, name); (err == nil) != (c.Status == OK) && c.Path == "" {
			t.Errorf("%s: %+v, on PATH: %v", name, c, err)
		}
	}
	for _, name := range []string{"sandbox", "pinning", "memory", "cache folder"} {
		if c := report.find(t, name); c.Value == "" && c.Note == "" {
			t.Errorf("%s says nothing: %+v", name, c)
		}
	}
	if report.Machine.CPU.Model == "" || !strings.HasPrefix(report.DeviceClass, "host-") {
		t.Errorf("machine %+v of class %s", report.Machine, report.DeviceClass)
	}
}

func TestJSON(t *testing.T) {
	data, err := json.Marshal(Report{Checks: []Check{
		{Group: CUDA, Name: "ncu", Status: Limited, Value: "1", Path: "/p", Note: "n", Gives: "g", Fix: "f"},
		{Group: BuildTools, Name: "git", Status: OK, Gives: "g"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := `"checks":[{"group":"cuda","name":"ncu","status":"limited","value":"1","path":"/p","note":"n","gives":"g","fix":"f"},` +
		`{"group":"build tools","name":"git","status":"ok","gives":"g"}]`
	if !strings.Contains(string(data), want) {
		t.Errorf("JSON form\n%s\nlacks\n%s", data, want)
	}
}

func BenchmarkExamine(b *testing.B) {
	o := Options{CacheDir: b.TempDir()}
	for b.Loop() {
		Examine(context.Background(), o)
	}
}
