package lab

import (
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"pawl/internal/build"
	"pawl/internal/dtype"
	"pawl/internal/judge"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/spec"
)

// peaksIn writes peaks of the GPU and the processor that rows of these tests ran on.
func peaksIn(t *testing.T, folder string) {
	t.Helper()
	for _, p := range []*roof.Peaks{
		{DeviceClass: "nvidia-h200", Cell: spec.CellCUDA, Peaks: []roof.Peak{
			{Name: roof.DRAM, Rate: 4000, Unit: roof.GBps}, {Name: roof.F16, Rate: 900e3, Unit: roof.GFLOPS},
		}},
		{DeviceClass: "host-example", Cell: spec.CellHost, Peaks: []roof.Peak{{Name: roof.DRAM, Rate: 10, Unit: roof.GBps}, {Name: roof.F32, Rate: 100, Unit: roof.GFLOPS}}},
	} {
		p.Schema = roof.Schema
		if _, err := roof.Save(folder, p); err != nil {
			t.Fatal(err)
		}
	}
}

func newRoofed(folder string) *Lab {
	return &Lab{
		Options: Options{Peaks: folder}, shared: &shared{},
		Report: &result.Report{Machine: result.Fingerprint{
			CPU: result.CPU{Model: "Example", Cores: 8, Caches: []result.Cache{
				{Level: 1, Type: "data", Bytes: 48 << 10}, {Level: 1, Type: "instruction", Bytes: 32 << 10}, {Level: 2, Bytes: 2 << 20},
			}}, GPU: &result.GPU{Name: "NVIDIA H200", L2Bytes: 60 << 20},
		}},
	}
}

// onProcessor is newRoofed on a machine without a GPU.
func onProcessor(folder string) *Lab {
	b := newRoofed(folder)
	b.Report.Machine.GPU = nil
	return b
}

// pythonOf returns a measured row of a function that a framework runs.
func pythonOf(framework string, threads int, gbps float64) *timedJob {
	p := jobOf(spec.CellPython, threads, gbps, 0)
	p.Artifact = &build.Artifact{Framework: framework}
	return p
}

// timedJob is a job with its time.
type timedJob struct {
	*Job
	timing *result.Timing
}

// A cold launch is held against the memory, though the L2 could hold its arguments; one that may have
// found them there is held against the L2.
func TestColdLaunchesAreHeldAgainstTheMemory(t *testing.T) {
	folder := t.TempDir()
	peaks := &roof.Peaks{Schema: roof.Schema, DeviceClass: "nvidia-h200", Cell: spec.CellCUDA, Peaks: []roof.Peak{
		{Name: roof.DRAM, Rate: 4000, Unit: roof.GBps}, {Name: roof.L2, Rate: 6800, Unit: roof.GBps},
	}}
	if _, err := roof.Save(folder, peaks); err != nil {
		t.Fatal(err)
	}
	const bytes = 20 << 20
	for name, c := range map[string]struct {
		cache, flush string
		repeat       int
		role         spec.Role
		roof, other  string
	}{
		"cold":                     {"cold", "clean", 1, spec.RoleIn, "dram", ""},
		"cold, read and written":   {"cold", "clean", 1, spec.RoleInOut, "dram", "l2"},
		"hot":                      {"hot", "clean", 1, spec.RoleIn, "l2", ""},
		"not flushed":              {"cold", "none", 1, spec.RoleIn, "l2", ""},
		"several launches at once": {"cold", "clean", 4, spec.RoleIn, "l2", ""},
	} {
		b := newRoofed(folder)
		b.Report.Method.Cache = c.cache
		p := jobOf(spec.CellCUDA, 0, 2560, 0)
		p.Record.Flush, p.timing.Repeat, p.timing.Footprint = c.flush, c.repeat, bytes
		moved := float64(bytes)
		if c.role == spec.RoleInOut {
			moved *= 2
		}
		p.timing.Stats.Median = moved / 2560e9
		p.Instance.Args[0].Role, p.Instance.Args[0].Elements = c.role, bytes/2
		s := b.HoldAgainstRoof(p.Job, p.timing).Timing.Stats
		if want := map[string]float64{"dram": 64, "l2": 2560.0 / 68}[c.roof]; s.Roof != c.roof || math.Abs(s.RoofPct-want) > 1e-9 {
			t.Errorf("%s: %v%% of %s, want %v%% of %s", name, s.RoofPct, s.Roof, want, c.roof)
		}
		if s.CacheRoof != c.other || (s.CacheRoofPct > 0) != (c.other != "") {
			t.Errorf("%s: beside it %v%% of %q, want %q", name, s.CacheRoofPct, s.CacheRoof, c.other)
		}
	}
}

