package check

import (
	"strings"
	"testing"

	"pawl/internal/machine"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/spec"
)

// A CPU kernel that claims to be faster than the machine is suspicious and moves nothing.
func TestBeyondTheRoofOfAProcessor(t *testing.T) {
	p := newProject(t)
	folder := t.TempDir()
	peaks := &roof.Peaks{Schema: roof.Schema, Cell: spec.CellHost, Peaks: []roof.Peak{{Name: roof.F32, Rate: 100, Unit: roof.GFLOPS}}}
	peaks.DeviceClass = machine.Class(p.check(planOnly).Machine)
	if _, err := roof.Save(folder, peaks); err != nil {
		t.Fatal(err)
	}
	roofed := func(o *Options) { o.Lab.Peaks = folder }
	p.spec("", entry("k", "work: {flops: 100000 * N}")) // 12.8 GFLOP/s
	p.kernel("k", 300)
	p.commit("honest")
	row := rowOf(t, p.check(roofed, update), "k/c")
	mustBe(t, row, result.Improvement)
	if row.Verification.Integrity != result.Clean || row.Moved == nil || !row.Moved.Done || row.Timing.Stats.Roof != "f32" {
		t.Errorf("%+v, moved %+v, %+v", row.Verification, row.Moved, row.Timing.Stats)
	}
	p.commit("baseline")
	p.spec("", entry("k", "work: {flops: 100000000 * N}"))
	p.kernel("k", 200)
	p.commit("inflated")
	row = rowOf(t, p.check(roofed, update), "k/c")
	if v := row.Verification; v.Integrity != result.Suspicious || len(v.Findings) != 1 || v.Findings[0].Exploit != "inflated-work" || !strings.Contains(v.Findings[0].Message, "the measured peak of f32 is 100") {
		t.Errorf("%+v", v)
	}
	if m := row.Moved; m == nil || m.Done || !strings.Contains(m.Refused, "suspicious") {
		t.Errorf("moved %+v", m)
	}
}
