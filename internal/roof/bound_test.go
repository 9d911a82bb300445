package roof

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/dtype"
	"pawl/internal/result"
	"pawl/internal/spec"
)

const (
	mb = 1 << 20
	l2 = 60 * mb
)

// xeon returns one core with three levels of memory.
func xeon() *Peaks {
	return &Peaks{Schema: Schema, Cell: spec.CellHost, Peaks: []Peak{
		{Name: DRAM, Rate: 12, Unit: GBps},
		{Name: LLC, Rate: 25, Unit: GBps},
		{Name: L2, Rate: 100, Unit: GBps},
		{Name: F32, Rate: 160, Unit: GFLOPS},
		{Name: F64, Rate: 80, Unit: GFLOPS},
	}}
}

func without(p *Peaks, names ...Name) *Peaks {
	out := *p
	out.Peaks = nil
	for _, peak := range p.Peaks {
		keep := true
		for _, name := range names {
			keep = keep && peak.Name != name
		}
		if keep {
			out.Peaks = append(out.Peaks, peak)
		}
	}
	return &out
}

// clocked is h200 measured at 1.8 GHz.
func clocked() *Peaks {
	p := h200()
	for i := range p.Peaks {
		p.Peaks[i].GHz = 1.8
	}
	return p
}

func TestBind(t *testing.T) {
	gpu := []Cache{{L2, l2}}
	host := []Cache{{L2, 2 * mb}, {LLC, 32 * mb}}
	for name, c := range map[string]struct {
		peaks *Peaks
		work  Work
		roof  Name // "": none
		pct   float64
		over  bool
	}{
		"beyond the L2":             {h200(), Work{GBps: 2000, Footprint: 2*l2 + 1, Caches: gpu}, DRAM, 50, false},
		"in the L2":                 {h200(), Work{GBps: 3000, Footprint: 2 * l2, Caches: gpu}, L2, 50, false},
		"at the margin":             {h200(), Work{GBps: 4200, Footprint: 1 << 30, Caches: gpu}, DRAM, 105, false},
		"over the memory":           {h200(), Work{GBps: 4201, Footprint: 1 << 30, Caches: gpu}, DRAM, 105.025, true},
		"a peak in doubt":           {doubted(h200(), 0.1), Work{GBps: 4666, Footprint: 1 << 30, Caches: gpu}, DRAM, 116.65, false},
		"over a peak in doubt":      {doubted(h200(), 0.1), Work{GBps: 4667, Footprint: 1 << 30, Caches: gpu}, DRAM, 116.675, true},
		"a peak of one sample":      {doubted(h200(), 1), Work{GBps: 40000, Footprint: 1 << 30, Caches: gpu}, DRAM, 1000, false},
		"in doubt, and for the L2":  {doubted(h200(), 0.1), Work{GBps: 5900, Seconds: 100e-6, Footprint: 130 * mb, Caches: gpu}, L2, 5900.0 / 6000 * 100, false},
		"over, for what it moved":   {h200(), Work{GBps: 4300, Seconds: 1, Footprint: 1 << 30, Caches: gpu}, DRAM, 107.5, true},
		"over, but for the L2":      {h200(), Work{GBps: 5400, Seconds: 25e-6, Footprint: 130 * mb, Caches: gpu}, L2, 90, false},
		"over the L2 as well":       {h200(), Work{GBps: 9000, Seconds: 15e-6, Footprint: 130 * mb, Caches: gpu}, L2, 150, true},
		"as fast, for longer":       {h200(), Work{GBps: 5400, Seconds: 1e-3, Footprint: 130 * mb, Caches: gpu}, DRAM, 135, true},
		"no cache to excuse it":     {h200(), Work{GBps: 5000, Seconds: 1e-6, Footprint: 1 << 30}, DRAM, 125, true},
		"a lower clock":             {clocked(), Work{GFLOPS: 450e3, GHz: 1.2, Float: dtype.F16}, F16, 50, false},
		"a higher clock":            {clocked(), Work{GFLOPS: 990e3, GHz: 1.98, Float: dtype.F16}, F16, 100, false},
		"over at a higher clock":    {clocked(), Work{GFLOPS: 1089e3, GHz: 1.98, Float: dtype.F16}, F16, 110, true},
		"a clock not known":         {clocked(), Work{GFLOPS: 990e3, Float: dtype.F16}, F16, 110, true},
		"nothing known":             {h200(), Work{Footprint: mb, Caches: gpu, Float: dtype.F32}, "", 0, false},
		"computing binds":           {h200(), Work{GBps: 400, GFLOPS: 720e3, Footprint: 1 << 30, Caches: gpu, Float: dtype.F16}, F16, 80, false},
		"memory binds":              {h200(), Work{GBps: 3200, GFLOPS: 90e3, Footprint: 1 << 30, Caches: gpu, Float: dtype.BF16}, DRAM, 80, false},
		"one is enough to be over":  {h200(), Work{GBps: 100, GFLOPS: 950e3, Footprint: 1 << 30, Caches: gpu, Float: dtype.F16}, F16, 950e3 / 900e3 * 100, true},
		"f32 on the cores":          {h200(), Work{GFLOPS: 45e3, Float: dtype.F32}, F32, 75, false},
		"f32 on tensor cores":       {h200(), Work{GFLOPS: 200e3, Float: dtype.F32}, TF32, 50, false},
		"f32 over both":             {h200(), Work{GFLOPS: 440e3, Float: dtype.F32}, TF32, 110, true},
		"f32, tf32 not known":       {without(h200(), TF32), Work{GFLOPS: 200e3, Float: dtype.F32}, "", 0, false},
		"f64 on tensor cores":       {h200(), Work{GFLOPS: 48e3, Float: dtype.F64}, F64Tensor, 80, false},
		"f64 without tensor cores":  {without(h200(), F64Tensor), Work{GFLOPS: 48e3, Float: dtype.F64}, F64, 160, true},
		"bf16":                      {h200(), Work{GFLOPS: 450e3, Float: dtype.BF16}, BF16, 50, false},
		"e4m3":                      {h200(), Work{GFLOPS: 900e3, Float: dtype.E4M3}, E4M3, 50, false},
		"e5m2":                      {h200(), Work{GFLOPS: 900e3, Float: dtype.E5M2}, E4M3, 50, false},
		"a tensor rate not known":   {without(h200(), F16), Work{GFLOPS: 900e3, Float: dtype.F16}, "", 0, false},
		"integers":                  {h200(), Work{GFLOPS: 900e3}, "", 0, false},
		"a cache rate not known":    {without(h200(), L2), Work{GBps: 9000, Footprint: mb, Caches: gpu}, "", 0, false},
		"host in the L2":            {xeon(), Work{GBps: 50, Footprint: 4 * mb, Caches: host}, L2, 50, false},
		"host in the last level":    {xeon(), Work{GBps: 5, Footprint: 4*mb + 1, Caches: host}, LLC, 20, false},
		"host in memory":            {xeon(), Work{GBps: 6, Footprint: 65 * mb, Caches: host}, DRAM, 50, false},
		"host over f32":             {xeon(), Work{GFLOPS: 200, Float: dtype.F32}, F32, 125, true},
		"host has no tensor cores":  {xeon(), Work{GFLOPS: 200, Float: dtype.F16}, "", 0, false},
		"a cache of unknown size":   {h200(), Work{GBps: 2000, Footprint: mb, Caches: []Cache{{L2, 0}}}, DRAM, 50, false},
		"no buffers":                {h200(), Work{GFLOPS: 30e3, Caches: gpu, Float: dtype.F32}, F32, 50, false},
		"a rate that is no number":  {h200(), Work{GFLOPS: math.NaN(), Float: dtype.F32}, "", 0, false},
		"memory when as far as f16": {h200(), Work{GBps: 2000, GFLOPS: 450e3, Footprint: 1 << 30, Caches: gpu, Float: dtype.F16}, DRAM, 50, false},
	} {
		t.Run(name, func(t *testing.T) {
			bound, known := c.peaks.Bind(c.work)
			if known != (c.roof != "") || bound.Roof != c.roof || math.Abs(100*bound.Fraction-c.pct) > 1e-9 || bound.Over() != c.over {
				t.Errorf("%+v, known %t, over %t; want %v%% of %s, over %t", bound, known, bound.Over(), c.pct, c.roof, c.over)
			}
		})
	}
}

