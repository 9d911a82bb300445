package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/native/nvrtc"
	"pawl/internal/result"
)

// runtimeCompiler is NVRTC, NVIDIA's compiler in a library, and the headers that it compiles
// against: it builds CUDA kernels where there is no nvcc.
type runtimeCompiler struct {
	library *nvrtc.Library
	file    string   // of the library
	version string   // NVRTC 13.0
	headers []string // folders, in the order they are searched
	id      string   // of this state of the library and the headers
}

// noCompiler returns the fault of a machine that can compile CUDA in neither way.
func noCompiler(nvcc, runtime error) *result.Fault {
	const hint = "install the CUDA toolkit, or name its nvcc in NVCC; or pip install nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt, " +
		"or name NVRTC's folder in PAWL_NVRTC"
	return newFault(result.CauseUnsupported, hint, "no CUDA compiler: %v, nor in CUDA_HOME, CUDA_PATH or /usr/local/cuda; and NVRTC cannot replace it: %v", nvcc, runtime)
}

// FindNVRTC returns the file and the version, such as NVRTC 13.0, of the library that compiles CUDA
// kernels where there is no nvcc. An [nvrtc.ErrNoNVRTC] means that there is none; any other error
// says why it cannot be used.
func FindNVRTC() (file, version string, err error) {
	c, err := findRuntimeCompiler()
	if err != nil {
		return "", "", err
	}
	return c.file, c.version, nil
}

func findRuntimeCompiler() (*runtimeCompiler, error) {
	var named []string
	if path := os.Getenv("PAWL_NVRTC"); path != "" {
		named = append(named, path)
	}
	library, err := nvrtc.Open(named...)
	wheels := pythonPackages()
	if err != nil {
		var folders []string
		for _, wheel := range wheels {
			folders = append(folders, filepath.Join(wheel, "cuda_nvrtc"), wheel)
		}
		// Only what is there, or it would be tried as a file.
		folders = slices.DeleteFunc(folders, func(folder string) bool { return !isDir(folder) })
		if len(folders) == 0 {
			return nil, err
		}
		if library, err = nvrtc.Open(append(named, folders...)...); err != nil {
			return nil, err
		}
	}
	major, minor, err := library.Version()
	if err != nil {
		return nil, err
	}
	c := &runtimeCompiler{library: library, file: libraryFile(library.Path()), version: fmt.Sprintf("NVRTC %d.%d", major, minor)}
	var tried []string
	for _, folder := range headerFolders(c.file, named, wheels) {
		if _, err := os.Stat(filepath.Join(folder, "cuda.h")); err == nil {
			c.headers = withRelatives(folder)
			break
		}
		tried = append(tried, folder)
	}
	if c.headers == nil {
		return nil, fmt.Errorf("%s (%s) has no CUDA headers: no cuda.h in %s", c.version, c.file, strings.Join(tried, ", "))
	}
	c.id, err = c.identify()
	return c, err
}

// folders returns what NVRTC reads besides the user's files.
func (c *runtimeCompiler) folders() []string {
	var s folderSet
	s.add(c.file, filepath.Dir(c.file))
	if real, err := filepath.EvalSymlinks(c.file); err == nil {
		s.add(filepath.Dir(real))
	}
	s.add(c.headers...)
	return s
}

// identify hashes what distinguishes one installation from another. Headers are not read: those of
// a toolkit change with it, and cuda.h with them.
func (c *runtimeCompiler) identify() (string, error) {
	library, err := fileID(c.file, nil)
	if err != nil {
		return "", err
	}
	header, err := fileID(filepath.Join(c.headers[0], "cuda.h"), nil)
	if err != nil {
		return "", err
	}
	return hashOf("nvrtc 1", c.version, []string{library, header}, c.headers), nil
}

// libraryFile returns the file of a loaded library that the dynamic linker found by name.
func libraryFile(path string) string {
	if strings.Contains(path, "/") {
		return path
	}
	maps, _ := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		if at := strings.Index(line, "/"); at >= 0 && strings.HasPrefix(filepath.Base(strings.TrimSpace(line[at:])), path) {
			return strings.TrimSpace(line[at:])
		}
	}
	return path
}

// headerFolders returns the places where CUDA's headers may be, those that belong to
// the library first.
func headerFolders(library string, named, wheels []string) []string {
	var folders []string
	add := func(path ...string) {
		if folder := filepath.Join(path...); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	add(filepath.Dir(library), "..", "include")
	add(filepath.Dir(library), "..", "..", "cuda_runtime", "include") // NVIDIA's Python packages of CUDA 12
	for _, path := range named {
		add(path, "include")
		add(path, "..", "include")
	}
	for _, variable := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if home := os.Getenv(variable); home != "" {
			add(home, "include")
		}
	}
	add("/usr/local/cuda/include")
	for _, wheel := range wheels {
		add(wheel, "include")
		add(wheel, "cuda_runtime", "include")
	}
	return folders
}

// withRelatives adds the folders that nvcc would also search: the C++ library, and those that
// separate Python packages keep beside each other.
func withRelatives(folder string) []string {
	folders := []string{folder}
	beside := filepath.Join(folder, "..", "..")
	for _, other := range []string{
		filepath.Join(folder, "cccl"), filepath.Join(beside, "cuda_nvcc", "include"), filepath.Join(beside, "cuda_cccl", "include"),
	} {
		if isDir(other) {
			folders = append(folders, other)
		}
	}
	return folders
}

// pythonPackages returns the common folders of NVIDIA's packages for the Python on PATH:
// nvidia/cu13, or nvidia for those of CUDA 12. Python is not asked: it takes longer to start than a
// cached build.
func pythonPackages() []string {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil
	}
	if python, err = filepath.Abs(python); err != nil {
		return nil
	}
	prefix := filepath.Dir(filepath.Dir(python)) // of a virtual environment too: its python3 is a link that leads out of it
	var found []string
	for _, pattern := range []string{"lib*/python3*/site-packages", "lib*/python3*/dist-packages", "local/lib/python3*/dist-packages"} {
		sites, _ := filepath.Glob(filepath.Join(prefix, pattern, "nvidia"))
		for _, site := range sites {
			newest, _ := filepath.Glob(filepath.Join(site, "cu1*"))
			slices.SortFunc(newest, func(a, b string) int { return strings.Compare(b, a) })
			found = append(append(found, newest...), site)
		}
	}
	return found
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
