package sanitizer

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// sources are the files that each sample's findings are told in.
var sources = map[string]string{
	"memcheck_old": "scan.cu", "memcheck_inline": "kernels/check.cu", "synccheck": "illegal_syncwarp.cu",
}

func TestSamples(t *testing.T) {
	samples, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, sample := range samples {
		name := strings.TrimSuffix(filepath.Base(sample), ".txt")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(sample)
			if err != nil {
				t.Fatal(err)
			}
			tool, _, _ := strings.Cut(name, "_")
			got, err := json.MarshalIndent(Parse(tool, string(text), sources[name]), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnderstood(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		understood bool
	}{
		{"nothing", "", false},
		{"clean", "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", true},
		{"clean race", "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n", true},
		{"not all printed", "========= Invalid __global__ read of size 4 bytes\n=========     at k()+0x10 in k.cu:3\n========= ERROR SUMMARY: 120 errors\n========= ERROR SUMMARY: 20 errors were not printed. Use --print-limit option to adjust the number of printed errors\n", true},
		{"no end", "========= COMPUTE-SANITIZER\n", false},
		{"errors without a record", "========= ERROR SUMMARY: 3 errors\n", false},
		{"something new", "========= The moon is full\n========= ERROR SUMMARY: 0 errors\n", false},
	} {
		if got := Parse("memcheck", tc.text, "k.cu"); got.Understood() != tc.understood {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
}

func TestPlace(t *testing.T) {
	for text, want := range map[string]frame{
		"kernel(int *)+0x90 in /a b/file.cu:41":    {"kernel(int *)", "/a b/file.cu", 41},
		"unaligned_kernel():0x160 in demo.cu:6":    {"unaligned_kernel()", "demo.cu", 6},
		"0x90 in /a/file.cu:41:ns::kernel(int*)":   {"ns::kernel(int*)", "/a/file.cu", 41},
		"0x90 in void ns::kernel<int=5>(int*)":     {"void ns::kernel<int=5>(int*)", "", 0},
		"kernel(int *)+0x90":                       {"kernel(int *)", "", 0},
		"0x79d8":                                   {"", "", 0},
		"NVIDIA Internal [0x520]":                  {"NVIDIA Internal", "", 0},
		"/a/file.cu:41:kernel(int *) [0x90]":       {"kernel(int *)", "/a/file.cu", 41},
		"k<(int)64>(T1)::f()+0xa70 in block.h:980": {"k<(int)64>(T1)::f()", "block.h", 980},
	} {
		if got := place(text); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	samples, _ := filepath.Glob("testdata/*.txt")
	for _, sample := range samples {
		text, err := os.ReadFile(sample)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		out := Parse("memcheck", text, "kernel.cu")
		records := 0
		for _, found := range out.Findings {
			if found.Kind == "" || found.Tool != "memcheck" || found.Count < 1 {
				t.Errorf("half a finding: %+v", found)
			}
			if found.File == "" && found.Line != 0 || found.Line < 0 {
				t.Errorf("half a place: %+v", found)
			}
			records += found.Count
		}
		if records > strings.Count(text, prefix) {
			t.Errorf("%d records in %d lines", records, strings.Count(text, prefix))
		}
		if worst := out.Worst(); worst != nil && worst.Severity != Error {
			t.Errorf("the worst is a %s", worst.Severity)
		}
	})
}