// What a cold launch reads comes from the memory, though the L2 could hold it. Where it is not clear
// whether some of the traffic stayed in the L2, both roofs are shown.
func TestShow(t *testing.T) {
	gpu := []Cache{{L2, l2}}
	const fill = 40e6 // bytes of arguments; at 2560 GB/s they take 15.625 µs
	work := func(change func(*Work)) Work {
		w := Work{GBps: 2560, Seconds: fill / 2560e9, Footprint: fill, Reads: fill, Caches: gpu, Cold: true}
		change(&w)
		return w
	}
	for name, c := range map[string]struct {
		work  Work
		roof  Name
		pct   float64
		other Name // "": none
		half  float64
	}{
		"cold reads":                    {work(func(*Work) {}), DRAM, 64, "", 0},
		"hot":                           {work(func(w *Work) { w.Cold = false }), L2, 2560.0 / 60, "", 0},
		"cold, half of it written":      {work(func(w *Work) { w.Reads = fill / 2 }), DRAM, 64, L2, 2560.0 / 60},
		"cold, some read again":         {work(func(w *Work) { w.Seconds *= 1.2 }), DRAM, 64, L2, 2560.0 / 60},
		"cold, with a small result":     {work(func(w *Work) { w.Reads = fill * 0.97 }), DRAM, 64, "", 0},
		"cold, and computing binds":     {work(func(w *Work) { w.GFLOPS, w.Float = 720e3, dtype.F16 }), F16, 80, "", 0},
		"cold, and memory binds more":   {work(func(w *Work) { w.GFLOPS, w.Float = 450e3, dtype.F16 }), DRAM, 64, "", 0},
		"cold, too fast for the memory": {work(func(w *Work) { w.GBps = 4300 }), L2, 4300.0 / 60, "", 0},
		"cold, beyond the L2":           {work(func(w *Work) { w.Footprint = 1 << 30 }), DRAM, 64, "", 0},
	} {
		shown, other, known := h200().Show(c.work)
		if !known || shown.Roof != c.roof || math.Abs(100*shown.Fraction-c.pct) > 1e-9 {
			t.Errorf("%s: %+v, want %v%% of %s", name, shown, c.pct, c.roof)
		}
		if (other != nil) != (c.other != "") || other != nil && (other.Roof != c.other || math.Abs(100*other.Fraction-c.half) > 1e-9) {
			t.Errorf("%s: beside it %+v, want %v%% of %q", name, other, c.half, c.other)
		}
	}
	if _, _, known := h200().Show(Work{Cold: true, Caches: gpu}); known {
		t.Error("nothing is known, and a roof is shown")
	}
	if shown, _, _ := without(h200(), DRAM).Show(work(func(*Work) {})); shown.Roof != L2 {
		t.Errorf("without a peak of the memory: %+v", shown)
	}
}

