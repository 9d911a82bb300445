package explain

import (
	"cmp"
	"encoding/csv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/advice"
	"pawl/internal/profile"
)

// forged rewrites the counters of a file.
func forged(t *testing.T, file string, value func(metric string) string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(string(raw))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, metric := range records[0] {
		if !strings.Contains(metric, "__") || strings.HasPrefix(metric, "device__") {
			continue
		}
		for _, record := range records[2:] {
			record[i] = value(metric)
		}
	}
	var text strings.Builder
	out := csv.NewWriter(&text)
	if err := out.WriteAll(records); err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "forged.csv")
	if err := os.WriteFile(made, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return made
}

// The code that is profiled may forge its counters. No number of them costs a run its report.
func TestForgedCounters(t *testing.T) {
	honest := unpack(t, t.TempDir(), "h200_planted_curated.csv.gz", "honest.csv", only("spill_ok"))
	for _, value := range []string{"1e308", "-1e308", "1e-320", "0", "-1"} {
		file := forged(t, honest, func(string) string { return value })
		a, err := File(t.Context(), file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Encode(); err != nil {
			t.Errorf("%s: %v", value, err)
		}
		picture(t, a)
		for _, pair := range [][2]string{{honest, file}, {file, honest}} {
			a, err := Compare(t.Context(), pair[0], pair[1], Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Encode(); err != nil {
				t.Errorf("%s: %v", value, err)
			}
			text(t, a, true)
		}
	}
}

// The folder that pawl is called in may be a stranger's checkout: no Python file of it is run.
func TestImportRunsNoFileOfTheFolder(t *testing.T) {
	python, err := exec.Command(cmp.Or(os.Getenv("PAWL_PYTHON"), "python3"), "-c", "import sys; print(sys.executable)").Output() // the command may be a script
	if err != nil {
		t.Skip("no Python")
	}
	folder := t.TempDir()
	t.Chdir(folder)
	t.Setenv("PAWL_NCU", filepath.Join(folder, "none"))
	t.Setenv("PAWL_PYTHON", strings.TrimSpace(string(python)))
	mark := filepath.Join(folder, "mark")
	for name, text := range map[string]string{"csv.py": "open('" + mark + "', 'w')", "ncu_report.py": "open('" + mark + "', 'w')", "k.ncu-rep": "NVR\x00"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := File(t.Context(), "k.ncu-rep", Options{}); err == nil || strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a file of the folder was run")
	}
	if program, file, err := placed("bin/python", "k.csv"); err != nil || program != filepath.Join(folder, "bin/python") || file != filepath.Join(folder, "k.csv") {
		t.Errorf("%s %s %v", program, file, err)
	}
}

// What a report cannot have is left out, and the rest stays.
func TestOnlyNumbersAreRecorded(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	p := &profile.Profile{
		Metrics: map[profile.Metric]profile.Value{"registers": {Number: 32}, "duration": {Number: inf}},
		Stalls:  []profile.Stall{{Reason: "a", Share: nan}, {Reason: "b", Share: 3}, {Reason: "c", Share: inf}},
		Roof:    &profile.Roofline{Intensity: 1, Rate: inf, Bandwidth: 1, Peak: 1},
	}
	facts := advice.Gather(advice.Evidence{Profile: p})
	side := explained("", "k", p, facts, advice.Builtin().Judge(facts))
	if len(side.Waits) != 1 || side.Waits[0].Reason != "b" || side.Roof != nil {
		t.Errorf("%+v, %+v", side.Waits, side.Roof)
	}
	if _, known := side.Get("duration"); known {
		t.Error("an infinite time is known")
	}
	if v, known := side.Get("registers"); !known || v != 32 {
		t.Errorf("registers %g", v)
	}
	p.Roof.Rate, p.Roof.Intensity = 1, 0 // no roof: the percentage is infinite
	if r := rooflineOf(p.Roof); r != nil {
		t.Errorf("%+v", r)
	}
	if r := rooflineOf(&profile.Roofline{Intensity: 2, Rate: 1, Bandwidth: 1, Peak: 4}); r == nil || r.Percent != 50 {
		t.Errorf("%+v", r)
	}
	w := differ("k", &advice.Cause{Diff: &profile.Diff{Slowdown: inf, Repeats: [2]int{1, 2}, Moves: []profile.Move{{Words: "x", After: nan}, {Words: "y", After: 1}, {Words: "z", Before: inf}, {Words: "n", Noise: inf}}}})
	if w.Slowdown != 0 || len(w.Moves) != 1 || w.Moves[0].Words != "y" || w.Repeats != [2]int{1, 2} {
		t.Errorf("%+v", w)
	}
}
