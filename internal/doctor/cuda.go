package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/build"
	"pawl/internal/native/nvrtc"
	"pawl/internal/nsight"
	"pawl/internal/pattern"
	"pawl/internal/unit"
)

const (
	toolkitPage = "the CUDA toolkit: https://developer.nvidia.com/cuda-downloads"
	driverPage  = "the NVIDIA driver: https://www.nvidia.com/drivers"
)

func (s *system) cuda() []probe {
	toolkit := s.installNVIDIA("nvidia-cuda-toolkit", "cuda", toolkitPage)
	nvcc := newCompiler(CUDA, "nvcc", "NVCC", "CUDA kernels", toolkit, nvccVersion)
	nvcc.folders = s.toolkitFolders("bin")
	ncu := newTool(CUDA, cmp.Or(os.Getenv(nsight.Variable), "ncu"), "hardware counters that say why a kernel is slow",
		s.installNVIDIA("nsight-compute", "nsight-compute", "Nsight Compute: https://developer.nvidia.com/nsight-compute"))
	ncu.check.Name = "ncu" // whichever it is
	ncu.folders = nsight.Places(s.path(""))
	sanitizer := newTool(CUDA, "compute-sanitizer", "memory errors and races in CUDA kernels", toolkit)
	sanitizer.folders = append(s.toolkitFolders("bin"), s.toolkitFolders("compute-sanitizer")...)
	return []probe{
		nvcc.probe(),
		single(Check{Group: CUDA, Name: "NVRTC", Gives: "CUDA kernels where nvcc is missing"},
			func(_ context.Context, c *Check) { lookNVRTC(c, toolkit) }),
		single(Check{Group: CUDA, Name: "driver", Gives: "runs CUDA kernels"}, s.lookDriver),
		single(Check{Group: CUDA, Name: "GPU", Gives: "the device that CUDA kernels are measured on"}, s.lookGPU),
		single(ncu.check, func(ctx context.Context, c *Check) {
			ncu.look(ctx, c)
			s.lookPermission(c)
		}),
		sanitizer.probe(),
	}
}

// toolkitFolders returns the places of a CUDA toolkit's folder, best first.
func (s *system) toolkitFolders(name string) []string {
	var folders []string
	for _, variable := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if home := os.Getenv(variable); home != "" {
			folders = append(folders, filepath.Join(home, name))
		}
	}
	return append(folders, s.path("usr/local/cuda/"+name), s.path("opt/cuda/"+name))
}

var nvccRelease = pattern.New(`\bV(\d+(?:\.\d+)+)`)

// nvccVersion: "Cuda compilation tools, release 13.0, V13.0.88".
func nvccVersion(said string) string {
	if found := nvccRelease.FindStringSubmatch(said); found != nil {
		return found[1]
	}
	return version(said)
}

// lookNVRTC finds the one that builds use, headers included.
func lookNVRTC(c *Check, fix string) {
	file, said, err := build.FindNVRTC()
	switch named := os.Getenv("PAWL_NVRTC"); {
	case err == nil:
		c.Status, c.Path, c.Value = OK, file, version(said)
	case !errors.Is(err, nvrtc.ErrNoNVRTC):
		c.Status, c.Note, c.Fix = Limited, clip(err.Error()), fix
	case named != "":
		c.Status, c.Note, c.Fix = Missing, "PAWL_NVRTC names "+clip(named)+", which has none", "set PAWL_NVRTC to NVRTC's folder, or unset it"
	default:
		c.Status, c.Fix = Missing, fix
	}
}

// library finds a shared library as the dynamic linker would. Asking ldconfig would
// start a process for what its cache, plain strings between zero bytes, tells as well.
func (s *system) library(prefix string) string {
	inFolders := func(folders ...string) string {
		for _, folder := range folders {
			if found, _ := filepath.Glob(filepath.Join(folder, prefix+"*")); len(found) > 0 {
				return found[0]
			}
		}
		return ""
	}
	if path := inFolders(filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))...); path != "" {
		return path
	}
	for entry := range strings.SplitSeq(s.text("etc/ld.so.cache"), "\x00") {
		if filepath.IsAbs(entry) && strings.HasPrefix(filepath.Base(entry), prefix) {
			if _, err := os.Stat(s.path(entry)); err == nil {
				return s.path(entry)
			}
		}
	}
	return inFolders(s.path("usr/lib/wsl/lib"), s.path("usr/lib64"), s.path("usr/lib"))
}

