package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pawl/internal/calibrate"
	"pawl/internal/result"
)

// A duet that was played for this question reports the scatter of its cells, as one from a report
// does.
func TestPowerOfADuet(t *testing.T) {
	p := calibrate.PowerOfDuet("k/c", []result.CellChange{{Median: 0.01}, {Median: -0.01}, {Median: 0.01}, {Median: -0.01}}, 0.03)
	if !p.Duet || p.Had != 4 || p.Need < 4 || math.Abs(p.Noise-0.0115) > 1e-4 {
		t.Errorf("%+v", p)
	}
	for json, want := range map[bool]string{true: `"noise": 0.0115`, false: "cells of a duet   1.2%  between cells"} {
		var out bytes.Buffer
		if err := showPower(&env{stdout: &out}, &calibrateOptions{json: json}, 0.03, []calibrate.Power{p}); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v\n%s\nshould contain %s", err, out.String(), want)
		}
	}
}

// A curve of two minutes says that it is too little, and how long it takes; a longer one does not.
func TestShortCalibrationSaysSo(t *testing.T) {
	curve := func(decisions int) *calibrate.Curve {
		var made []string
		for i := range decisions {
			made = append(made, fmt.Sprintf(`{"set": %d, "verdict": "maintained", "change": 0}`, i))
		}
		c := &calibrate.Curve{}
		raw := fmt.Sprintf(`{"seconds": %d, "gate": {"regression": 0.03}, "levels": [{"kernel": "compute", "decisions": [%s]}]}`, 10*decisions, strings.Join(made, ","))
		if err := json.Unmarshal([]byte(raw), c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	var out bytes.Buffer
	for decisions, want := range map[int]string{
		12:  "this is too little: checks cite a bound of at most 20.0% of runs; for runs of 10 rows that takes at most about 25 more minutes at this pace: pawl calibrate --for 25m",
		400: "",
	} {
		out.Reset()
		if err := showCurve(&env{stdout: &out}, &calibrateOptions{}, curve(decisions), false); err != nil || !strings.Contains(out.String(), want) || want == "" && strings.Contains(out.String(), "too little") {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
	// A complete curve recommends no further call, which would do nothing.
	for decisions, want := range map[int]string{
		12:  "complete: all 12 decisions of method 0 at a gate of 3.0% are made, and another call adds none; checks do not cite it, since their bound is at most 20.0% of runs: a quieter machine may reach that; pawl calibrate --fresh",
		400: "are made, and another call adds none; pawl calibrate --fresh discards it and begins anew",
	} {
		var full bytes.Buffer
		if err := showCurve(&env{stdout: &full}, &calibrateOptions{}, curve(decisions), true); err != nil || !strings.Contains(full.String(), want) || strings.Contains(full.String(), "--for") {
			t.Errorf("%v\n%s\nshould contain %s", err, full.String(), want)
		}
	}
	if heads := strings.Join(strings.Fields(strings.Split(out.String(), "\n")[2]), " "); !strings.Contains(heads, "slower by decisions sets failed rate 95% bound undecided") && !strings.Contains(heads, "slower by actual decisions sets failed rate 95% bound undecided") {
		t.Errorf("headings: %s", heads)
	}
}