// jobOf returns a measured row of a cell.
func jobOf(cell string, threads int, gbps, gflops float64) *timedJob {
	timing := &result.Timing{Footprint: 1 << 30, Stats: result.Stats{Count: 20, Median: 1e-3, GBps: gbps, GFLOPS: gflops}}
	return &timedJob{timing: timing, Job: &Job{
		Variant: spec.Variant{Kernel: &spec.Kernel{Name: "k", Cell: cell}},
		Instance: &spec.Instance{
			Launches: []spec.InstanceLaunch{{Threads: threads}},
			Args:     []spec.InstanceArg{{Buffer: true, DType: dtype.F16, Role: spec.RoleIn, Elements: 1 << 20}},
		},
	}}
}

func TestHoldAgainstRoof(t *testing.T) {
	folder := t.TempDir()
	peaksIn(t, folder)
	gpu, processor := newRoofed(folder), onProcessor(folder)
	for name, c := range map[string]struct {
		lab      *Lab
		job      *timedJob
		pct      float64
		roof     string
		rejected bool
		warned   bool
	}{
		"below":                         {gpu, jobOf(spec.CellCUDA, 0, 2480, 0), 62, "dram", false, false},
		"computing":                     {gpu, jobOf(spec.CellCUDA, 0, 400, 720e3), 80, "f16", false, false},
		"within the margin":             {gpu, jobOf(spec.CellCUDA, 0, 4160, 0), 104, "dram", false, false},
		"over the memory":               {gpu, jobOf(spec.CellCUDA, 0, 5000, 0), 125, "dram", true, false},
		"over the cores":                {gpu, jobOf(spec.CellCUDA, 0, 100, 990e3), 110, "f16", true, false},
		"over, in Python":               {gpu, pythonOf("torch", 1, 5000), 125, "dram", true, false},
		"nothing said":                  {gpu, jobOf(spec.CellCUDA, 0, 0, 0), 0, "", false, false},
		"host":                          {gpu, jobOf(spec.CellHost, 1, 5, 0), 50, "dram", false, false},
		"host over its roof":            {gpu, jobOf(spec.CellHost, 1, 20, 0), 200, "dram", false, true},
		"host, many cores":              {gpu, jobOf(spec.CellHost, 4, 20, 0), 0, "", false, false},
		"NumPy beside a GPU":            {gpu, pythonOf("numpy", 1, 5), 0, "", false, false},
		"JAX on a GPU":                  {gpu, pythonOf("jax", 1, 2480), 62, "dram", false, false},
		"no GPU, host":                  {processor, jobOf(spec.CellHost, 1, 5, 0), 50, "dram", false, false},
		"no GPU, PyTorch":               {processor, pythonOf("torch", 1, 5), 50, "dram", false, false},
		"no GPU, PyTorch over its roof": {processor, pythonOf("torch", 1, 20), 200, "dram", false, true},
		"no GPU, PyTorch on many cores": {processor, pythonOf("torch", 4, 20), 0, "", false, false},
		"no GPU, NumPy":                 {processor, pythonOf("numpy", 1, 5), 0, "", false, false},
		"no GPU, JAX":                   {processor, pythonOf("jax", 1, 5), 0, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			row := c.lab.HoldAgainstRoof(c.job.Job, c.job.timing)
			if s := row.Timing.Stats; math.Abs(s.RoofPct-c.pct) > 1e-9 || s.Roof != c.roof {
				t.Errorf("%v%% of %q, want %v%% of %q", s.RoofPct, s.Roof, c.pct, c.roof)
			}
			if (judge.OfFault(row.Fault) == result.Rejected) != c.rejected || (row.Fault != nil) != c.rejected {
				t.Errorf("fault %+v", row.Fault)
			}
			if c.rejected && (row.Fault.Cause != result.CauseOverRoof || row.Fault.Hint == "") {
				t.Errorf("fault %+v", row.Fault)
			}
			if (len(row.Warnings) == 1) != c.warned {
				t.Errorf("warnings %+v", row.Warnings)
			}
		})
	}
	if len(gpu.Report.Warnings)+len(processor.Report.Warnings) != 0 {
		t.Errorf("warnings of the run: %+v, %+v", gpu.Report.Warnings, processor.Report.Warnings)
	}
}