func (s *system) lookDriver(_ context.Context, c *Check) {
	c.Value = version(s.text("proc/driver/nvidia/version"))
	c.Path = s.library("libcuda.so.1")
	fix := s.installNVIDIA("nvidia-driver", "nvidia-open", driverPage)
	if s.ubuntu {
		fix = s.sudo + "ubuntu-drivers install"
	}
	if s.container {
		fix = "start the container with --gpus all"
	}
	switch {
	case c.Path == "" && c.Value == "":
		c.Status, c.Fix = Missing, fix
	case c.Path == "":
		c.Status, c.Note, c.Fix = Limited, "the kernel module is loaded but libcuda.so.1 is not found", fix
	case c.Value == "" && !strings.Contains(c.Path, "/wsl/"):
		c.Status, c.Note, c.Fix = Limited, "libcuda.so.1 is there but no kernel module is loaded", fix
		if !s.container {
			c.Fix = s.sudo + "modprobe nvidia"
		}
	default:
		c.Status = OK
	}
}

func (s *system) lookGPU(ctx context.Context, c *Check) {
	c.Value = counted(s.gpuModels())
	smi := find("nvidia-smi", []string{s.path("usr/lib/wsl/lib")})
	switch {
	case smi == "" && c.Value != "":
		c.Status = OK
		return
	case smi == "":
		c.Status, c.Fix = Missing, "a machine with an NVIDIA GPU; kernels in C and C++ need none"
		if s.container {
			c.Fix = "start the container with --gpus all, if the machine has an NVIDIA GPU"
		}
		return
	}
	c.Path = smi
	said, err := output(ctx, smi, "--query-gpu=name,compute_cap,memory.total", "--format=csv,noheader,nounits")
	if err != nil {
		c.Status, c.Note = Limited, "nvidia-smi: "+err.Error()
		return
	}
	var gpus []string
	for line := range strings.Lines(said) {
		if gpu := describeGPU(line); gpu != "" {
			gpus = append(gpus, gpu)
		}
	}
	c.Status, c.Value = OK, counted(gpus)
	if len(gpus) == 0 {
		c.Status, c.Note = Limited, "nvidia-smi names no GPU"
	}
}

// describeGPU turns "NVIDIA H200, 9.0, 143771" into "NVIDIA H200, sm_90,
// 140 GiB"; what an older nvidia-smi does not know is left out.
func describeGPU(line string) string {
	fields := strings.Split(clip(line), ",")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	parts := fields[:1]
	if parts[0] == "" {
		return ""
	}
	if len(fields) > 1 && number.FindString(fields[1]) == fields[1] && fields[1] != "" {
		parts = append(parts, "sm_"+strings.ReplaceAll(fields[1], ".", ""))
	}
	if len(fields) > 2 {
		if mib, err := strconv.ParseInt(fields[2], 10, 32); err == nil && mib > 0 {
			parts = append(parts, unit.Bytes(mib<<20))
		}
	}
	return strings.Join(parts, ", ")
}

// gpuModels asks the kernel module, which tells less.
func (s *system) gpuModels() []string {
	files, _ := filepath.Glob(s.path("proc/driver/nvidia/gpus/*/information"))
	var models []string
	for _, file := range files {
		data, _ := os.ReadFile(file) // what cannot be read names none
		if model := field(string(data), "Model"); model != "" {
			models = append(models, clip(model))
		}
	}
	return models
}

// field returns the value of a key in lines of "key: value"; "" where there is none.
func field(text, key string) string {
	for line := range strings.Lines(text) {
		if name, value, _ := strings.Cut(line, ":"); name == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// counted folds equal descriptions: "8 × NVIDIA H200".
func counted(names []string) string {
	var parts []string
	for len(names) > 0 {
		first := names[0]
		rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == first })
		if n := len(names) - len(rest); n > 1 {
			first = fmt.Sprintf("%d × %s", n, first)
		}
		parts = append(parts, first)
		names = rest
	}
	return strings.Join(parts, "; ")
}

// lookPermission finds out whether the driver lets this user read counters:
// by default only those who administer the machine.
func (s *system) lookPermission(c *Check) {
	if c.Status != OK || s.readsCounters() || field(s.text("proc/driver/nvidia/params"), "RmProfilingAdminOnly") != "1" {
		return
	}
	c.Status, c.Note = Limited, "the driver restricts counters to administrators"
	c.Fix = "echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 | sudo tee /etc/modprobe.d/pawl-profiling.conf, then reboot"
	if s.container {
		c.Fix = "start the container with --cap-add PERFMON, or let every user of the host read counters (NVreg_RestrictProfilingToAdminUsers=0)"
	}
}

// readsCounters reports CAP_PERFMON, which is what the driver asks for and what a sandboxed cell may
// keep: root in a container often lacks it. Older drivers ask for CAP_SYS_ADMIN.
func (s *system) readsCounters() bool {
	const sysAdmin, perfmon = 21, 38
	set, err := strconv.ParseUint(field(s.text("proc/self/status"), "CapEff"), 16, 64)
	return err == nil && set&(1<<sysAdmin|1<<perfmon) != 0
}