// doubted are peaks that are known to a width.
func doubted(p *Peaks, width float64) *Peaks {
	for i := range p.Peaks {
		p.Peaks[i].Tried = []Try{{Rate: p.Peaks[i].Rate, HalfWidth: width}}
	}
	return p
}

func TestBoundNamesBothNumbers(t *testing.T) {
	bound, _ := h200().Bind(Work{GBps: 5020, Footprint: 1 << 30})
	if got := bound.String(); got != "5.02 TB/s, the measured peak of dram is 4.00 TB/s" {
		t.Error(got)
	}
	bound, _ = h200().Bind(Work{GFLOPS: 1e6, Float: dtype.F16})
	if got := bound.String(); !strings.Contains(got, "1.00 PFLOP/s") || !strings.Contains(got, "900 TFLOP/s") {
		t.Error(got)
	}
}

// A faster kernel is never further from its roof's end: over stays over.
func TestOverIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Work{
			GBps: rapid.Float64Range(0, 1e5).Draw(t, "GB/s"), GFLOPS: rapid.Float64Range(0, 1e7).Draw(t, "GFLOP/s"),
			Seconds: rapid.Float64Range(1e-6, 1).Draw(t, "seconds"), Footprint: rapid.Int64Range(0, 1<<34).Draw(t, "footprint"), Caches: []Cache{{L2, l2}},
			Float: rapid.SampledFrom([]dtype.Type{dtype.F64, dtype.F32, dtype.F16, dtype.BF16, dtype.E4M3, ""}).Draw(t, "type"),
		}
		slow, _ := h200().Bind(w)
		w.GBps *= 2
		w.GFLOPS *= 2
		w.Seconds /= 2
		fast, _ := h200().Bind(w)
		if slow.Over() && !fast.Over() {
			t.Errorf("%+v is over its roof, twice as fast is not: %+v", slow, fast)
		}
	})
}

