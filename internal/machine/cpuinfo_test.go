package machine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"pawl/internal/result"
)

func TestParseCPUInfoReadsTheFirstCPUOnly(t *testing.T) {
	got := parseCPUInfo("\nmodel name\t: A  Fast   One\nflags\t\t: b a\n\nmodel name\t: Another\nflags\t\t: c\n")
	want := cpuInfo{model: "A Fast One", flags: []string{"b", "a"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(cpuInfo{})); diff != "" {
		t.Error(diff)
	}
}

func TestNameOfUnknownArm(t *testing.T) {
	info := parseCPUInfo("Features : fp asimd\nCPU implementer : 0x77\nCPU part : 0x123\n")
	if got, want := info.name(), "ARM implementer 0x77 part 0x123"; got != want {
		t.Errorf("name = %q, want %q", got, want)
	}
}

func TestMaxMHz(t *testing.T) {
	got, ok := maxMHz("cpu MHz : 800.0\ncpu MHz : 3400.5\ncpu MHz : NaN\ncpu MHz : Inf\ncpu MHz : x\n")
	if got != 3400.5 || !ok {
		t.Errorf("maxMHz = %v, %v", got, ok)
	}
	if got, ok := maxMHz("BogoMIPS : 50\n"); ok {
		t.Errorf("maxMHz without any = %v, want unknown", got)
	}
}

func TestFlagsHashDoesNotDependOnOrder(t *testing.T) {
	if flagsHash([]string{"avx", "fma"}) != flagsHash([]string{"fma", "avx"}) {
		t.Error("order matters")
	}
	if flagsHash([]string{"avx", "fma"}) == flagsHash([]string{"avx"}) {
		t.Error("content does not matter")
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"48K": 48 << 10, "32M": 32 << 20, "1G": 1 << 30, "512": 512} {
		if got, ok := parseSize(text); got != want || !ok {
			t.Errorf("parseSize(%q) = %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "K", "1KK", "1T", "-1K", "9223372036854775807G"} {
		if got, ok := parseSize(text); ok {
			t.Errorf("parseSize(%q) = %d, want unknown", text, got)
		}
	}
}

func TestClass(t *testing.T) {
	for model, want := range map[string]string{
		"Intel(R) Xeon(R) Processor":               "host-intel-xeon-processor",
		"Intel(R) Xeon(R) CPU @ 2.20GHz":           "host-intel-xeon",
		"Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz": "host-intel-core-i7-8650u",
		"13th Gen Intel(R) Core(TM) i9-13900K":     "host-13th-gen-intel-core-i9-13900k",
		"AMD EPYC 7763 64-Core Processor":          "host-amd-epyc-7763-64-core-processor",
		"ARM Neoverse-N1":                          "host-arm-neoverse-n1",
		"../../etc":                                "host-etc",
		"":                                         "host-arm64",
	} {
		fp := result.Fingerprint{Arch: "arm64", CPU: result.CPU{Model: model}}
		if got := Class(fp); got != want {
			t.Errorf("Class of %q = %q, want %q", model, got, want)
		}
	}
}

func FuzzParseCPUInfo(f *testing.F) {
	for _, name := range machines {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if file.Name == "proc/cpuinfo" {
				f.Add(string(file.Data))
			}
		}
	}
	f.Add("model name")
	f.Add("flags:\n\n:\nmodel name::\n")
	f.Fuzz(func(t *testing.T, text string) {
		info := parseCPUInfo(text)
		if name := info.name(); strings.Join(strings.Fields(name), " ") != name && info.model != "" {
			t.Errorf("model %q has stray white space", name)
		}
		for _, flag := range info.flags {
			if strings.Fields(flag)[0] != flag {
				t.Errorf("flag %q has white space", flag)
			}
		}
		if got := Class(result.Fingerprint{CPU: result.CPU{Model: info.name()}}); strings.ContainsAny(got, "/. ") {
			t.Errorf("class %q is no file name", got)
		}
		if mhz, ok := maxMHz(text); ok && !(mhz > 0 && mhz < 1e300) {
			t.Errorf("clock %v", mhz)
		}
		info.features()
	})
}
