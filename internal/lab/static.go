package lab

import (
	"cmp"
	"context"
	"slices"

	"pawl/internal/advice"
	"pawl/internal/build"
	"pawl/internal/dtype"
	"pawl/internal/profile"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/spec"
)

// Static is what a built artifact for a GPU says without running.
type Static struct {
	Kernels []StaticKernel // in the order of the launches; of a launcher, those that it embeds
	Tool    string         // program that listed the instructions; "": none did
	Unseen  []Unseen
}

// StaticKernel is one kernel of an artifact.
type StaticKernel struct {
	Symbol    string
	Launch    *spec.InstanceLaunch // nil: a launcher decides it when it runs
	Resources *profile.Resources   // nil: see Unseen
	Residency *profile.Residency   // of the launch; nil: see Unseen
	Mix       *profile.Mix         // nil: see Unseen
}

// Unseen is something that an artifact could have said.
type Unseen struct {
	What string // "instructions of add"
	Why  string
	Hint string
}

// Static reads a built job's artifact: what each launched kernel needs, how many of its blocks fit
// onto an SM, and which instructions it has, where there is a disassembler. What is missing is
// listed. Nothing is run on a device.
func (l *Lab) Static(ctx context.Context, job *Job) (*Static, error) {
	if job.Cell() != spec.CellCUDA {
		return nil, result.Faultf(result.CauseUnsupported, "%s has no device code before it runs", job.Variant.Kernel.Name).WithHint("profile it with ncu, or on the CPU with the processor's counters")
	}
	images, err := job.Artifact.DeviceCode()
	if err != nil {
		return nil, err
	}
	gpu := 0
	if here := l.machine().GPU; here != nil {
		gpu, _ = ArchNumber(here.Arch)
	}
	s := &Static{}
	image, found := s.choose(images, gpu)
	if image == nil {
		return s, nil
	}
	s.launched(job, found)
	for i := range s.Kernels {
		s.Kernels[i].fit(s, cmp.Or(gpu, s.Kernels[i].cc()))
	}
	s.disassemble(ctx, l.Options.Build, image)
	return s, nil
}

// choose returns the cubin that the GPU would run, with the resources of its kernels: the newest of
// its generation. Without a GPU it is the newest of all.
func (s *Static) choose(images [][]byte, gpu int) (image []byte, found []profile.Resources) {
	for _, one := range images {
		resources, err := profile.ReadCubin(one)
		switch {
		case err != nil:
			s.miss("resources", err.Error(), "")
		case gpu != 0 && resources[0].CC != 0 && (resources[0].CC/10 != gpu/10 || resources[0].CC > gpu):
			continue // for other GPUs
		case image == nil || resources[0].CC > found[0].CC:
			image, found = one, resources
		}
	}
	if image == nil && len(s.Unseen) == 0 {
		s.miss("resources", "the artifact has no machine code for this GPU: the driver compiles it when it is loaded", "")
	}
	return image, found
}

func (s *Static) miss(what, why, hint string) { s.Unseen = append(s.Unseen, Unseen{what, why, hint}) }

// launched lists the kernels of the launches, or all of a launcher.
func (s *Static) launched(job *Job, found []profile.Resources) {
	if job.Variant.Kernel.Launcher || job.Instance == nil {
		for i := range found {
			s.Kernels = append(s.Kernels, StaticKernel{Symbol: found[i].Kernel, Resources: &found[i]})
		}
		return
	}
	for i := range job.Instance.Launches {
		k := StaticKernel{Symbol: job.Artifact.Symbols[i], Launch: &job.Instance.Launches[i]}
		if at := slices.IndexFunc(found, func(r profile.Resources) bool { return r.Kernel == k.Symbol }); at >= 0 {
			k.Resources = &found[at]
		} else {
			s.miss("resources of "+k.Symbol, "the cubin has no such kernel", "")
		}
		s.Kernels = append(s.Kernels, k)
	}
}

