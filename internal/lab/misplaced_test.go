package lab

import (
	"errors"
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

// A function that runs on the CPU is never taken for one on the GPU.
func TestFunctionsThatDoNotFindTheGPU(t *testing.T) {
	t.Parallel()
	job := func(cell, framework string, untimed bool) *Job {
		return &Job{Variant: spec.Variant{Kernel: &spec.Kernel{Name: "k", Cell: cell, Framework: framework}}, Untimed: untimed}
	}
	for name, test := range map[string]struct {
		job      *Job
		kind     result.Kind
		gpus     int
		onDevice bool
		refused  bool
	}{
		"PyTorch for the processor":   {job(spec.CellPython, "torch", false), result.KindBench, 1, false, true},
		"PyTorch for GPUs":            {job(spec.CellPython, "torch", false), result.KindBench, 1, true, false},
		"a fuzz times nothing":        {job(spec.CellPython, "torch", false), result.KindFuzz, 1, false, false},
		"there is no GPU":             {job(spec.CellPython, "torch", false), result.KindBench, 0, false, false},
		"it is only asked":            {job(spec.CellPython, "torch", true), result.KindBench, 1, false, false},
		"NumPy":                       {job(spec.CellPython, "numpy", false), result.KindBench, 1, false, false},
		"C":                           {job(spec.CellHost, "", false), result.KindBench, 1, false, false},
		"device code, whatever it is": {job(spec.CellCUDA, "", false), result.KindBench, 1, true, false},
	} {
		b := &Lab{Report: &result.Report{Kind: test.kind}}
		err := b.misplaced(test.job, test.gpus, &wire.LoadReply{Runtime: "PyTorch 2.11", OnDevice: test.onDevice})
		var fault *result.Fault
		if refused := errors.As(err, &fault) && fault.Cause == result.CauseUnsupported; refused != test.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
