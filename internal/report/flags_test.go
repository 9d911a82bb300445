package report

import (
	"strings"
	"testing"

	"pawl/internal/result"
)

// A report names the compiler's flags, and how to change them.
func TestCompilerFlags(t *testing.T) {
	built := func(kernel string, flags ...string) *result.Row {
		return &result.Row{Kernel: kernel, Config: "c", Verdict: result.Maintained, Build: &result.Build{Compiler: "cc 12", Flags: flags}}
	}
	how := " · to change them, give the kernel flags: in pawl.yaml, which come last and win"
	for want, rows := range map[string][]*result.Row{
		"-O3 -g" + how: {built("gemm", "-O3", "-g"), built("scan", "-O3", "-g"), {Kernel: "python"}},
		"-O3 (gemm, scan); -O3 '-DNAME=a b' (norm)" + how: {built("gemm", "-O3"), built("scan", "-O3"), built("norm", "-O3", "-DNAME=a b")},
		"": {{Kernel: "python"}, built("nothing")},
	} {
		r := checkOf(rows...)
		if got := flagsLine(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		page, _, _ := strings.Cut(pageOf(t, r), "<nav>")
		if strings.Contains(page, "compiler flags") != (want != "") || strings.Contains(textIn(t, r, TextOptions{Verbose: true}), "compiled with ") != (want != "") {
			t.Errorf("%q: not on the page, or not in the text", want)
		}
	}
}
