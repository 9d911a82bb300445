package build

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/native/cuda/cubin"
	"pawl/internal/native/cuda/cubin/cubintest"
	"pawl/internal/result"
)

const listedSource = `extern "C" __global__ void listed(float *x) { x[threadIdx.x] *= 2; }`

// Both of NVIDIA's disassemblers list a cubin inside the sandbox of compilers.
func TestDisassemble(t *testing.T) {
	for _, toolkit := range cubintest.Toolkits(t) {
		image := toolkit.CompileOnce(t, "sm_80", listedSource)
		for _, name := range disassemblers {
			t.Setenv(disassemblerVariable, cubintest.Disassembler(t, name))
			b, err := New(Options{CacheDir: t.TempDir(), NoCcache: true, Sandbox: "auto"})
			if err != nil {
				t.Fatal(err)
			}
			got, fault := b.Disassemble(t.Context(), image)
			if fault != nil {
				t.Fatalf("%s, %s: %s (%s)", toolkit.Name, name, fault.Message, fault.Hint)
			}
			if filepath.Base(got.Tool) != name || !strings.Contains(got.Text, "LDG.E") || !strings.Contains(got.Text, "listed") || got.Sandbox == nil || got.Sandbox.Level == "off" {
				t.Errorf("%s, %s: %q, %+v", toolkit.Name, got.Tool, got.Text[:min(len(got.Text), 200)], got.Sandbox)
			}
		}
	}
}

// program writes an executable script.
func program(t *testing.T, folder, name, script string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// A disassembler reads what a stranger's source became: it reaches nothing else, and what goes wrong
// with it is said.
func TestDisassemblerIsConfined(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	secret := filepath.Join(t.TempDir(), "secret")
	writeFile(t, secret, token)
	folder := t.TempDir()
	b, err := New(Options{CacheDir: t.TempDir(), NoCcache: true, Sandbox: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, script string
		cause        result.Cause
		says         string
	}{
		{"reads the cubin", "cat \"$2\"", "", "the cubin"},
		{"reads a secret", "cat " + secret + " || true; echo done", "", "done"},
		{"writes a lot", "i=0; while [ $i -lt 6000 ]; do echo " + strings.Repeat("x", 60) + "; i=$((i+1)); done; echo done", "", "done"},
		{"fails", "echo it is broken; exit 3", result.CauseCompile, "exited with status 3 listing the kernel's instructions"},
	} {
		t.Setenv(disassemblerVariable, program(t, folder, "nvdisasm", test.script))
		got, fault := b.Disassemble(t.Context(), []byte("the cubin"))
		switch {
		case fault != nil && (fault.Cause != test.cause || !strings.Contains(fault.Message, test.says) || !strings.Contains(fault.Hint, "it is broken")):
			t.Errorf("%s: %+v", test.name, fault)
		case fault == nil && (test.cause != "" || !strings.Contains(got.Text, test.says)):
			t.Errorf("%s: %+v", test.name, got)
		case fault == nil && got.Sandbox.Level == "full" && strings.Contains(got.Text, token):
			t.Errorf("%s: it has read %s", test.name, secret)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, fault := b.Disassemble(ctx, []byte("x")); fault == nil || fault.Cause != result.CauseInterrupted {
		t.Errorf("cancelled: %+v", fault)
	}
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), tempName+"*", "cubin"))
	if len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
}

// It is found where CUDA or Python's packages have it, and whoever names one means it.
func TestFindDisassembler(t *testing.T) {
	root := t.TempDir()
	at := func(folder, name string) string { return program(t, filepath.Join(root, folder), name, "") }
	for _, name := range []string{disassemblerVariable, "CUDA_HOME", "CUDA_PATH"} {
		t.Setenv(name, "")
	}
	t.Setenv("PATH", filepath.Join(root, "path")+":"+filepath.Join(root, "venv/bin"))
	expect := func(what, want string) {
		t.Helper()
		got, fault := FindDisassembler()
		if want == "" {
			if got != "" || fault == nil || !strings.Contains(fault.Hint, "pip install nvidia-cuda-nvdisasm") {
				t.Errorf("%s: %q, %+v", what, got, fault)
			}
			return
		}
		if fault != nil || got != want {
			t.Errorf("%s: %q, %+v, want %q", what, got, fault, want)
		}
	}
	if _, err := os.Stat("/usr/local/cuda/bin/nvdisasm"); err != nil {
		expect("nothing there", "")
	}
	at("venv/bin", "python3")
	triton := at("venv/lib/python3.12/site-packages/triton/backends/nvidia/bin", "cuobjdump")
	if err := os.MkdirAll(filepath.Join(root, "venv/lib/python3.12/site-packages/nvidia"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/usr/local/cuda/bin/nvdisasm"); err != nil {
		expect("Triton's", triton)
		expect("of a package", at("venv/lib/python3.12/site-packages/nvidia/cu13/bin", "nvdisasm"))
	}
	t.Setenv("CUDA_HOME", filepath.Join(root, "cuda"))
	expect("of CUDA_HOME", at("cuda/bin", "cuobjdump"))
	expect("the one that needs no other", at("cuda/bin", "nvdisasm"))
	expect("on PATH", at("path", "cuobjdump"))
	t.Setenv(disassemblerVariable, filepath.Join(root, "cuda/bin"))
	expect("in a named folder", filepath.Join(root, "cuda/bin/nvdisasm"))
	t.Setenv(disassemblerVariable, filepath.Join(root, "cuda/bin/cuobjdump"))
	expect("named", filepath.Join(root, "cuda/bin/cuobjdump"))
	t.Setenv(disassemblerVariable, filepath.Join(root, "nowhere"))
	expect("a wrong name", "")
}

// A launcher embeds cubins in fat binaries; what is device code is one.
func TestDeviceCode(t *testing.T) {
	toolkit := cubintest.Toolkits(t)[0]
	image := toolkit.CompileOnce(t, "sm_80", listedSource)
	got, err := NewArtifact(image, "listed").DeviceCode()
	if err != nil || len(got) != 1 || string(got[0]) != string(image) {
		t.Errorf("a cubin: %d, %v", len(got), err)
	}
	if got, err = NewArtifact(packed(t, []byte("// PTX"), cubin.KindPTX)).DeviceCode(); err != nil || len(got) != 0 {
		t.Errorf("a launcher with PTX: %d, %v", len(got), err)
	}
	got, err = NewArtifact(packed(t, image)).DeviceCode()
	if err != nil || len(got) != 1 || !strings.HasPrefix(string(got[0]), string(image)) {
		t.Errorf("a launcher: %d, %v", len(got), err)
	}
	if got, err := NewArtifact([]byte("def run(): pass")).DeviceCode(); err == nil || !strings.HasPrefix(err.Error(), "find device code: ") {
		t.Errorf("text: %v, %v", got, err)
	}
}
