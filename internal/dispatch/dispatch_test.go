package dispatch

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/result"
)

// report is a search over two configs, of which one has a pick of its own.
func report() *result.Report {
	return &result.Report{
		ID: "20261119-1", Tool: result.Tool{Version: "1.2.3"}, DeviceClass: "H200 */ 900W \\",
		Commit: &result.Commit{SHA: "0123456789abcdef", Dirty: true},
		Rows: []*result.Row{
			{Kernel: "other", Config: "small", Vars: map[string]string{"M": "7"}},
			{Kernel: "gemm.f-16", Config: "small", Vars: map[string]string{"M": "64", "int": "-9223372036854775808", "kind": "half", "P": "0.5", "extra": "1"}},
			{Kernel: "gemm.f-16", Config: "large", Vars: map[string]string{"M": "4096", "int": "2", "kind": `a"??/b`, "P": "1"}},
		},
		Tuning: &result.Tuning{
			Kernel: "gemm.f-16", Configs: []string{"small", "large"},
			Space: result.Space{Params: []result.SpaceParam{
				{Name: "BLOCK", Default: "1"}, {Name: "template", Default: "true"}, {Name: "dtype", Default: "f16"}, {Name: "scale", Default: "1"}, {Name: "linux", Default: "3"},
			}},
			Finalists: []*result.Finalist{
				{Trial: 1, Params: map[string]string{"BLOCK": "0"}, Fault: &result.Fault{}},
				{Trial: 2, Params: map[string]string{"BLOCK": "64", "template": "true", "dtype": "f16", "scale": "1", "linux": "3"}},
			},
			Picks: []*result.Pick{{Config: "large", Params: map[string]string{"BLOCK": "128", "template": "false", "dtype": "ns::bf16", "scale": "1e-3", "linux": "4"}}},
		},
	}
}

const program = `#include "table.h"
#include "table.h"
#include <stdio.h>
static void show(const pawl_gemm_f_16_setting *s) {
  printf("[%s] %lld %lld %s %g: %lld %d %s %g %lld\n", s->config, s->M, s->int_, s->kind, s->P, s->BLOCK, (int)s->template_, s->dtype, s->scale, s->linux_);
}
int main(void) {
  show(pawl_gemm_f_16_lookup(64, 0.5, -9223372036854775807LL - 1, "half"));
  show(pawl_gemm_f_16_lookup(4096, 1, 2, "a\"?" "?/b"));
  show(pawl_gemm_f_16_lookup(4096, 1, 2, "half"));
  show(pawl_gemm_f_16_lookup(4096, 0.999, 2, "a\"?" "?/b"));
  return 0;
}
`

const printed = `[small] 64 -9223372036854775808 half 0.5: 64 1 f16 1 3
[large] 4096 2 a"??/b 1: 128 0 ns::bf16 0.001 4
[] 0 0  0: 64 1 f16 1 3
[] 0 0  0: 64 1 f16 1 3
`

// TestHeaderCompiles: the header is one that C and C++ compilers take without a warning, and its lookup finds
// what the table has.
func TestHeaderCompiles(t *testing.T) {
	table, err := New(report())
	if err != nil {
		t.Fatal(err)
	}
	header, err := table.Header()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Run 20261119-1 on H200 * / 900W", "Commit 0123456789abcdef, with changes that are not in it."} {
		if !strings.Contains(string(header), want) {
			t.Errorf("no %q in\n%s", want, header)
		}
	}
	compiled := 0
	for _, c := range []struct{ cc, file, std string }{
		{"cc", "main.c", "-std=c99"}, {"cc", "main.c", "-std=gnu17"}, {"cc", "main.c", "-std=c2x"},
		{"c++", "main.cc", "-std=c++11"}, {"c++", "main.cc", "-std=c++20"}, {"clang", "main.c", "-std=c11"}, {"nvcc", "main.cu", "-std=c++17"},
	} {
		compiler, err := exec.LookPath(c.cc)
		if err != nil {
			t.Logf("no %s", c.cc)
			continue
		}
		compiled++
		dir := t.TempDir()
		write(t, filepath.Join(dir, "table.h"), header)
		write(t, filepath.Join(dir, c.file), []byte(program))
		flags := []string{c.std, "-Wall", "-Wextra", "-pedantic", "-Wfloat-equal", "-Werror", "-o", "main", c.file}
		if c.cc == "nvcc" {
			flags = []string{c.std, "-o", "main", c.file}
		}
		cmd := exec.Command(compiler, flags...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s %s: %v\n%s\n%s", c.cc, c.std, err, out, header)
			continue
		}
		out, err := exec.Command(filepath.Join(dir, "main")).CombinedOutput()
		if err != nil || string(out) != printed {
			t.Errorf("%s %s: %v, printed\n%s\nwant\n%s", c.cc, c.std, err, out, printed)
		}
	}
	if compiled == 0 {
		t.Skip("no compiler")
	}
}

// TestHeaderMacro: where a param is defined as a macro, the compiler says what to do.
func TestHeaderMacro(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no cc")
	}
	table, err := New(report())
	if err != nil {
		t.Fatal(err)
	}
	header, err := table.Header()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "table.h"), header)
	write(t, filepath.Join(dir, "main.c"), []byte(program))
	out, err := exec.Command(cc, "-DBLOCK=64", "-c", "-o", filepath.Join(dir, "main.o"), filepath.Join(dir, "main.c")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "BLOCK is a macro here") {
		t.Errorf("%v: %s", err, out)
	}
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestJSON(t *testing.T) {
	table, err := New(report())
	if err != nil {
		t.Fatal(err)
	}
	text, err := table.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Kernel, Run, Commit string
		Fallback            map[string]any
		Entries             []struct {
			Config       string
			Vars, Params map[string]any
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	have := fmt.Sprint(got.Kernel, got.Run, got.Commit, got.Fallback, got.Entries)
	want := "gemm.f-1620261119-10123456789abcdefmap[BLOCK:64 dtype:f16 linux:3 scale:1 template:true] " +
		"[{small map[M:64 P:0.5 int:-9.223372036854776e+18 kind:half] map[BLOCK:64 dtype:f16 linux:3 scale:1 template:true]} " +
		`{large map[M:4096 P:1 int:2 kind:a"??/b] map[BLOCK:128 dtype:ns::bf16 linux:4 scale:0.001 template:false]}]`
	if have != want {
		t.Errorf("got\n%s\nwant\n%s", have, want)
	}
}

func TestRefuses(t *testing.T) {
	for want, change := range map[string]func(*result.Report){
		"no search for better params":    func(r *result.Report) { r.Tuning = nil },
		"has no params":                  func(r *result.Report) { r.Tuning.Space.Params, r.Tuning.Finalists = nil, nil },
		"no row of the report has":       func(r *result.Report) { r.Rows = r.Rows[:2] },
		"config large: dtype has no":     func(r *result.Report) { delete(r.Tuning.Picks[0].Params, "dtype") },
		"a variable that tells them apa": func(r *result.Report) { r.Rows[2].Vars = r.Rows[1].Vars },
		"names no config":                func(r *result.Report) { r.Tuning.Configs, r.Tuning.NoSuggestion = nil, "none is faster" },
	} {
		r := report()
		change(r)
		if _, err := New(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestNoSuggestion: where nothing beat them, today's defaults are the fallback.
func TestNoSuggestion(t *testing.T) {
	r := report()
	r.Tuning.NoSuggestion, r.Tuning.Picks = "none is faster", nil
	table, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(table.Fallback, table.Entries[1].Params); got != "[1 true f16 1 3] [1 true f16 1 3]" {
		t.Error(got)
	}
}
