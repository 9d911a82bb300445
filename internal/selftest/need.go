package selftest

import (
	"cmp"
	"slices"
	"strings"

	"pawl/internal/result"
)

// What a subject may need of a machine. If a framework is missing, its cell says so and the subject
// is skipped.
const (
	needsTorch    = "torch"
	needsRoof     = "roof"
	needsCuBLAS   = "cublas"
	needsTorchGPU = "torch-gpu" // PyTorch also runs without a GPU, so its cell does not say so
)

// ownProduct is the kernel that launcher/library_call launches where there is no library to call:
// it is then an honest kernel.
const ownProduct = "gemm_tiles"

// machine is what reports say about the machine.
type machine struct {
	gpu      bool   // the run used one
	roof     bool   // a row was compared with measured peaks
	unlinked string // why a library could not be linked
	own      bool   // kernels were listed, and all are library_call's own
}

func (m *machine) add(row *result.Row) {
	if row.Timing != nil && row.Timing.Stats.RoofPct > 0 || row.Fault != nil && row.Fault.Cause == result.CauseOverRoof {
		m.roof = true
	}
	if f := row.Fault; f != nil && f.Stage == "build" && row.Build != nil && strings.Contains(strings.ToLower(row.Build.Output), needsCuBLAS) {
		m.unlinked = f.Message
	}
	if v := row.Verification; v != nil && len(v.Kernels) > 0 {
		m.own = !slices.ContainsFunc(v.Kernels, func(name string) bool { return !strings.Contains(name, ownProduct) })
	}
}

// lacks says why a subject could not be tried here; "" when it could.
func (e *evidence) lacks(need string) string {
	switch {
	case need == needsTorchGPU && !e.has.gpu:
		return cmp.Or(e.skipped, "this machine has no GPU that PyTorch could use: pawl doctor shows what it has")
	case need == needsRoof && !e.has.roof && !e.failed:
		return "the machine's peaks are not measured: pawl calibrate --roofline"
	case need == needsCuBLAS && e.has.unlinked != "":
		return "cuBLAS is missing: " + e.has.unlinked
	case need == needsCuBLAS && e.has.own && !e.failed && !e.suspicious:
		return "cuBLAS cannot be loaded: only its own kernel ran"
	}
	return ""
}
