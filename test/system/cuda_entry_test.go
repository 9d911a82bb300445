package system

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/native/cuda/cubin"
	"pawl/internal/native/nvml/nvmltest"
	"pawl/internal/result"
)

// planEntries checks a change of a file with several kernels, of which the compiler makes one cubin
// before the change and another after it.
func planEntries(t *testing.T, before, after []byte, entries ...string) (*result.Report, string) {
	t.Helper()
	binary, err := fakeGPU()
	if err != nil {
		t.Skip(err)
	}
	p := newProject(t)
	p.binary = binary
	p.write("k.cu", "// before\n")
	p.write("before.cubin", string(before))
	p.write("after.cubin", string(after))
	yaml := "version: 1\nkernels:\n"
	for _, entry := range entries {
		yaml += fmt.Sprintf("  %s: {source: k.cu, entry: %s, launch: {grid: 1, block: 32}, args: [{name: x, dtype: f32, shape: [N], role: inout}]}\n", entry, entry)
	}
	p.write("pawl.yaml", yaml+"configs: {c: {N: 4096}}\n")
	nvcc := filepath.Join(t.TempDir(), "nvcc")
	if err := os.WriteFile(nvcc, []byte(`#!/bin/sh
if [ "$1" = --version ]; then echo "Cuda compilation tools, release 13.0, V13.0.88"; exit; fi
while [ $# -gt 0 ]; do
	case $1 in
	-o) out=$2; shift ;;
	-MF) rules=$2; shift ;;
	esac
	shift
done
read -r slashes which <k.cu
cp "$which.cubin" "$out" && echo "k: k.cu $which.cubin" >"$rules"
`), 0o755); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "NVCC="+nvcc, "LD_LIBRARY_PATH="+filepath.Dir(nvmltest.Build(t)), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	p.git("init", "--quiet", "--initial-branch=main")
	p.git("add", "--all")
	p.git("commit", "--quiet", "-m", "first")
	p.write("k.cu", "// after\n")
	p.git("commit", "--quiet", "-am", "change")
	got := p.run("check", "--plan")
	return p.report(), got.stdout + got.stderr
}

// compiled returns a cubin that build's tests have, and the same with another byte in a section.
func compiled(t *testing.T, name, section string) (before, after []byte) {
	t.Helper()
	before, err := os.ReadFile(filepath.Join("../../internal/build/testdata", name+".cubin"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := cubin.Open(before)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(file.Sections, func(s *elf.Section) bool { return s.Name == section })
	after = slices.Clone(before)
	after[file.Sections[at].Offset+2] ^= 1
	return before, after
}

// A function that changes is measured in the kernels that call it. The others of its file are
// unchanged.
func TestCUDAEntries(t *testing.T) {
	t.Parallel()
	before, after := compiled(t, "linked", ".text._Z5innerf")
	report, text := planEntries(t, before, after, "direct", "other", "plain")
	for kernel, plan := range map[string]string{"direct": "play against base ", "other": "nothing: unchanged", "plain": "nothing: unchanged"} {
		if row := rowOf(t, report, kernel); !strings.HasPrefix(row.Plan, plan) || row.Build == nil || row.Build.WholeFile != "" || len(row.Warnings) > 0 {
			t.Errorf("%s: plan %q, build %+v, warnings %+v", kernel, row.Plan, row.Build, row.Warnings)
		}
	}
	if !strings.Contains(text, "1 kernel changed, 2 unchanged") {
		t.Error(text)
	}
}

// Where any kernel may call any function, all count as changed, and the report says why.
func TestCUDAWholeFile(t *testing.T) {
	t.Parallel()
	before, after := compiled(t, "pointers", ".text._Z5innerf")
	report, text := planEntries(t, before, after, "direct", "plain")
	const why = "data of the cubin points to .text._Z5outerf"
	for _, kernel := range []string{"direct", "plain"} {
		row := rowOf(t, report, kernel)
		noted := slices.ContainsFunc(row.Warnings, func(w result.Warning) bool {
			return w.Code == "whole-file" && w.Message == "any change in k.cu counts as a change of this kernel: "+why
		})
		if !strings.HasPrefix(row.Plan, "play against base ") || row.Build == nil || row.Build.WholeFile != why || !noted {
			t.Errorf("%s: plan %q, build %+v, warnings %+v", kernel, row.Plan, row.Build, row.Warnings)
		}
	}
	if !strings.Contains(text, "any change in k.cu counts as a change of this kernel") {
		t.Error(text)
	}
	report, _ = planEntries(t, before, before, "direct", "plain")
	if row := rowOf(t, report, "plain"); row.Plan != "nothing: unchanged" || len(row.Warnings) > 0 {
		t.Errorf("plan %q, warnings %+v", row.Plan, row.Warnings)
	}
}