func TestFloat(t *testing.T) {
	arg := func(t dtype.Type, role spec.Role, n int64) spec.InstanceArg {
		return spec.InstanceArg{DType: t, Role: role, Elements: n, Buffer: true}
	}
	scalar := spec.InstanceArg{DType: dtype.F64}
	for name, c := range map[string]struct {
		args []spec.InstanceArg
		want dtype.Type
	}{
		"one":                {[]spec.InstanceArg{arg(dtype.F16, spec.RoleIn, 100)}, dtype.F16},
		"the widest":         {[]spec.InstanceArg{arg(dtype.F16, spec.RoleIn, 100), arg(dtype.F32, spec.RoleIn, 100)}, dtype.F32},
		"scales do not":      {[]spec.InstanceArg{arg(dtype.E4M3, spec.RoleIn, 12800), arg(dtype.F32, spec.RoleIn, 100)}, dtype.E4M3},
		"outputs do not":     {[]spec.InstanceArg{arg(dtype.F16, spec.RoleIn, 100), arg(dtype.F32, spec.RoleOut, 100)}, dtype.F16},
		"outputs alone":      {[]spec.InstanceArg{arg(dtype.I32, spec.RoleIn, 100), arg(dtype.F32, spec.RoleOut, 100)}, dtype.F32},
		"inout is input":     {[]spec.InstanceArg{arg(dtype.BF16, spec.RoleInOut, 100)}, dtype.BF16},
		"scalars do not":     {[]spec.InstanceArg{scalar, arg(dtype.F16, spec.RoleIn, 1)}, dtype.F16},
		"scratch does not":   {[]spec.InstanceArg{arg(dtype.F64, spec.RoleScratch, 100), arg(dtype.F16, spec.RoleIn, 1)}, dtype.F16},
		"integers and bytes": {[]spec.InstanceArg{arg(dtype.I8, spec.RoleIn, 100), arg(dtype.U8, spec.RoleOut, 100)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Float(&spec.Instance{Args: c.args}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCaches(t *testing.T) {
	cpu := result.Fingerprint{CPU: result.CPU{Caches: []result.Cache{
		{Level: 1, Type: "data", Bytes: 48 << 10}, {Level: 1, Type: "instruction", Bytes: 32 << 10}, {Level: 2, Type: "unified", Bytes: 2 * mb}, {Level: 3, Type: "unified", Bytes: 32 * mb},
	}}}
	small := result.Fingerprint{CPU: result.CPU{Caches: cpu.CPU.Caches[:3]}}
	gpu := cpu
	gpu.GPU = &result.GPU{L2Bytes: l2}
	for name, c := range map[string]struct {
		cell    string
		machine result.Fingerprint
		want    []Cache
	}{
		"three levels": {spec.CellHost, cpu, []Cache{{L1, 48 << 10}, {L2, 2 * mb}, {LLC, 32 * mb}}},
		"two levels":   {spec.CellHost, small, []Cache{{L1, 48 << 10}, {L2, 2 * mb}}},
		"none":         {spec.CellHost, result.Fingerprint{}, nil},
		"GPU":          {spec.CellCUDA, gpu, []Cache{{L2, l2}}},
		"no GPU":       {spec.CellCUDA, cpu, nil},
	} {
		if diff := cmp.Diff(c.want, Caches(c.cell, c.machine)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A roofline has the memory that the work comes from, and the units that compute it.
func TestCeilings(t *testing.T) {
	const fill = 40e6
	work := func(change func(*Work)) Work {
		w := Work{GBps: 2560, GFLOPS: 1000, Float: dtype.F16, Seconds: fill / 2560e9, Footprint: fill, Reads: fill, Caches: []Cache{{L2, l2}}, Cold: true}
		change(&w)
		return w
	}
	rate := func(name Name) float64 { return h200().Find(name).Rate * 1e9 }
	for name, c := range map[string]struct {
		work            Work
		memory, compute Name // "": not known
	}{
		"cold":               {work(func(*Work) {}), DRAM, F16},
		"hot":                {work(func(w *Work) { w.Cold = false }), L2, F16},
		"cold, but too fast": {work(func(w *Work) { w.GBps = 4300 }), L2, F16},
		"no operations":      {work(func(w *Work) { w.GFLOPS = 0 }), DRAM, ""},
		"no bytes":           {work(func(w *Work) { w.GBps = 0 }), "", F16},
	} {
		memory, compute, names := h200().Ceilings(c.work)
		want := [2]float64{}
		for i, name := range []Name{c.memory, c.compute} {
			if name != "" {
				want[i] = rate(name)
			}
		}
		if memory != want[0] || compute != want[1] || names != [2]Name{c.memory, c.compute} {
			t.Errorf("%s: %g of %q, %g of %q; want %v of %q, %q", name, memory, names[0], compute, names[1], want, c.memory, c.compute)
		}
	}
}
