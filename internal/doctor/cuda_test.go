package doctor

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/build"
	"pawl/internal/native/nvrtc"
)

// root lays out system files below a temporary folder.
func root(t *testing.T, files map[string]string) *system {
	t.Helper()
	s := &system{root: t.TempDir()}
	for name, text := range files {
		writeFile(t, filepath.Join(s.root, name), text)
	}
	return s
}

const module = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\nGCC version:  gcc version 12.3.0\n"

func TestDriver(t *testing.T) {
	library := map[string]string{
		"etc/ld.so.cache":               "glibc-ld.so.cache1.1\x00libcuda.so.1\x00/usr/lib/x/libcuda.so.1\x00/gone/libcuda.so.1\x00",
		"usr/lib/x/libcuda.so.1":        "",
		"usr/lib/x/libcuda.so.1.backup": "",
	}
	both := map[string]string{"proc/driver/nvidia/version": module}
	for name, text := range library {
		both[name] = text
	}
	for name, c := range map[string]struct {
		files     map[string]string
		container bool
		want      Check
	}{
		"both":            {files: both, want: Check{Status: OK, Value: "580.65.06"}},
		"none":            {want: Check{Status: Missing, Fix: "install " + driverPage}},
		"container":       {container: true, want: Check{Status: Missing, Fix: "start the container with --gpus all"}},
		"library only":    {files: library, want: Check{Status: Limited, Note: "libcuda.so.1 is there but no kernel module is loaded", Fix: "modprobe nvidia"}},
		"module only":     {files: map[string]string{"proc/driver/nvidia/version": module}, want: Check{Status: Limited, Value: "580.65.06", Note: "the kernel module is loaded but libcuda.so.1 is not found", Fix: "install " + driverPage}},
		"Windows's Linux": {files: map[string]string{"usr/lib/wsl/lib/libcuda.so.1": ""}, want: Check{Status: OK}},
	} {
		t.Run(name, func(t *testing.T) {
			fakes(t, nil)
			s := root(t, c.files)
			s.container = c.container
			var got Check
			s.lookDriver(t.Context(), &got)
			got.Path = ""
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// fakeNVRTC compiles a library that has NVRTC's functions and says that it is 13.7.
func fakeNVRTC(t *testing.T) string {
	t.Helper()
	source := "int nvrtcVersion(int *major, int *minor) { *major = 13; *minor = 7; return 0; }\n"
	for _, name := range []string{
		"GetErrorString", "CreateProgram", "DestroyProgram", "AddNameExpression", "CompileProgram", "GetProgramLogSize", "GetProgramLog",
		"GetCUBINSize", "GetCUBIN", "GetPTXSize", "GetPTX", "GetLoweredName",
	} {
		source += "int nvrtc" + name + "(void) { return 1; }\n"
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "libnvrtc.so.13")
	writeFile(t, filepath.Join(dir, "nvrtc.c"), source)
	if said, err := exec.Command("cc", "-shared", "-fPIC", "-o", file, filepath.Join(dir, "nvrtc.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	library, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(library)
}

func TestNVRTC(t *testing.T) {
	library := fakeNVRTC(t)
	fakes(t, nil)
	if file, _, err := build.FindNVRTC(); !errors.Is(err, nvrtc.ErrNoNVRTC) {
		t.Skipf("there is one for everybody here: %s, %v", file, err)
	}
	const wheel = "lib/python3.11/site-packages/nvidia/cu13"
	for name, c := range map[string]struct {
		files    map[string]string // NVRTC and its headers
		variable string            // that names their folder
		want     Check
	}{
		"none":              {want: Check{Status: Missing, Fix: "fix"}},
		"named":             {map[string]string{"lib/libnvrtc.so.13": library, "include/cuda.h": ""}, "PAWL_NVRTC", Check{Status: OK, Value: "13.7"}},
		"toolkit":           {map[string]string{"lib64/libnvrtc.so.13": library, "include/cuda.h": ""}, "CUDA_HOME", Check{Status: OK, Value: "13.7"}},
		"package of Python": {map[string]string{"bin/python3": "", wheel + "/lib/libnvrtc.so.13": library, wheel + "/include/cuda.h": ""}, "PATH", Check{Status: OK, Value: "13.7"}},
		"no headers":        {map[string]string{"lib/libnvrtc.so.13": library}, "PAWL_NVRTC", Check{Status: Limited, Note: "has no CUDA headers", Fix: "fix"}},
		"named, not there":  {map[string]string{"lib/other": ""}, "PAWL_NVRTC", Check{Status: Missing, Note: "which has none", Fix: "set PAWL_NVRTC to NVRTC's folder, or unset it"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := root(t, c.files).root
			if c.variable == "PATH" {
				t.Setenv("PATH", filepath.Join(folder, "bin"))
			} else if c.variable != "" {
				t.Setenv(c.variable, folder)
			}
			var got Check
			lookNVRTC(&got, "fix")
			if got.Status != c.want.Status || got.Value != c.want.Value || got.Fix != c.want.Fix || !strings.Contains(got.Note, c.want.Note) ||
				(got.Note == "") != (c.want.Note == "") || strings.HasPrefix(got.Path, folder) != (c.want.Status == OK) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestNamedNVCC(t *testing.T) {
	fakes(t, nil)
	t.Setenv("NVCC", filepath.Join(root(t, map[string]string{"nvcc": "#!/bin/sh\necho release 13.0, V13.0.88\n"}).root, "nvcc"))
	if c := examine(t, Options{}).find(t, "nvcc"); c.Status != OK || c.Value != "13.0.88" {
		t.Errorf("%+v", c)
	}
}

func TestFixesOfNVIDIA(t *testing.T) {
	fakes(t, nil)
	for name, c := range map[string]struct {
		files map[string]string
		nvcc  string
	}{
		"debian":               {map[string]string{"etc/os-release": "ID=debian", "etc/apt/sources.list": "deb http://deb.example.org stable main\n"}, "install " + toolkitPage},
		"debian with non-free": {map[string]string{"etc/os-release": "ID=debian", "etc/apt/sources.list.d/a.sources": "Components: main non-free\n"}, "apt-get install -y nvidia-cuda-toolkit"},
		"ubuntu":               {map[string]string{"etc/os-release": "ID=ubuntu\nID_LIKE=debian"}, "apt-get install -y nvidia-cuda-toolkit"},
		"fedora":               {map[string]string{"etc/os-release": "ID=fedora"}, "install " + toolkitPage},
		"arch":                 {map[string]string{"etc/os-release": "ID=arch"}, "pacman -S --noconfirm cuda"},
	} {
		report := examine(t, Options{root: root(t, c.files).root})
		if got := strings.TrimPrefix(report.find(t, "nvcc").Fix, "sudo "); got != c.nvcc {
			t.Errorf("%s: fix of nvcc = %q, want %q", name, got, c.nvcc)
		}
	}
}

func TestToolsOutsidePath(t *testing.T) {
	fakes(t, nil)
	s := root(t, map[string]string{
		"usr/local/cuda/bin/nvcc":                   "#!/bin/sh\necho release 12.8, V12.8.93\n",
		"opt/nvidia/nsight-compute/2024.1.0/ncu":    "#!/bin/sh\necho Version 2024.1.0\n",
		"opt/nvidia/nsight-compute/2025.3.1/ncu":    "#!/bin/sh\necho Version 2025.3.1\n",
		"usr/local/cuda/bin/compute-sanitizer/file": "a folder is not a program",
	})
	report := examine(t, Options{root: s.root})
	if c := report.find(t, "nvcc"); c.Status != OK || c.Value != "12.8.93" {
		t.Errorf("%+v", c)
	}
	if c := report.find(t, "ncu"); c.Status != OK || c.Value != "2025.3.1" {
		t.Errorf("not the newest: %+v", c)
	}
	if c := report.find(t, "compute-sanitizer"); c.Status != Missing {
		t.Errorf("%+v", c)
	}
}

// The ncu that pawl would run is the one that the doctor looks at.
func TestNamedNCU(t *testing.T) {
	fakes(t, map[string]string{"ncu": "#!/bin/sh\necho Version 2024.1.0\n"})
	named := filepath.Join(t.TempDir(), "ncu-new")
	if err := os.WriteFile(named, []byte("#!/bin/sh\necho Version 2026.1.0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PAWL_NCU", named)
	if c := examine(t, Options{root: root(t, nil).root}).find(t, "ncu"); c.Status != OK || c.Value != "2026.1.0" || c.Path != named {
		t.Errorf("%+v", c)
	}
}

func TestGPUWithoutNvidiaSMI(t *testing.T) {
	fakes(t, nil)
	s := root(t, map[string]string{
		"proc/driver/nvidia/gpus/0000:04:00.0/information": "Model: \t\t NVIDIA H200\nIRQ:   \t\t 64\n",
	})
	if c := examine(t, Options{root: s.root}).find(t, "GPU"); c.Status != OK || c.Value != "NVIDIA H200" {
		t.Errorf("%+v", c)
	}
}

func TestPermissionOfCounters(t *testing.T) {
	const everybody, administrators = "EnableMSI: 1\nRmProfilingAdminOnly: 0\n", "EnableMSI: 1\nRmProfilingAdminOnly: 1\n"
	const plain, sysAdmin = "Name:\tx\nCapEff:\t00000000a80425fb\n", "CapEff:\t000001ffffffffff\n"
	const perfmon = "CapEff:\t0000004000000000\n"
	for name, c := range map[string]struct {
		params, status string
		container      bool
		want           Status
		fix            string
	}{
		"open to all":               {everybody, plain, false, OK, ""},
		"restricted, administrator": {administrators, sysAdmin, false, OK, ""},
		"restricted":                {administrators, plain, false, Limited, "NVreg_RestrictProfilingToAdminUsers=0"},
		"restricted, perfmon":       {administrators, perfmon, false, OK, ""},
		"restricted, container":     {administrators, plain, true, Limited, "--cap-add PERFMON"},
		"no driver":                 {"", plain, false, OK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := root(t, map[string]string{"proc/driver/nvidia/params": c.params, "proc/self/status": c.status})
			s.container = c.container
			got := Check{Status: OK}
			s.lookPermission(&got)
			if got.Status != c.want || !strings.Contains(got.Fix, c.fix) || (got.Note == "") != (c.want == OK) {
				t.Errorf("%+v", got)
			}
		})
	}
}
