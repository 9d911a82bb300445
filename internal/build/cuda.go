package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"pawl/internal/diag"
	"pawl/internal/pattern"
	"pawl/internal/result"
)

// cudaPlan holds what is special about compiling a CUDA kernel: device code only, for one
// architecture, with the templates that its launches name instantiated.
type cudaPlan struct {
	arch    string
	entries []string         // of the launches, template arguments evaluated
	passed  []string         // the params that these arguments name
	runtime *runtimeCompiler // used instead of nvcc
}

// cudaFlags come before the kernel's own. Line information costs nothing and lets findings name
// source lines; ptxas reports the kernel's resources.
var cudaFlags = []string{"-O3", "-std=c++17", "-lineinfo", "-Xptxas", "-v", "-cubin"}

var archName = pattern.New(`^sm_[0-9]{2,3}[af]?$`)

// planCUDA plans a CUDA kernel.
func (b *Builder) planCUDA(ctx context.Context, r *recipe) *result.Fault {
	k := r.variant.Kernel
	if b.arch == "" {
		return newFault(result.CauseUnsupported, "run pawl on the machine with the GPU, or name the architecture: pawl build --arch sm_90a for Hopper, or set PAWL_CUDA_ARCH=sm_90a",
			"%s is CUDA, but there is no GPU to tell the architecture to compile for", k.Source)
	}
	if !ValidArch(b.arch) {
		return newFault(result.CauseUnsupported, "", "%q is no GPU architecture; expected a name such as sm_90a", b.arch)
	}
	r.cuda = &cudaPlan{arch: b.arch}
	for _, launch := range k.Launches {
		entry, passed, err := instantiated(launch.Entry, r.variant)
		if err != nil {
			return newFault(result.CauseSpec, "", "entry %s: %v", launch.Entry, err)
		}
		r.cuda.entries = append(r.cuda.entries, entry)
		r.cuda.passed = append(r.cuda.passed, passed...)
	}
	_, missing := b.nvcc.locate()
	wanted := os.Getenv("PAWL_NVRTC") != "" && os.Getenv("NVCC") == "" && !k.Launcher // who names it means it
	if (missing != nil || wanted) && b.nvcc.words[0] == b.nvcc.name {
		if k.Launcher {
			fault := noCompiler(missing, errors.New("a launcher is host code, which NVRTC cannot compile"))
			fault.Hint = "install the CUDA toolkit, or name its nvcc in NVCC"
			return fault
		}
		c, err := b.runtime()
		if err != nil {
			return noCompiler(missing, err)
		}
		return r.useRuntime(c)
	}
	c, fault := b.nvcc.find(ctx)
	if fault != nil {
		return fault
	}
	r.compiler = c
	r.compile = slices.Concat(cudaFlags, []string{"-arch=" + b.arch}, k.Flags, r.defines("-D"))
	r.hash = hashOf(format+" cuda", []string{c.Name, c.Version}, c.Command[1:], c.parts(), r.hostCompiler(), environment(),
		[]string{os.Getenv("NVCC_PREPEND_FLAGS"), os.Getenv("NVCC_APPEND_FLAGS")}, k.Source, r.compile, r.cuda.entries)
	return nil
}

// compileCUDA makes the cubin in its own folder.
func (run *batch) compileCUDA(ctx context.Context, r *recipe, place *workplace, made *product) *result.Fault {
	k, work := r.variant.Kernel, place.dir
	source := k.Source
	if wrapper := r.cuda.instances(verbatim(r.dir, k.Source)); wrapper != "" {
		source = filepath.Join(work, "instances.cu")
		if err := os.WriteFile(source, []byte(wrapper), 0o644); err != nil {
			return internal("write the template instances", err)
		}
	}
	out, depfile := filepath.Join(work, "kernel.cubin"), filepath.Join(work, "kernel.d")
	output, fault := run.command(r, work, "compiling "+k.Source, true,
		slices.Concat(r.cuda.without(r.compile, place.text), r.tracking(depfile), []string{source, "-o", out})).run(ctx)
	var found map[string]result.Resources
	found, made.output = splitPTXAS(output)
	if fault != nil {
		return r.cuda.explain(refused(fault, k.Source, output), output)
	}
	var err error
	if made.paths, err = readDepfile(depfile, work); err != nil {
		return internal("learn what was compiled", err)
	}
	for i, path := range made.paths { // instances names the whole path, ../ and all, and another checkout must not find this one's
		made.paths[i] = nameIn(r.dir, path)
	}
	if made.so, err = os.ReadFile(out); err != nil {
		return internal("read the cubin", err)
	}
	if fault := checkLinked(made.so, k.Source); fault != nil {
		return fault
	}
	return r.addKernels(made, place.text, found, nil)
}

