package build

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"pawl/internal/native/nvrtc"
	"pawl/internal/result"
	"pawl/internal/sandbox"
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
	r.compile = append(r.compile, flags...)
	for _, define := range r.variant.Defines() {
		r.compile = append(r.compile, "--define-macro="+define)
	}
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
	paths, computed = run.includes.scan(r.dir, r.variant.Kernel.Source, slices.Concat(includePath(r.compile), headers), headers)
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
		made.untracked = fmt.Sprintf("it is compiled anew every time: which file #include %s reads, NVRTC does not say", computed)
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
	defined, err := readCubin(made.so)
	if err != nil {
		return internal("read the cubin", err)
	}
	for _, entry := range r.cuda.entries {
		symbol, known := compiled.Lowered[entry]
		if !known {
			if symbol, fault = resolveKernel(entry, k.Source, defined.global, place.text); fault != nil {
				return fault
			}
		} else if !slices.Contains(defined.global, symbol) {
			return newFault(result.CauseNoEntry, "", "%q in %s is no __global__ function", entry, k.Source)
		}
		made.add(entry, symbol, found[symbol])
	}
	return nil
}

// callRuntime runs NVRTC: in a child or, without a sandbox, in this process.
func (run *batch) callRuntime(ctx context.Context, r *recipe, program nvrtc.Program) (nvrtc.Result, string, *result.Fault) {
	c, task := r.cuda.runtime, "compiling "+r.variant.Kernel.Source
	call := run.compileHeld
	if run.sandbox == sandbox.Off {
		call = run.compileHere
	}
	limited, cancel := context.WithTimeout(ctx, run.deadline)
	defer cancel()
	compiled, err := call(limited, r, program)
	switch {
	case ctx.Err() != nil:
		return nvrtc.Result{}, "", interrupted()
	case limited.Err() != nil && err != nil:
		return nvrtc.Result{}, "", newFault(result.CauseTimeout, "", "%s did not finish %s in %s", c.version, task, run.deadline)
	}
	var output bounded
	var refused *nvrtc.Error
	var fault *result.Fault
	switch {
	case errors.As(err, &fault):
		return nvrtc.Result{}, "", fault
	case err == nil:
		_, _ = output.Write([]byte(compiled.Log))
		return compiled, output.String(), nil
	case !errors.As(err, &refused) || refused.Code != nvrtcCompilation && refused.Code != nvrtcInvalidOption:
		return nvrtc.Result{}, "", internal(task+" with "+c.version, err)
	}
	_, _ = output.Write([]byte(refused.Log))
	fault = newFault(result.CauseCompile, "", "%s failed %s", c.version, task)
	if strings.Contains(refused.Log, "open source file") {
		fault.Hint = "NVRTC stands in for nvcc, which is not here, and sees no headers of the host: only the source's folder, the -I in flags, and " +
			strings.Join(c.headers, ", ")
		if hint := run.fenceOf(r).hint(r.dir, refused.Log, program.Options); hint != "" {
			fault.Hint = hint
		}
	}
	return nvrtc.Result{}, output.String(), fault
}

// compileHere runs NVRTC on a thread of this process. Such a compilation cannot be stopped; one
// that nobody waits for any longer ends by itself.
func (run *batch) compileHere(ctx context.Context, r *recipe, program nvrtc.Program) (nvrtc.Result, error) {
	type answer struct {
		result nvrtc.Result
		err    error
	}
	c, answers := r.cuda.runtime, make(chan answer, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if c.serial != nil {
			c.serial.Lock()
			defer c.serial.Unlock()
		}
		compiled, err := c.library.Compile(program)
		answers <- answer{compiled, err}
	}()
	select {
	case <-ctx.Done():
		return nvrtc.Result{}, ctx.Err()
	case got := <-answers:
		return got.result, got.err
	}
}

// Of nvrtcResult: what is the source's fault, and what the flags'.
const (
	nvrtcInvalidOption = 5
	nvrtcCompilation   = 6
)