// On a CPU nobody is accused because of a roof that may not apply: that of a cache, of several
// cores, of a busier day. A rate that no core can reach is suspicious.
func TestHostBeyondItsRoof(t *testing.T) {
	folder := t.TempDir()
	peaksIn(t, folder)
	inCache := func(bytes int64, gbps float64) *timedJob {
		p := jobOf(spec.CellHost, 1, gbps, 0)
		p.timing.Footprint = bytes
		return p
	}
	computes := func(seconds, gflops float64) *timedJob {
		p := jobOf(spec.CellHost, 1, 0, gflops)
		p.Instance.Args[0].DType = dtype.F32
		p.timing.Stats.Median = seconds
		return p
	}
	short := computes(1e-7, 1000)
	blind := onProcessor(folder)
	blind.Report.Machine.CPU.Caches = nil
	processor, deep, guessed := onProcessor(folder), onProcessor(folder), onProcessor(t.TempDir())
	if _, err := roof.Save(guessed.Peaks, &roof.Peaks{Schema: roof.Schema, DeviceClass: "host-example", Cell: spec.CellHost, Peaks: []roof.Peak{
		{Name: roof.DRAM, Rate: 10, Unit: roof.GBps, Tried: []roof.Try{{Rate: 10, HalfWidth: 0.5}}},
	}}); err != nil {
		t.Fatal(err)
	}
	deep.Report.Machine.CPU.Caches = append(deep.Report.Machine.CPU.Caches, result.Cache{Level: 3, Bytes: 32 << 20})
	for name, c := range map[string]struct {
		lab        *Lab
		job        *timedJob
		suspicious bool
		warned     bool
	}{
		"below":                     {processor, jobOf(spec.CellHost, 1, 9, 0), false, false},
		"on a busier day":           {processor, jobOf(spec.CellHost, 1, 14, 0), false, true},
		"twice":                     {processor, jobOf(spec.CellHost, 1, 20, 0), true, true},
		"fifty times":               {processor, jobOf(spec.CellHost, 1, 500, 0), true, true},
		"by a peak half known":      {guessed, jobOf(spec.CellHost, 1, 29, 0), false, true},
		"whatever the peak is":      {guessed, jobOf(spec.CellHost, 1, 31, 0), true, true},
		"beside a GPU":              {newRoofed(folder), jobOf(spec.CellHost, 1, 20, 0), true, true},
		"PyTorch":                   {processor, pythonOf("torch", 1, 20), true, true},
		"in the L1":                 {processor, inCache(60<<10, 500), false, false},
		"in an L2 without a peak":   {processor, inCache(2<<20, 100), false, false},
		"in an LLC without a peak":  {deep, inCache(40<<20, 100), false, false},
		"beyond the LLC":            {deep, jobOf(spec.CellHost, 1, 20, 0), true, true},
		"caches nobody knows":       {blind, jobOf(spec.CellHost, 1, 500, 0), false, false},
		"four cores":                {processor, jobOf(spec.CellHost, 4, 35, 0), false, false},
		"four cores, a good day":    {processor, jobOf(spec.CellHost, 4, 55, 0), false, false},
		"more than four cores can":  {processor, jobOf(spec.CellHost, 4, 100, 0), true, true},
		"NumPy on all cores":        {processor, pythonOf("numpy", 1, 70), false, false},
		"NumPy beyond all cores":    {processor, pythonOf("numpy", 1, 800), true, true},
		"computing":                 {processor, computes(0.1, 90), false, false},
		"more than a core computes": {processor, computes(0.1, 1000), true, true},
		"too short to know":         {processor, short, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.job != short { // else part of what it moves may lie in a cache
				c.job.timing.Stats.Median = 0.1
			}
			row := c.lab.HoldAgainstRoof(c.job.Job, c.job.timing)
			if row.Fault != nil {
				t.Errorf("fault %+v", row.Fault)
			}
			if (len(row.Findings) == 1) != c.suspicious {
				t.Errorf("%+v", row.Findings)
			}
			if len(row.Findings) == 1 && (row.Findings[0].Exploit != "inflated-work" || !strings.Contains(row.Findings[0].Message, "the measured peak of ")) {
				t.Errorf("%+v", row.Findings)
			}
			if (len(row.Warnings) == 1) != c.warned {
				t.Errorf("warnings %+v", row.Warnings)
			}
		})
	}
}

func TestOverRoofNamesBothNumbers(t *testing.T) {
	folder := t.TempDir()
	peaksIn(t, folder)
	p := jobOf(spec.CellCUDA, 0, 5000, 0)
	roofed := newRoofed(folder).HoldAgainstRoof(p.Job, p.timing)
	for _, number := range []string{"125.0%", "5.00 TB/s", "4.00 TB/s", "dram"} {
		if !strings.Contains(roofed.Fault.Message, number) {
			t.Errorf("no %s in %q", number, roofed.Fault.Message)
		}
	}
}

