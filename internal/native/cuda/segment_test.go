package cuda_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/native/cuda"
)

// compiled returns a source of testdata, made anew by nvcc.
func compiled(t *testing.T, name string, flags ...string) []byte {
	t.Helper()
	nvcc := os.Getenv("NVCC")
	if nvcc == "" {
		nvcc = "nvcc"
	}
	if _, err := exec.LookPath(nvcc); err != nil {
		t.Skipf("no nvcc: %v (NVCC names one)", err)
	}
	out := filepath.Join(t.TempDir(), "out")
	args := append(flags, "-arch=sm_90", "-o", out, filepath.Join("testdata", name))
	if output, err := exec.Command(nvcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("nvcc: %v\n%s", err, output)
	}
	return read(t, out)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// plain shortens the names of variables in unnamed namespaces, which carry a hash.
func plain(segments []cuda.Segment) map[string][]string {
	found := map[string][]string{}
	for _, s := range segments {
		for _, v := range s.Variables {
			name := v.Name
			for _, short := range []string{"unnamed", "zero", "local"} {
				if strings.HasPrefix(name, "_Z") && strings.Contains(name, short) {
					name = short
				}
			}
			found[s.Name] = append(found[s.Name], name)
		}
	}
	return found
}

func TestSegments(t *testing.T) {
	want := map[string][]string{
		".nv.global":      {"zero", "hidden", "local", "counter"},
		".nv.global.init": {"pointer", "unnamed", "table", "odd"},
	}
	for _, made := range []struct {
		name  string
		cubin func(t *testing.T) []byte
	}{
		{"committed", func(t *testing.T) []byte { return read(t, "testdata/globals.cubin") }},
		{"compiled", func(t *testing.T) []byte { return compiled(t, "globals.cu", "-cubin") }},
		{"with lines", func(t *testing.T) []byte { return compiled(t, "globals.cu", "-cubin", "-O3", "-lineinfo") }},
	} {
		t.Run(made.name, func(t *testing.T) {
			got, err := cuda.Segments(made.cubin(t))
			if err != nil {
				t.Fatal(err)
			}
			names := plain(got)
			for section := range want {
				if diff := cmp.Diff(sorted(want[section]), sorted(names[section])); diff != "" {
					t.Errorf("%s: %s", section, diff)
				}
			}
			for _, s := range got {
				end := uint64(0)
				for _, v := range s.Variables {
					if v.Offset < end {
						t.Errorf("%s overlaps what precedes it", v.Name)
					}
					end = v.Offset + v.Size
				}
				if end > s.Size || len(s.Managed) > 0 {
					t.Errorf("%s: %+v", s.Name, s)
				}
			}
		})
	}
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

func TestSegmentsManaged(t *testing.T) {
	got, err := cuda.Segments(read(t, "testdata/managed.cubin"))
	if err != nil {
		t.Fatal(err)
	}
	var managed []string
	for _, s := range got {
		managed = append(managed, s.Managed...)
	}
	if diff := cmp.Diff([]string{"shared_with_host"}, managed); diff != "" {
		t.Error(diff)
	}
}

func TestSegmentsRefuses(t *testing.T) {
	host, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for name, image := range map[string][]byte{"nothing": nil, "PTX": []byte(".version 8.0"), "host code": host} {
		if got, err := cuda.Segments(image); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestLocate(t *testing.T) {
	unknown := errors.New("not found")
	s := cuda.Segment{Name: ".nv.global", Size: 64, Variables: []cuda.Variable{{"a", 8, 4}, {"b", 16, 8}, {"c", 32, 3}}}
	for _, test := range []struct {
		name   string
		at     map[string]cuda.DevicePtr
		want   []cuda.Span
		failed bool
	}{
		{"all of them", map[string]cuda.DevicePtr{"a": 1008, "b": 1016, "c": 1032}, []cuda.Span{{1008, 27}}, false},
		{"one of them", map[string]cuda.DevicePtr{"b": 1016}, []cuda.Span{{1008, 27}}, false},
		{"none of them", nil, nil, true},
		{"apart", map[string]cuda.DevicePtr{"a": 4096, "b": 8192, "c": 512}, []cuda.Span{{4096, 4}, {8192, 8}, {512, 3}}, false},
		{"apart, and one missing", map[string]cuda.DevicePtr{"a": 4096, "b": 8192}, nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := s.Locate(func(name string) (cuda.DevicePtr, uint64, error) {
				for _, v := range s.Variables {
					if at, ok := test.at[name]; ok && v.Name == name {
						return at, v.Size, nil
					}
				}
				return 0, 0, unknown
			})
			if (err != nil) != test.failed || err != nil && !errors.Is(err, unknown) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKernelNames(t *testing.T) {
	want := []string{"_Z6unusedPi", "_ZN5tiles6filledILi4EEEvPf", "internal", "plain"}
	for _, mode := range []string{"", "speed", "size"} {
		t.Run("compressed "+mode, func(t *testing.T) {
			flags := []string{"-Xcompiler", "-fPIC", "-c"}
			if mode != "" {
				flags = append(flags, "--compress-mode="+mode)
			}
			image := compiled(t, "launcher.cu", flags...)
			got, err := cuda.KernelNames(image)
			if err != nil {
				t.Fatal(err)
			}
			for i, name := range got {
				if strings.Contains(name, "8internal") {
					got[i] = "internal"
				}
			}
			if diff := cmp.Diff(want, sorted(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKernelNamesOfOthers(t *testing.T) {
	host := read(t, "/proc/self/exe")
	if got, err := cuda.KernelNames(host); err != nil || len(got) > 0 {
		t.Errorf("kernels of a program without any: %v, %v", got, err)
	}
	if _, err := cuda.KernelNames([]byte("no ELF")); err == nil {
		t.Error("kernels of a text")
	}
}

// Device code that cannot be read must not hide the kernels.
func TestKernelNamesByStub(t *testing.T) {
	image := compiled(t, "launcher.cu", "-Xcompiler", "-fPIC", "-c")
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	section := file.Section(".nv_fatbin")
	copy(image[section.Offset+16:section.Offset+section.Size], make([]byte, section.Size))
	got, err := cuda.KernelNames(image)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"plain", "_Z6unusedPi"} {
		if !strings.Contains(strings.Join(got, " "), want) {
			t.Errorf("no %s among %v", want, got)
		}
	}
}

func FuzzSegments(f *testing.F) {
	for _, name := range []string{"globals", "managed"} {
		raw, err := os.ReadFile("testdata/" + name + ".cubin")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(_ *testing.T, image []byte) {
		_, _ = cuda.Segments(image)
		_, _ = cuda.KernelNames(image)
	})
}

// Symbols are variables of both memories, whoever compiled them.
func TestSymbols(t *testing.T) {
	names, err := cuda.Symbols(read(t, "testdata/globals.cubin"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"coefficients", "counter", "odd", "pointer", "table"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not among %v", name, names)
		}
	}
	if slices.Contains(names, "remember") {
		t.Errorf("a kernel is among %v", names)
	}
	if _, err := cuda.Symbols([]byte("no cubin")); err == nil {
		t.Error("no cubin has symbols")
	}
}
