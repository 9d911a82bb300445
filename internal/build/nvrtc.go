package build

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl/internal/native/nvrtc"
	"pawl/internal/result"
)

// useRuntime completes the plan of a CUDA kernel for NVRTC.
func (r *recipe) useRuntime(c *runtimeCompiler) *result.Fault {
	k := r.variant.Kernel
	flags, fault := runtimeFlags(k.Flags)
	if fault != nil {
		return fault
	}
	r.cuda.runtime = c
	r.compiler = &compiler{Name: "nvrtc", Command: []string{c.library.Path()}, Version: c.version, Folders: c.folders()}
	r.compile = []string{"--gpu-architecture=" + r.cuda.arch, "-lineinfo", "--ptxas-options=-v"}
	if !slices.ContainsFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "--std=") }) {
		r.compile = append(r.compile, "--std=c++17")
	}
	r.compile = slices.Concat(r.compile, flags, r.defines("--define-macro="))
	sum := newDigest(format + " nvrtc")
	sum.add(c.id)
	for _, name := range slices.Sorted(maps.Keys(runtimeHeaders)) {
		sum.add([]string{name, runtimeHeaders[name]})
	}
	sum.add(k.Source, r.compile, r.cuda.entries)
	r.hash = sum.hex()
	return nil
}

// scanned returns the files that compiling a recipe with NVRTC may read, but for those
// of CUDA itself, and the macro of an #include that cannot be followed.
func (run *batch) scanned(r *recipe) (paths []string, computed string) {
	headers := r.cuda.runtime.headers
	paths, computed = run.includes.scan(r.dir, r.variant.Kernel.Source, slices.Concat(flagValues(r.compile, searchFlags)["-I"], headers), headers)
	slices.Sort(paths)
	return paths, computed
}

// reads returns the lists of files that compiling a recipe may read. NVRTC does not list what it
// read, but what it would read can be determined beforehand.
func (run *batch) reads(r *recipe) [][]lookup {
	if r.cuda == nil || r.cuda.runtime == nil {
		return run.cache.reads(r.hash)
	}
	paths, computed := run.scanned(r)
	if computed != "" {
		return nil
	}
	return [][]lookup{filesRead(paths)}
}

// compileRuntime makes the cubin.
func (run *batch) compileRuntime(ctx context.Context, r *recipe, place *workplace, made *product) *result.Fault {
	k := r.variant.Kernel
	var computed string
	if made.paths, computed = run.scanned(r); computed != "" {
		made.untracked = fmt.Sprintf("it is compiled again every time: NVRTC does not report which file #include %s reads", computed)
	}
	program := nvrtc.Program{
		// The whole path: headers beside the source are found by it.
		Source: string(place.text), Name: within(r.dir, k.Source), Headers: runtimeHeaders, NameExpressions: r.cuda.templates(),
	}
	for _, option := range r.cuda.without(r.compile, place.text) {
		if folder, ok := strings.CutPrefix(option, "--include-path="); ok {
			option = "--include-path=" + within(r.dir, folder)
		}
		program.Options = append(program.Options, option)
	}
	for _, folder := range r.cuda.runtime.headers {
		program.Options = append(program.Options, "--include-path="+folder)
	}
	compiled, output, fault := run.callRuntime(ctx, r, program)
	var found map[string]result.Resources
	found, made.output = splitPTXAS(output)
	if fault != nil {
		return r.cuda.explain(refused(fault, k.Source, output), output)
	}
	made.so = compiled.CUBIN
	return r.addKernels(made, place.text, found, compiled.Lowered)
}

// callRuntime runs NVRTC in a child.
func (run *batch) callRuntime(ctx context.Context, r *recipe, program nvrtc.Program) (nvrtc.Result, string, *result.Fault) {
	c, task := r.cuda.runtime, "compiling "+r.variant.Kernel.Source
	limited, cancel := context.WithTimeout(ctx, run.deadline)
	defer cancel()
	compiled, err := run.compileHeld(limited, r, program)
	var output bounded
	var refused *nvrtc.Error
	var fault *result.Fault
	switch {
	case ctx.Err() != nil:
		return nvrtc.Result{}, "", interrupted()
	case err == nil:
		_, _ = output.Write([]byte(compiled.Log))
		return compiled, output.String(), nil
	case limited.Err() != nil:
		return nvrtc.Result{}, "", newFault(result.CauseTimeout, "", "%s did not finish %s in %s", c.version, task, run.deadline)
	case errors.As(err, &fault):
		return nvrtc.Result{}, "", fault
	case !errors.As(err, &refused) || refused.Code != nvrtcCompilation && refused.Code != nvrtcInvalidOption:
		return nvrtc.Result{}, "", internal(task+" with "+c.version, err)
	}
	_, _ = output.Write([]byte(refused.Log))
	fault = newFault(result.CauseCompile, "", "%s failed %s", c.version, task)
	if strings.Contains(refused.Log, "open source file") {
		fault.Hint = "nvcc was not found, so NVRTC compiles, and it does not see the host's headers: only the source's folder, the -I in flags, and " +
			strings.Join(c.headers, ", ")
		if hint := run.fenceOf(r).hint(r.dir, refused.Log, program.Options); hint != "" {
			fault.Hint = hint
		}
	}
	return nvrtc.Result{}, output.String(), fault
}

// Of nvrtcResult: what is the source's fault, and what the flags'.
const (
	nvrtcInvalidOption = 5
	nvrtcCompilation   = 6
)