func TestWithoutPeaks(t *testing.T) {
	for name, folder := range map[string]string{"no folder": "", "an empty one": t.TempDir()} {
		b, p := newRoofed(folder), jobOf(spec.CellCUDA, 0, 5000, 0)
		roofed := b.HoldAgainstRoof(p.Job, p.timing)
		if roofed.Timing.Stats.Roof != "" || roofed.Fault != nil || len(b.Report.Warnings) != 0 {
			t.Errorf("%s: %+v, %+v", name, roofed, b.Report.Warnings)
		}
	}
}

// Unreadable peaks cause one warning and change nothing else.
func TestBrokenPeaks(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(roof.Path(folder, "nvidia-h200"), []byte(`{"schema": 1,`), 0o644); err != nil {
		t.Fatal(err)
	}
	b := newRoofed(folder)
	for range 2 {
		p := jobOf(spec.CellCUDA, 0, 5000, 0)
		roofed := b.HoldAgainstRoof(p.Job, p.timing)
		if roofed.Fault != nil || roofed.Timing.Stats.Roof != "" {
			t.Errorf("%+v", roofed)
		}
	}
	if w := b.Report.Warnings; len(w) != 1 || !strings.Contains(w[0].Message, folder) || !strings.Contains(w[0].Hint, "--roofline") {
		t.Errorf("%+v", w)
	}
}

// Labs on several GPUs find the peaks once for all of them, whichever is first.
func TestPeaksAreShared(t *testing.T) {
	t.Parallel()
	b := labWithGPU(t, "")
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Peaks = t.TempDir()
	b.Report.Machine.GPU = &b.Devices()[0]
	if err := os.WriteFile(roof.Path(b.Peaks, "some-gpu"), []byte(`{"schema": 1,`), 0o644); err != nil {
		t.Fatal(err)
	}
	var busy sync.WaitGroup
	for _, lane := range []*Lab{b, b.another(1)} {
		busy.Go(func() {
			for range 10 {
				lane.compiler(spec.CellCUDA, "nvcc 13")
				p := jobOf(spec.CellCUDA, 0, 5000, 0)
				lane.HoldAgainstRoof(p.Job, p.timing)
			}
		})
	}
	busy.Wait()
	if len(b.Report.Warnings) != 1 {
		t.Errorf("%+v", b.Report.Warnings)
	}
}

// A row has ceilings where the peaks of what it runs on were measured, and one core of a processor runs it.
func TestCeilings(t *testing.T) {
	folder := t.TempDir()
	peaksIn(t, folder)
	for name, c := range map[string]struct {
		lab  *Lab
		job  *timedJob
		want [2]float64
		has  bool
	}{
		"a GPU":                      {newRoofed(folder), jobOf(spec.CellCUDA, 0, 2000, 1000), [2]float64{4000e9, 900e12}, true},
		"a core":                     {newRoofed(folder), jobOf(spec.CellHost, 1, 5, 0), [2]float64{10e9, 0}, true},
		"several cores":              {newRoofed(folder), jobOf(spec.CellHost, 4, 5, 0), [2]float64{}, true},
		"nothing measured":           {newRoofed(t.TempDir()), jobOf(spec.CellCUDA, 0, 2000, 1000), [2]float64{}, false},
		"a function on no GPU":       {onProcessor(folder), pythonOf("torch", 1, 5), [2]float64{10e9, 0}, true},
		"a GPU that is not there":    {onProcessor(folder), jobOf(spec.CellCUDA, 0, 2000, 1000), [2]float64{}, false},
		"a function of NumPy, a GPU": {newRoofed(folder), pythonOf("numpy", 1, 5), [2]float64{}, true}, // it may use all cores
	} {
		if c.job.Cell() == spec.CellPython {
			c.job.Variant.Kernel.Framework = c.job.Artifact.Framework
		}
		memory, compute, _ := c.lab.Ceilings(c.job.Job, c.job.timing)
		if got := [2]float64{memory, compute}; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if has := c.lab.HasPeaks(c.job.Job); has != c.has {
			t.Errorf("%s: peaks are known: %v, want %v", name, has, c.has)
		}
	}
	b, p := newRoofed(folder), jobOf(spec.CellCUDA, 0, 2000, 1000)
	if memory, _, _ := b.Ceilings(p.Job, nil); memory != 0 {
		t.Errorf("%g of a row without a time", memory)
	}
}
