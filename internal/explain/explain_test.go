package explain

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/diag"
	"pawl/internal/report"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// unpack writes a packed file of package profile into a folder, as far as its lines are wanted.
func unpack(t *testing.T, folder, packed, name string, keep func(line string) bool) string {
	t.Helper()
	return unpackFrom(t, "../profile/testdata/", folder, packed, name, keep)
}

func unpackFrom(t *testing.T, from, folder, packed, name string, keep func(line string) bool) string {
	t.Helper()
	raw, err := os.ReadFile(from + packed)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	raw, err = io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var kept strings.Builder
	for line := range strings.Lines(string(raw)) {
		if keep == nil || keep(line) {
			kept.WriteString(line)
		}
	}
	file := filepath.Join(folder, name)
	if err := os.WriteFile(file, []byte(kept.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// only keeps the launches of one kernel.
func only(kernel string) func(string) bool {
	return func(line string) bool {
		return strings.HasPrefix(line, `"ID"`) || strings.HasPrefix(line, `"",`) || strings.Contains(line, `,"`+kernel+`(`)
	}
}

func text(t *testing.T, r *result.Report, verbose bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Text(&b, r, report.TextOptions{Verbose: verbose}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// last returns the only or newer version of a row.
func last(r *result.Report, row int) *result.ExplainedSide { return r.Rows[row].Why[0].Last() }

func picture(t *testing.T, r *result.Report) string {
	t.Helper()
	svg, err := report.Picture(r, ".svg", false)
	if err != nil {
		t.Fatal(err)
	}
	return string(svg)
}

var tool = result.Tool{Version: "1.0"}

func TestFile(t *testing.T) {
	folder := t.TempDir()
	file := unpack(t, folder, "h200_planted_curated.csv.gz", "all.csv", nil)
	code := unpack(t, folder, "h200_planted.sass.gz", "all.sass", nil)
	a, err := File(t.Context(), file, Options{Tool: tool, SASS: code})
	if err != nil {
		t.Fatal(err)
	}
	if first := last(a, 0); len(a.Rows) != 26 || first.Device != "NVIDIA H200" || a.Rows[0].Kernel != "load_bad" || first.Repeats != 3 {
		t.Fatalf("%d kernels on %s", len(a.Rows), first.Device)
	}
	for i, row := range a.Rows {
		if _, known := last(a, i).Get("code_bytes"); known == (row.Kernel == "icache") { // whose code is not in the file
			t.Errorf("%s: code %v", row.Kernel, known)
		}
	}
	shown := text(t, a, false)
	for _, want := range []string{
		"pawl 1.0 · " + file + " · NVIDIA H200 · 26 kernels, 78 launches\n", "load_bad <<<262144, 256>>>    459 µs    21%", "uncoalesced-loads: at most 4.8× faster", "at-roof: nothing to gain here",
		"lat <<<2112, 256, 102400>>>", "nothing stands out", "--kernel NAME",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if all := text(t, a, true); strings.Count(all, "\n  1 ") < 20 || !strings.Contains(all, "nothing shows that it costs time here") || !strings.Contains(all, "then: ") {
		t.Errorf("not everything is there:\n%s", all)
	}
	raw, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := result.Decode(raw)
	if err != nil || back.Kind != result.KindProfile || last(back, 0).Findings[0].ID != "uncoalesced-loads" {
		t.Errorf("%v, %+v", err, back)
	}
	if svg := picture(t, a); !strings.Contains(svg, "sum_rows") { // it takes longest
		t.Errorf("%.300s", svg)
	}
}

func TestOneKernel(t *testing.T) {
	file := unpack(t, t.TempDir(), "h200_planted_curated.csv.gz", "all.csv", nil)
	a, err := File(t.Context(), file, Options{Tool: tool, Kernel: "copy*_ok"})
	if err != nil || len(a.Rows) != 2 {
		t.Fatalf("%v, %+v", err, a)
	}
	_, err = File(t.Context(), file, Options{Kernel: "copy5_ok"})
	if p := diag.Problems(err); len(p) != 1 || !strings.Contains(p[0].Message, "no kernel is called copy5_ok") || !strings.Contains(p[0].Hint, "copy4_ok") {
		t.Errorf("%v", err)
	}
}

// Launches on two kinds of GPU are no repeats of each other, and are not compared.
func TestTwoGPUs(t *testing.T) {
	raw, err := os.ReadFile("../profile/testdata/h200_saxpy_raw.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.SplitAfterN(string(raw), "\n", 3)
	file := filepath.Join(t.TempDir(), "two.csv")
	if err := os.WriteFile(file, []byte(string(raw)+strings.ReplaceAll(rows[2], "NVIDIA H200", "NVIDIA H100")), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := File(t.Context(), file, Options{Tool: tool})
	if err != nil || len(a.Rows) != 2 || last(a, 0).Repeats != 1 || last(a, 1).Device != "NVIDIA H100" {
		t.Fatalf("%v, %+v", err, a)
	}
	if shown := text(t, a, false); !strings.Contains(shown, "· NVIDIA H200, NVIDIA H100 · 2 kernels, 2 launches") || !strings.Contains(shown, "saxpy <<<262144, 256>>> on NVIDIA H100") {
		t.Error(shown)
	}
	_, err = Compare(t.Context(), file, file, Options{Tool: tool})
	if err == nil || !strings.Contains(err.Error(), "of different GPUs: NVIDIA H200 and NVIDIA H100") {
		t.Error(err)
	}
}

func TestCompare(t *testing.T) {
	folder := t.TempDir()
	code := unpack(t, folder, "h200_planted.sass.gz", "all.sass", nil)
	before := unpack(t, folder, "h200_planted_curated.csv.gz", "before.csv", only("spill_ok"))
	after := unpack(t, folder, "h200_planted_curated.csv.gz", "after.csv", only("spill_bad"))
	a, err := Compare(t.Context(), before, after, Options{Tool: tool, SASS: code, After: code})
	if err != nil {
		t.Fatal(err)
	}
	shown := text(t, a, false)
	for _, want := range []string{"it is slower: registers spill to local memory (", "registers per thread 80 → 32", "LDL 0 → ", "loads of local memory *", " as long under ncu", "do: allow more registers"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if svg := picture(t, a); !strings.Contains(svg, "before") || !strings.Contains(svg, "80 → 32") {
		t.Error(svg)
	}
	back, err := Compare(t.Context(), after, before, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if shown := text(t, back, false); !strings.Contains(shown, "it is faster: no more register-spills") || strings.Contains(shown, "do: ") {
		t.Error(shown)
	}
}

// Kernels are matched by name and size, then by name; the rest is named.
func TestPairs(t *testing.T) {
	folder := t.TempDir()
	all := unpack(t, folder, "h200_planted_curated.csv.gz", "all.csv", nil)
	some := unpack(t, folder, "h200_planted_curated.csv.gz", "some.csv", func(line string) bool { return only("fma_roof")(line) || only("copy_ok")(line) })
	a, err := Compare(t.Context(), all, some, Options{})
	if err != nil || len(a.Rows) != 3 || len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0].Message, "and 19 more") {
		t.Fatalf("%v, %d matched, left: %v", err, len(a.Rows), a.Warnings)
	}
	for _, row := range a.Rows {
		if w := row.Why[0]; w.Versions[0].Label != w.Versions[1].Label || w.Cause != nil {
			t.Errorf("%s with %s: %s", w.Versions[0].Label, w.Versions[1].Label, w.Sentence)
		}
	}
	one, other := unpack(t, folder, "h200_planted_curated.csv.gz", "one.csv", func(line string) bool { return only("lat")(line) }), unpack(t, folder, "h200_planted_curated.csv.gz", "two.csv", func(line string) bool { return only("redun")(line) || only("barr")(line) })
	_, err = Compare(t.Context(), one, other, Options{})
	if p := diag.Problems(err); len(p) != 1 || !strings.Contains(p[0].Message, "no kernel is in both") || !strings.Contains(p[0].Hint, "the first has lat, the second redun, barr") {
		t.Errorf("%v", err)
	}
}

func TestRefusals(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	t.Setenv("PAWL_NCU", "")
	t.Setenv("PAWL_PYTHON", "")
	t.Setenv("CUDA_HOME", folder)
	packed := filepath.Join(folder, "k.ncu-rep")
	if err := os.WriteFile(packed, []byte("NVR\x00\x01\x02\x03"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/usr/local/cuda/bin/ncu"); err != nil {
		_, err := File(t.Context(), packed, Options{})
		if p := diag.Problems(err); len(p) != 1 || !strings.Contains(p[0].Message, "there is no ncu here") || !strings.Contains(p[0].Hint, "ncu --import k.ncu-rep") {
			t.Errorf("%v", err)
		}
	}
	_, err := File(t.Context(), filepath.Join(folder, "none.csv"), Options{})
	if p := diag.Problems(err); len(p) != 1 || !strings.Contains(p[0].Message, "no such file") {
		t.Errorf("%v", err)
	}
	h200 := unpack(t, folder, "h200_planted_curated.csv.gz", "h200.csv", only("copy_ok"))
	raw, err := os.ReadFile(h200)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(folder, "a100.csv")
	if err := os.WriteFile(other, bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte(`"9.0"`), []byte(`"8.0"`)), []byte("NVIDIA H200"), []byte("NVIDIA A100")), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Compare(t.Context(), h200, other, Options{})
	if p := diag.Problems(err); len(p) != 1 || !strings.Contains(p[0].Message, "different GPUs: NVIDIA H200 and NVIDIA A100") {
		t.Errorf("%v", err)
	}
}

// A report is read by the ncu that is there.
func TestImport(t *testing.T) {
	folder := t.TempDir()
	unpack(t, folder, "h200_planted_curated.csv.gz", "real.csv", only("copy_ok"))
	packed := filepath.Join(folder, "k.ncu-rep")
	if err := os.WriteFile(packed, []byte("NVR\x00\x01\x02\x03"), 0o644); err != nil {
		t.Fatal(err)
	}
	ncu := filepath.Join(folder, "ncu")
	write := func(script string) {
		if err := os.WriteFile(ncu, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PAWL_NCU", ncu)
	write(`[ "$*" = "--import ` + packed + ` --csv --page raw --print-units base" ] && cat ` + folder + `/real.csv`)
	a, err := File(t.Context(), packed, Options{})
	if err != nil || len(a.Rows) != 1 {
		t.Errorf("%v, %+v", err, a)
	}
	write("echo '==ERROR== Failed to open the report'; exit 1")
	_, err = File(t.Context(), packed, Options{})
	if p := diag.Problems(err); len(p) != 1 || !strings.Contains(p[0].Message, "ncu --import: exit status 1: ==ERROR== Failed to open the report") {
		t.Errorf("%v", err)
	}
}

// NVIDIA's package for Python says the same of a report as ncu does.
func TestImportByPython(t *testing.T) {
	if _, err := os.Stat("/usr/local/cuda/bin/ncu"); err == nil {
		t.Skip("ncu is here, and comes first")
	}
	python := cmp.Or(os.Getenv("PAWL_PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import ncu_report").Run(); err != nil {
		t.Skip("no package ncu-report for " + python)
	}
	folder := t.TempDir()
	t.Setenv("PAWL_NCU", filepath.Join(folder, "none"))
	packed := unpackFrom(t, "testdata/", folder, "h200_two.ncu-rep.gz", "k.ncu-rep", nil)
	written := unpackFrom(t, "testdata/", folder, "h200_two.csv.gz", "k.csv", nil)
	a, err := File(t.Context(), packed, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := File(t.Context(), written, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Rows) != 2 || len(b.Rows) != 2 {
		t.Fatalf("%d and %d kernels", len(a.Rows), len(b.Rows))
	}
	for i := range a.Rows {
		k, other := last(a, i), last(b, i)
		if a.Rows[i].Kernel != b.Rows[i].Kernel || k.Grid != other.Grid || k.CC != 90 || len(k.Metrics) != len(other.Metrics) || len(k.Findings) != len(other.Findings) {
			t.Errorf("%s with %d metrics, %s with %d", k.Label, len(k.Metrics), other.Label, len(other.Metrics))
		}
		for m, v := range k.Metrics {
			if w := other.Metrics[m]; w.Unit != v.Unit || math.Abs(v.Value-w.Value) > 0.01*math.Abs(w.Value)+0.01 {
				t.Errorf("%s: %s is %v and %v", k.Label, m, v, w)
			}
		}
	}
	if err := os.WriteFile(packed, []byte("NVR\x00\x10\x00\x00\x00broken"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = File(t.Context(), packed, Options{})
	if p := diag.Problems(err); len(p) != 1 || !strings.Contains(p[0].Message, "ncu-report: exit status 1: there is no kernel in it, or it is broken") {
		t.Errorf("%v", err)
	}
}

func TestBase(t *testing.T) {
	for kernel, want := range map[string]string{
		"saxpy": "saxpy", "copy_ok(float *, const float *, int)": "copy_ok", "void gemm<float, (int)4>(T1 *, int)": "gemm<float, (int)4>",
		"void ns::k<ns::A<int, 3>, false>(T1)": "ns::k<ns::A<int, 3>, false>", "(anonymous namespace)::k(int)": "(anonymous namespace)::k", "": "",
	} {
		if got := base(kernel); got != want {
			t.Errorf("%s: %q, expected %q", kernel, got, want)
		}
	}
}

// Findings of the user are judged by, and the answer says whose they are; wrong ones are refused.
func TestOwnFindings(t *testing.T) {
	folder := t.TempDir()
	file := unpack(t, folder, "h200_planted_curated.csv.gz", "all.csv", only("load_bad"))
	other := unpack(t, folder, "h200_planted_curated.csv.gz", "other.csv", only("copy_ok"))
	own := func(when string) *spec.Spec {
		s, err := spec.Parse("pawl.yaml", []byte(`version: 1
kernels: {k: {source: k.c, entry: k, args: [{name: y, dtype: f32, shape: [64], role: out}]}}
findings: [{id: mine, title: it is mine, when: [`+when+`], gain: 50, confidence: 1, evidence: "{l2_pct}", first: f}]
`))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, err := File(t.Context(), file, Options{Spec: own("l2_pct > 90")})
	if err != nil {
		t.Fatal(err)
	}
	if first := last(a, 0).Findings[0]; first.ID != "mine" || !first.Own || a.Spec.File != "pawl.yaml" || len(a.OwnFindings) != 1 || a.OwnFindings[0] != "mine" {
		t.Errorf("%+v, %+v", first, a.OwnFindings)
	}
	const says = "those of pawl.yaml: mine"
	if got := text(t, a, true); !strings.Contains(got, says) || !strings.Contains(got, "(by ncu; a finding of pawl.yaml)") || strings.Contains(got, "next:    ") {
		t.Error(got)
	}
	if got := text(t, a, false); strings.Contains(got, says) {
		t.Error(got)
	}
	d, err := Compare(t.Context(), other, file, Options{Spec: own("l2_pct > 90")})
	if err != nil || len(d.OwnFindings) != 1 || d.Rows[0].Why[0].Cause.ID != "mine" {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := File(t.Context(), file, Options{Spec: own("l3_pct > 90")}); len(diag.Problems(err)) != 1 {
		t.Error(err)
	}
	if _, err := Compare(t.Context(), other, file, Options{Spec: own("l3_pct > 90")}); len(diag.Problems(err)) != 1 {
		t.Error(err)
	}
	if a, err := File(t.Context(), file, Options{}); err != nil || a.OwnFindings != nil {
		t.Errorf("%+v, %v", a.OwnFindings, err)
	}
}
