package build

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// defaultFlags come before the kernel's own, which can override them.
var defaultFlags = []string{"-O3", "-march=native", "-g", "-fPIC"}

var (
	shimFlags = []string{"-x", "c", "-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden"}
	linkFlags = []string{"-lm", "-Wl,-z,now", "-Wl,--no-undefined", "-Wl,--build-id=none"}
)

// recipe says how a variant is compiled: everything that its key depends on, except the files that
// the compiler reads.
type recipe struct {
	dir       string // absolute
	variant   spec.Variant
	compiler  *compiler
	compile   []string  // flags and defines
	link      []string  // flags
	libraries bool      // whether the kernel's flags name libraries or objects to link in
	cuda      *cudaPlan // for CUDA kernels
	launcher  bool      // for host code that launches CUDA kernels by itself
	python    bool      // for Python functions, which nothing compiles
	module    []byte    // of a Python function, where it is not in dir
	hash      string
}

// recipe plans a request without reading any file of the user's.
func (b *Builder) recipe(ctx context.Context, request Request) (*recipe, *result.Fault) {
	k := request.Variant.Kernel
	if fault := refuseFlags(k.Name, k.Flags); fault != nil {
		return nil, fault
	}
	dir, err := filepath.Abs(request.Dir)
	if err != nil {
		return nil, internal("find the spec's folder", err)
	}
	r := &recipe{dir: dir, variant: request.Variant, module: request.Module}
	switch filepath.Ext(k.Source) {
	case ".c":
		return r, r.planHost(ctx, b.cc)
	case ".cc", ".cpp", ".cxx":
		return r, r.planHost(ctx, b.cxx)
	case ".cu":
		if k.Launcher {
			return r, b.planLauncher(ctx, r)
		}
		return r, b.planCUDA(ctx, r)
	case ".py":
		r.planPython()
		return r, nil
	}
	return nil, newFault(result.CauseUnsupported, "host kernels end in .c, .cc, .cpp or .cxx, CUDA kernels in .cu", "%s is not in a known language", k.Source)
}

// planHost plans a C or C++ kernel.
func (r *recipe) planHost(ctx context.Context, tool *tool) *result.Fault {
	c, fault := tool.find(ctx)
	if fault != nil {
		return fault
	}
	k := r.variant.Kernel
	compile, link := splitFlags(k.Flags)
	r.compiler = c
	r.compile = slices.Concat(defaultFlags, compile, r.defines("-D"))
	r.link = slices.Concat(link, linkFlags)
	r.libraries = len(link) > len(compile)

	// The symbols are not known before compiling, but follow from the entries.
	shim, err := shimSource(k, entriesOf(k))
	if err != nil {
		return internal("write the shim", err)
	}
	r.hash = hashOf(format, []string{target(), c.Name, c.Version, c.Target, c.Linker}, c.Command[1:], c.parts(), environment(),
		k.Source, r.compile, r.link, shimFlags, shim, versionScript())
	return nil
}

// shared returns the compiler's flags that all variants of a kernel have: those that define a
// variant's macros are the last.
func (r *recipe) shared() []string {
	return r.compile[:max(0, len(r.compile)-len(r.defines("")))]
}

// defines returns the flags that define the variant's macros.
func (r *recipe) defines(flag string) []string {
	var flags []string
	for _, define := range r.variant.Defines() {
		flags = append(flags, flag+define)
	}
	return flags
}

// entriesOf returns the entries of a kernel's launches.
func entriesOf(k *spec.Kernel) []string {
	var entries []string
	for _, launch := range k.Launches {
		entries = append(entries, launch.Entry)
	}
	return entries
}

// splitFlags separates a kernel's flags by their step. All of them go to the link, as CFLAGS do in
// make and CMake: -fopenmp, -pthread or -fsanitize mean something to both steps. Flags that name
// libraries stay out of the compile step. Link-time optimisation is turned off: there is one
// source, and its object must show which functions it has.
func splitFlags(flags []string) (compile, link []string) {
	takesNext := false
	for _, flag := range flags {
		switch {
		case takesNext:
			takesNext = false
		case flag == "-L" || flag == "-l" || flag == "-Xlinker":
			takesNext = true
		case linkOnly(flag):
		default:
			compile = append(compile, flag)
		}
		link = append(link, flag)
	}
	if slices.ContainsFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "-flto") }) {
		compile, link = append(compile, "-fno-lto"), append(link, "-fno-lto")
	}
	return compile, link
}

func linkOnly(flag string) bool {
	if strings.HasPrefix(flag, "-") {
		return strings.HasPrefix(flag, "-L") || strings.HasPrefix(flag, "-l") || strings.HasPrefix(flag, "-Wl,")
	}
	return slices.Contains([]string{".a", ".o", ".so"}, filepath.Ext(flag))
}
