package fuzz

import (
	"errors"
	"strings"
	"testing"

	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/sanitizer"
	"pawl/internal/spec"
	"pawl/internal/trial"
)

func TestReadSanitizer(t *testing.T) {
	s := &subject{kernel: &spec.Kernel{Name: "k", Source: "kernels/k.cu"}}
	const finding = "========= Invalid __global__ read of size 4 bytes\n=========     at %(int *)+0x10 in k.cu:7\n=========     by thread (0,0,0) in block (0,0,0)\n========= ERROR SUMMARY: 1 error\n"
	for _, tc := range []struct {
		name, text string
		err        error
		severity   string // of the finding, "": none
		skipped    string
		raw        bool
	}{
		{"clean", "========= ERROR SUMMARY: 0 errors\n", nil, "", "", false},
		{"an error", strings.Replace(finding, "%", "k", 1), errors.New("illegal address"), sanitizer.Error, "", true},
		{"in pawl's own kernel", strings.Replace(finding, "%", "pawl_hash", 1), nil, sanitizer.Warning, "", false},
		{"no end", "========= COMPUTE-SANITIZER\n", nil, "", "did not finish", true},
		{"a launch that failed", "========= ERROR SUMMARY: 0 errors\n", errors.New("too much shared memory"), "", "too much shared memory", true},
		{"unknown", "========= ERROR SUMMARY: 2 errors\n", nil, "", "counted 2 errors", true},
	} {
		one, _ := readSanitizer(s, "memcheck", &lab.Sanitized{Text: tc.text, Err: tc.err}, nil)
		severity := ""
		if len(one.Findings) > 0 {
			severity = one.Findings[0].Severity
			if one.Findings[0].File != "kernels/k.cu" || one.Findings[0].Line != 7 {
				t.Errorf("%s: at %s:%d", tc.name, one.Findings[0].File, one.Findings[0].Line)
			}
		}
		if severity != tc.severity || !strings.Contains(one.Skipped, tc.skipped) || tc.skipped == "" && one.Skipped != "" || (one.Raw != "") != tc.raw {
			t.Errorf("%s: %+v", tc.name, one)
		}
	}
}

func TestSanitizerFailsTheKernel(t *testing.T) {
	for _, tc := range []struct {
		severity string
		before   result.Verdict
		want     result.Verdict
	}{
		{sanitizer.Error, "", result.Broken},
		{sanitizer.Error, result.Incorrect, result.Incorrect},
		{sanitizer.Warning, "", ""},
	} {
		s := &subject{candidate: &lab.Job{}, verdict: tc.before, verification: &result.Verification{Sanitizer: []result.SanitizerRun{{
			Tool: "racecheck", Findings: []result.SanitizerFinding{{Severity: tc.severity, Kind: "Race", File: "k.cu", Line: 3, Count: 1}},
		}}}}
		(&fuzzing{}).judgeSanitizer(s)
		if s.verdict != tc.want {
			t.Errorf("%+v: %s, %+v", tc, s.verdict, s.fault)
		}
	}
}

func TestSmallCases(t *testing.T) {
	sheet := gemmSheet(t)
	p, err := trial.NewPlan(sheet, sheet.Kernels[0].Default(), trial.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &subject{plan: p, trials: p.Trials, verification: &result.Verification{}}
	cases, list := smallCases(s, nil)
	if len(cases) == 0 || len(cases) > 2 || len(cases) != len(list) {
		t.Fatalf("%q", list)
	}
	for _, trial := range p.Trials {
		if problem, err := p.Resolve(trial); err == nil && problem.Instance.Footprint < cases[0].Instance.Footprint {
			t.Errorf("%s is smaller than %s", trial.Name(), list[0])
		}
	}
}
