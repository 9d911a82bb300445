package report

import (
	"strings"
	"testing"

	"pawl/internal/result"
)

// flushed returns a report whose rows' caches were emptied so.
func flushed(cache string, ways ...string) *result.Report {
	r := &result.Report{Method: result.Method{Cache: cache}}
	for i, way := range ways {
		r.Rows = append(r.Rows, &result.Row{Kernel: "k" + string(rune('1'+i)), Config: "c", Flush: way})
	}
	return r
}

// One row whose caches could not be emptied does not make the others warm.
func TestMethodOfMixedRows(t *testing.T) {
	t.Parallel()
	const warm = "cache warm (this machine cannot flush it)"
	for name, test := range map[string]struct {
		report     *result.Report
		line, page string
	}{
		"one way":          {flushed("cold", "clflush", "clflush"), "cache cold", "cache cold (clflush)"},
		"two ways":         {flushed("cold", "write 2×L2", "clflush"), "cache cold", "cache cold (write 2×L2; clflush)"},
		"none at all":      {flushed("cold", "none", ""), warm, warm},
		"none of one":      {flushed("cold", "clflush", "none"), "cache cold, warm for k2 (this machine cannot flush it there)", "cache cold (clflush), warm for k2 (this machine cannot flush it there)"},
		"hot":              {flushed("hot", "none"), "cache hot", "cache hot"},
		"nothing measured": {flushed("cold", ""), "cache cold", "cache cold"},
	} {
		if got := methodLine(test.report); got != test.line {
			t.Errorf("%s: %q, want %q", name, got, test.line)
		}
		if got := method(test.report); got != test.page {
			t.Errorf("%s: %q on the page, want %q", name, got, test.page)
		}
	}
}

// A GPU that only an oracle or a rival used is not what the run was on.
func TestMachineOfTheRows(t *testing.T) {
	t.Parallel()
	r := &result.Report{
		DeviceClass: "host-some-processor", FalseAlarms: &result.FalseAlarms{}, Rows: []*result.Row{{Class: "host-some-processor"}},
		Machine: result.Fingerprint{CPU: result.CPU{Model: "Some Processor", Cores: 2}, GPU: &result.GPU{Name: "Some GPU"}},
	}
	if got := machineLine(r); got != "Some Processor, 2 cores" || !strings.Contains(alarms(r), "this machine") {
		t.Errorf("on the processor: %q, %q", got, alarms(r))
	}
	r.DeviceClass, r.Rows[0].Class = "some-gpu", "some-gpu"
	if got := machineLine(r); got != "Some GPU" || !strings.Contains(alarms(r), "this GPU") {
		t.Errorf("on the GPU: %q, %q", got, alarms(r))
	}
	r.Rows = append(r.Rows, &result.Row{Class: "host-some-processor"})
	if got := machineLine(r); got != "Some GPU" || !strings.Contains(alarms(r), "this machine") {
		t.Errorf("on both: %q, %q", got, alarms(r))
	}
}