// cc is the compute capability × 10 that the kernel was compiled for; 0: not known.
func (k *StaticKernel) cc() int {
	if k.Resources == nil {
		return 0
	}
	return k.Resources.CC
}

// threads is the number of threads of a block.
func (k *StaticKernel) threads() int {
	b := k.Launch.Block
	return int(b[0] * b[1] * b[2])
}

// fit computes how many blocks of the launch fit onto an SM.
func (k *StaticKernel) fit(s *Static, cc int) {
	switch {
	case k.Resources == nil:
		return
	case k.Launch == nil:
		s.miss("occupancy of "+k.Symbol, "the launcher decides block and shared memory when it runs", "")
		return
	}
	r, err := profile.ComputeOccupancy(cc, k.Resources.Registers, k.Resources.Shared+int(k.Launch.Shared), k.threads())
	if err != nil {
		s.miss("occupancy of "+k.Symbol, err.Error(), "")
		return
	}
	k.Residency = &r
}

// disassemble counts the instructions of the kernels.
func (s *Static) disassemble(ctx context.Context, opts build.Options, image []byte) {
	const what = "instructions"
	builder, err := build.New(opts)
	if err != nil {
		s.miss(what, err.Error(), "")
		return
	}
	listing, fault := builder.Disassemble(ctx, image)
	if fault != nil {
		s.miss(what, fault.Message+": instructions were not counted", fault.Hint)
		return
	}
	functions, err := profile.ReadSASS(listing.Tool, listing.Text)
	if err != nil {
		s.miss(what, err.Error(), "")
		return
	}
	s.Tool = listing.Tool
	for i := range s.Kernels {
		k := &s.Kernels[i]
		at := slices.IndexFunc(functions, func(f *profile.Function) bool { return f.Name == k.Symbol })
		if at < 0 {
			s.miss(what+" of "+k.Symbol, "the disassembler does not list it", "")
			continue
		}
		k.Mix = functions[at].Mix()
	}
}

// StaticEvidence returns what is known of a kernel without a profiler, for findings. The timing may
// be nil. Time and declared work are those of all launches together: they count for a kernel that
// is the only one.
func (l *Lab) StaticEvidence(job *Job, t *result.Timing, k StaticKernel) advice.Evidence {
	e := advice.Evidence{Resources: k.Resources, Residency: k.Residency, Mix: k.Mix}
	if made := job.Record.Build; made != nil {
		e.Debug = slices.Contains(made.Flags, "-G") || slices.Contains(made.Flags, "-O0")
	}
	if here := l.machine().GPU; here != nil {
		e.SMs = here.SMs
	}
	if k.Launch != nil {
		e.Grid, e.Threads = int(k.Launch.Grid[0]*k.Launch.Grid[1]*k.Launch.Grid[2]), k.threads()
	}
	if job.Instance == nil {
		return e
	}
	has := func(types ...dtype.Type) *bool {
		is := slices.ContainsFunc(job.Instance.Args, func(a spec.InstanceArg) bool { return slices.Contains(types, a.DType) })
		return &is
	}
	e.Double, e.Half = has(dtype.F64), has(dtype.F16, dtype.BF16)
	e.Launches = len(job.Instance.Launches)
	if e.Launches != 1 {
		return e
	}
	e.Flops, e.Bytes = job.Instance.Flops, job.Instance.Bytes
	if t == nil {
		return e
	}
	held := l.HoldAgainstRoof(job, t).Timing.Stats
	e.Seconds = held.Median
	if peaks := l.peaksOf(job.Cell()); peaks != nil {
		switch limit := peaks.Find(roof.Name(held.Roof)); {
		case limit == nil:
		case limit.Unit == roof.GBps: // the DRAM's, or the L2's where that holds the arguments
			e.Bandwidth = limit.Rate * 1e9
		default:
			e.Peak = limit.Rate * 1e9
		}
	}
	return e
}