// addKernels records the kernels of the launches, with the resources that ptxas reports. lowered
// has the symbols that the compiler itself named, by entry.
func (r *recipe) addKernels(made *product, text []byte, resources map[string]result.Resources, lowered map[string]string) *result.Fault {
	defined, err := readCubin(made.so)
	if err != nil {
		return internal("read the cubin", err)
	}
	source := r.variant.Kernel.Source
	for _, entry := range r.cuda.entries {
		symbol, known := lowered[entry]
		var fault *result.Fault
		if !known {
			symbol, fault = resolveKernel(entry, source, defined.global, text)
		} else if !slices.Contains(defined.global, symbol) {
			fault = newFault(result.CauseNoEntry, "", "%q in %s is no __global__ function", entry, source)
		}
		if fault != nil {
			return fault
		}
		needs := resources[symbol]
		needs.Entry, needs.Constant = entry, declaredConstants(made.so)
		made.symbols = append(made.symbols, symbol)
		made.resources = append(made.resources, needs)
	}
	return nil
}

// resolveKernel finds the symbol of an entry: the C name, the only function with that demangled
// name, or the only instance of its template: the compiler may call "scale<1>" scale<true>, and
// "scale<half>" scale<__half>.
func resolveKernel(entry, source string, symbols []string, text []byte) (string, *result.Fault) {
	if slices.Contains(symbols, entry) {
		return entry, nil
	}
	want := strings.Join(strings.Fields(entry), "")
	template, _, isTemplate := strings.Cut(want, "<")
	var matches, instances, names []string
	for _, symbol := range symbols {
		name := kernelName(symbol)
		names = append(names, name)
		plain := strings.Join(strings.Fields(name), "")
		if plain == want {
			matches = append(matches, symbol)
		}
		if of, _, ok := strings.Cut(plain, "<"); ok && isTemplate && of == template {
			instances = append(instances, symbol)
		}
	}
	switch {
	case len(matches) == 0 && len(instances) == 1:
		return instances[0], nil
	case len(matches) == 1:
		return matches[0], nil
	case len(matches) > 1:
		return "", newFault(result.CauseNoEntry, "declare the intended one extern \"C\", or use its symbol as the entry: "+strings.Join(matches, ", "),
			"%q is %d kernels in %s", entry, len(matches), source)
	}
	hint := diag.Meant(entry, names)
	if regexp.MustCompile(`\b` + regexp.QuoteMeta(entry) + `\s*\(`).Match(text) {
		hint = entry + " stands in the source but was not compiled: is it a __global__ function, or a template? Then name its arguments, such as \"" + entry + "<64>\""
	}
	return "", newFault(result.CauseNoEntry, hint, "no kernel %q in %s", entry, source)
}

// kernelName returns a symbol as people write it: with template arguments, without
// parameters and return type.
func kernelName(symbol string) string {
	name, err := demangle.ToString(symbol, demangle.NoParams, demangle.NoEnclosingParams)
	if err != nil {
		return symbol
	}
	// A template's name comes with its return type, and a kernel returns void.
	name = strings.NewReplacer("(bool)0", "false", "(bool)1", "true").Replace(strings.TrimPrefix(name, "void "))
	return integerSuffix.ReplaceAllString(name, "$1")
}

// integerSuffix is the u, l or ul that demanglers put behind template arguments.
var integerSuffix = pattern.New(`\b([0-9]+)(?:ul|lu|u|l)\b`)
