package report

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/report/render"
	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/term"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

// sample returns a report with one of everything that can be shown.
func sample() *result.Report {
	timing := func(median float64, count int) *result.Timing {
		return &result.Timing{
			Repeat: 1, HalfWidth: 0.004, PeakMemory: 64 << 20, Stopped: "width",
			Stats: result.Stats{
				Count: count, Median: median, Low: median * 0.996, High: median * 1.004, Mean: median * 1.01, Std: median * 0.02,
				Min: median * 0.97, P50: median, P95: median * 1.05, P99: median * 1.2, CV: 0.02, GFLOPS: 12.3, GBps: 4.56, GHz: 2.7,
			},
		}
	}
	nearRoof := timing(1.2345e-3, 1234)
	nearRoof.Stats.RoofPct, nearRoof.Stats.Roof = 62.4, "dram"
	nearRoof.Stats.CacheRoofPct, nearRoof.Stats.CacheRoof = 37.2, "l2"
	farFromRoof := timing(2.5e-3, 600)
	farFromRoof.Stats.RoofPct, farFromRoof.Stats.Roof = 3.14, "f16"
	noisy := func(evidence string) []result.Warning {
		return []result.Warning{{Code: "cv", Message: "samples vary by " + evidence, Hint: "a quieter machine"}}
	}
	return &result.Report{
		Schema: result.Schema, Kind: result.KindBench, ID: "20261110T142233Z-7f3a9c2b1d04", Tool: result.Tool{Version: "0.1.0"},
		Started: time.Date(2026, 11, 10, 14, 22, 33, 0, time.UTC), DeviceClass: "host-example",
		Commit:  &result.Commit{SHA: "0123456789abcdef0123", Dirty: true},
		Machine: result.Fingerprint{CPU: result.CPU{Model: "Example CPU", Cores: 8}},
		Method:  result.Method{Cache: "cold"},
		Rows: []*result.Row{
			{
				Kernel: "gemm", Config: "square", Flush: "clflushopt", Timing: nearRoof, Warnings: noisy("15%"),
				Rivals: []*result.Rival{
					{
						Label: "gemm_ref", Row: &result.Row{Kernel: "gemm_ref", Config: "square", Timing: farFromRoof},
						Ratio: &result.Ratio{Median: 2.025, Low: 2.01, High: 2.04, Rounds: 20},
					},
					{Label: "sdpa", Row: &result.Row{Kernel: "sdpa", Config: "square", Verdict: result.Broken, Fault: &result.Fault{
						Stage: "load", Cause: result.CauseCrash, Message: "it crashed",
					}}},
				},
			},
			{Kernel: "gemm", Config: "wide", Timing: timing(52.1e-6, 20), Verdict: result.New, Warnings: noisy("20%")},
			{
				Kernel: "soft_max", Config: "rows", Params: map[string]string{"LANES": "8", "ONLINE": "1"}, Verdict: result.Broken,
				Fault: &result.Fault{Stage: "build", Cause: result.CauseCompile, Message: "cc exited with status 1"},
				Build: &result.Build{Output: "softmax.c:3:5: error: expected ';'\n"},
			},
			{
				Kernel: "loop", Config: "ever", Verdict: result.Broken, Log: strings.Repeat("tick\n", 9) + "to\x1b[2Jck\n",
				Fault: &result.Fault{Stage: "measure", Cause: result.CauseTimeout, Message: "no answer after 30s", Hint: "raise --timeout"},
			},
			{
				Kernel: "cuda", Config: "x",
				Fault: &result.Fault{Stage: "build", Cause: result.CauseUnsupported, Message: "needs nvcc"},
			},
		},
		Warnings: []result.Warning{{Code: "disk", Message: "something of the whole run"}},
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, diff)
	}
}

func TestText(t *testing.T) {
	for name, style := range map[string]term.Style{"text": {}, "color": {Color: true}} {
		var b strings.Builder
		if err := Text(&b, sample(), TextOptions{Style: style, Path: ".pawl/runs/x/report.json", Verbose: true}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
}

func TestTextOfNothing(t *testing.T) {
	var b strings.Builder
	r := sample()
	r.Rows, r.Warnings = nil, nil
	if err := Text(&b, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "empty", b.String())
}

// One view is enough for all forms.
func TestViewOfAllForms(t *testing.T) {
	for _, r := range []*result.Report{pictured(), comparison(), everything(), plan(), examination(), briefly(), sanitizedSample(), selftestSample()} {
		v := ViewOf(r, view.All)
		var alone, text strings.Builder
		if err := Text(&alone, r, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := render.Text(&text, v, render.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		page, err := render.HTML(v)
		if err != nil {
			t.Fatal(err)
		}
		csv, err := render.CSV(v)
		if err != nil {
			t.Fatal(err)
		}
		records, err := CSV(r)
		if err != nil {
			t.Fatal(err)
		}
		for form, both := range map[string][2]string{
			"text": {alone.String(), text.String()}, "Markdown": {Markdown(r), render.Markdown(v)}, "HTML": {pageOf(t, r), string(page)}, "CSV": {string(records), string(csv)},
		} {
			if diff := cmp.Diff(both[0], both[1]); diff != "" {
				t.Errorf("%s of a %s (-alone +of all):\n%s", form, r.Kind, diff)
			}
		}
	}
}

func TestMarkdown(t *testing.T) { golden(t, "markdown", Markdown(sample())) }

func TestCSV(t *testing.T) {
	got, err := CSV(sample())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "csv", string(got))
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	for _, ending := range Endings {
		path := filepath.Join(dir, "report"+ending)
		if err := WriteFile(path, sample()); err != nil {
			t.Errorf("%s: %v", ending, err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", ending, err)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	back, err := result.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), back); diff != "" {
		t.Errorf("changed by a round trip (-want +got):\n%s", diff)
	}
	if err := WriteFile(filepath.Join(dir, "report.pdf"), sample()); err == nil {
		t.Error("an unknown ending was accepted")
	}
	if err := WriteFile(filepath.Join(dir, "none", "report.md"), sample()); err == nil {
		t.Error("a missing folder was accepted")
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != len(Endings) {
		t.Errorf("left behind: %v", entries)
	}
}
