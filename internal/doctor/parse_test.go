package doctor

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestVersion(t *testing.T) {
	for said, want := range map[string]string{
		"gcc (GCC) 14.2.1 20240912 (Red Hat 14.2.1-3)\n":                         "14.2.1",
		"cc (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0\n":                             "13.3.0",
		"Apple clang version 15.0.0 (clang-1500.3.9.4)":                          "15.0.0",
		"Copyright (c) 2018-2025 NVIDIA Corporation\nVersion 2025.3.1.0 (build)": "2025.3.1.0",
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder@U22-I3)\nGCC version:  gcc version 12.3.0": "580.65.06",
		"version 7": "",
		"":          "",
	} {
		if got := version(said); got != want {
			t.Errorf("version(%q) = %q, want %q", said, got, want)
		}
	}
}

func TestDescribeGPU(t *testing.T) {
	for line, want := range map[string]string{
		"\n":                                   "",
		", 9.0, 1":                             "",
		"NVIDIA H200":                          "NVIDIA H200",
		"NVIDIA H200, 9.0, 143771\n":           "NVIDIA H200, sm_90, 140.4 GiB",
		"Tesla K80, [N/A], 11441":              "Tesla K80, 11.2 GiB",
		"NVIDIA GeForce RTX 5090, 12.0, 32607": "NVIDIA GeForce RTX 5090, sm_120, 31.8 GiB",
		"NVIDIA A100 MIG 1g.5gb, 8.0, [N/A]":   "NVIDIA A100 MIG 1g.5gb, sm_80",
	} {
		if got := describeGPU(line); got != want {
			t.Errorf("describeGPU(%q) = %q, want %q", line, got, want)
		}
	}
}

func TestCounted(t *testing.T) {
	if got, want := counted([]string{"A", "B", "A", "A"}), "3 × A; B"; got != want {
		t.Errorf("counted = %q, want %q", got, want)
	}
}

// What tools print ends up on the user's terminal.
func FuzzToolOutput(f *testing.F) {
	for _, seed := range []string{
		"cc (Debian 12.2.0-14) 12.2.0\nCopyright Free Software Foundation",
		"Cuda compilation tools, release 13.0, V13.0.88",
		"NVIDIA H200, 9.0, 143771",
		"\x1b[31m\xff\x00 1.2",
		"((((1.2))) 3.4",
		strings.Repeat("é", 500),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, said string) {
		for _, text := range []string{
			version(said), compilerVersion(said), nvccVersion(said), describeGPU(said), firstNonEmptyLine(said),
		} {
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return printable(r) < 0 }) {
				t.Errorf("%q became %q", said, text)
			}
		}
	})
}
