package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/sandbox"
)

// product is the result of compiling a recipe.
type product struct {
	so      []byte
	symbols []string
	output  string

	resources []result.Resources
	seconds   float64
	paths     []string // of the files that the compiler read
	assembled []string // of those that the assembler read
	linked    []string // and of those that the linker read
	libraries []string // shared libraries that the artifact loads, except the system's
	ignored   []string // linked but not hashed: the compiler's and the system's own files, scripts that were found elsewhere
	deps      []dependency
	untracked string // why the files read are not known, so that nothing can be cached
}

// make compiles a recipe and learns which files it depends on. A file that is written meanwhile
// could be cached with a content that was not compiled, so the work is then repeated until two
// attempts read the same.
func (run *batch) make(ctx context.Context, r *recipe) (*product, *result.Fault) {
	compile := run.compile
	switch {
	case r.cuda != nil && r.cuda.runtime != nil:
		compile = run.compileRuntime
	case r.cuda != nil:
		compile = run.compileCUDA
	case r.launcher:
		compile = run.compileLauncher
	}
	var before []dependency
	changed := ""
	for range 3 {
		place, fault := run.newWorkplace(r)
		if fault != nil {
			return nil, fault
		}
		began := time.Now()
		made := &product{}
		fault = compile(ctx, r, place, made)
		made.seconds = time.Since(began).Seconds()
		_ = os.RemoveAll(place.dir)
		if fault != nil {
			return made, fault
		}
		list := run.lookups(r, made)
		if path := run.fenceOf(r).stray(r.dir, list); path != "" {
			return made, run.fenceOf(r).strayFault(r.variant.Kernel.Source, path)
		}
		var err error
		made.deps, changed, err = run.files.dependenciesNow(r.dir, list, place.began)
		if err != nil {
			return made, internal("hash what was compiled", err)
		}
		if changed == "" || slices.Equal(before, made.deps) {
			return made, nil
		}
		before = made.deps
	}
	return nil, internal("compile "+r.variant.Kernel.Source, fmt.Errorf("%s keeps changing", changed))
}

// workplace is the folder and state of one attempt at compiling.
type workplace struct {
	text  []byte    // of the source
	dir   string    // a folder of its own
	began time.Time // by the clock that stamps files, not the finer one of programs
}

func (run *batch) newWorkplace(r *recipe) (*workplace, *result.Fault) {
	if fault := run.fenceOf(r).checkSource(r.dir, r.variant.Kernel.Source); fault != nil {
		return nil, fault
	}
	text, fault := readSource(r.dir, r.variant.Kernel.Source)
	if fault != nil {
		return nil, fault
	}
	dir, fault := run.tempDir()
	if fault != nil {
		return nil, fault
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, internal("compile", err)
	}
	return &workplace{text: text, dir: dir, began: statOf(info).ctime}, nil
}

// compile makes the shared object of a host kernel.
func (run *batch) compile(ctx context.Context, r *recipe, place *workplace, made *product) *result.Fault {
	object, assembly := filepath.Join(place.dir, "kernel.o"), filepath.Join(place.dir, "assembly.d")
	flags := r.compile
	if r.compiler.isGCC() {
		flags = slices.Concat(withoutPrecompiled, flags)
	}
	if r.compiler.tracksAssembly() {
		flags = append(slices.Clip(flags), "-Wa,--MD,"+assembly)
	}
	if fault := run.compileObject(ctx, r, place, made, object, flags); fault != nil {
		return fault
	}
	made.paths = slices.DeleteFunc(made.paths, func(path string) bool { return path == os.DevNull })
	if r.compiler.tracksAssembly() {
		var err error
		if made.assembled, err = assembled(r.dir, assembly, run.temp); err != nil {
			return internal("read what was assembled", err)
		}
	} else {
		made.untracked = run.untracked(r, made.paths)
	}

	shim := run.shim(ctx, r, made.symbols)
	made.output += shim.output
	if shim.fault != nil {
		return shim.fault
	}
	script := filepath.Join(place.dir, "pawl.map")
	if err := os.WriteFile(script, []byte(versionScript()), 0o644); err != nil {
		return internal("write the linker's script", err)
	}
	linkDeps := filepath.Join(place.dir, "link.d")
	args := slices.Concat([]string{object, shim.path}, r.link, []string{"-Xlinker", "--version-script=" + script})
	tracked := r.compiler.tracksLinkInputs()
	if tracked {
		args = append(args, "-Xlinker", "--dependency-file="+linkDeps)
	}
	if fault := run.link(ctx, r, place, made, args); fault != nil {
		return fault
	}
	if tracked {
		var err error
		if made.linked, err = readDepfile(linkDeps, run.temp); err != nil {
			return internal("read what was linked", err)
		}
	}
	made.linked, made.libraries, made.ignored = r.splitLibraries(made.linked, made.so)
	if len(made.libraries) > 0 && run.sandbox != sandbox.Off {
		return unloadable(r.variant.Kernel.Source, made.libraries[0])
	}
	return nil
}

// compileObject compiles the source of a host kernel or launcher, and reads which files that took
// and which symbols its entries have.
func (run *batch) compileObject(ctx context.Context, r *recipe, place *workplace, made *product, object string, flags []string) *result.Fault {
	k, depfile := r.variant.Kernel, filepath.Join(place.dir, "kernel.d")
	output, fault := run.command(r, place.dir, "compiling "+k.Source, true,
		slices.Concat(flags, r.tracking(depfile), []string{"-c", k.Source, "-o", object})).run(ctx)
	made.output += output
	if fault != nil {
		return fault
	}
	var err error
	if made.paths, err = readDepfile(depfile, ""); err != nil {
		return internal("learn what was compiled", err)
	}
	data, err := os.ReadFile(object)
	if err != nil {
		return internal("read the object", err)
	}
	defined, err := readFunctions(data)
	if err != nil {
		return internal("compile "+k.Source, err)
	}
	if len(defined.taken) > 0 {
		return newFault(result.CauseCompile, "rename it: pawl adds "+strings.Join(exported, ", "),
			"%s defines %s, a name that pawl reserves", k.Source, defined.taken[0])
	}
	for _, launch := range k.Launches {
		symbol, fault := defined.resolve(launch.Entry, k.Source, place.text)
		if fault != nil {
			return fault
		}
		made.symbols = append(made.symbols, symbol)
	}
	return nil
}

// link makes the shared object.
func (run *batch) link(ctx context.Context, r *recipe, place *workplace, made *product, args []string) *result.Fault {
	so := filepath.Join(place.dir, artifactFile)
	output, fault := run.command(r, place.dir, "linking "+r.variant.Kernel.Source, false, slices.Concat([]string{"-shared", "-o", so}, args)).run(ctx)
	made.output += output
	if fault != nil {
		return fault
	}
	var err error
	if made.so, err = os.ReadFile(so); err != nil {
		return internal("read the artifact", err)
	}
	return nil
}

// untracked says why the files that an assembler read are not known, if it does not list them; ""
// if it read none.
func (run *batch) untracked(r *recipe, paths []string) string {
	system := r.compiler.systemFolders()
	for _, path := range paths {
		if system.have(path) {
			continue
		}
		if found := run.includes.file(verbatim(r.dir, path)); found != nil && found.incbin {
			return fmt.Sprintf("it is compiled again every time: this assembler does not report which file .incbin in %s reads", path)
		}
	}
	return ""
}

// readSource reads the source, to describe its errors better than a compiler would.
func readSource(dir, source string) ([]byte, *result.Fault) {
	path := within(dir, source)
	text, err := os.ReadFile(path)
	if err == nil {
		return text, nil
	}
	fault := newFault(result.CauseCompile, "", "read source: %v", err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fault.Message = "no file " + path
		var names []string
		siblings, _ := os.ReadDir(filepath.Dir(path))
		for _, file := range siblings {
			names = append(names, file.Name())
		}
		if near := diag.Nearest(filepath.Base(path), names); near != "" {
			fault.Hint = "did you mean " + filepath.Join(filepath.Dir(source), near) + "?"
		}
	case errors.Is(err, syscall.EISDIR):
		fault.Message = path + " is a folder, not a source file"
	}
	return nil, fault
}

// command returns a run of the compiler in the spec's folder.
func (run *batch) command(r *recipe, temp, task string, compiles bool, args []string) *command {
	full := slices.Concat(r.compiler.Command, args)
	var env []string
	if compiles && run.ccache != "" {
		full = append([]string{run.ccache}, full...)
		env = []string{"CCACHE_NODIRECT=1"} // its direct mode does not notice a new header
	}
	return &command{
		args: full, name: filepath.Base(r.compiler.Command[0]), task: task,
		dir: r.dir, env: env, temp: temp, wait: run.deadline, fence: run.fenceOf(r), limits: run.limits(),
	}
}

// shimObject is a shim, compiled once for all variants that need the same one.
type shimObject struct {
	path   string
	output string
	fault  *result.Fault
}

func (run *batch) shim(ctx context.Context, r *recipe, symbols []string) shimObject {
	source, err := shimSource(r.variant.Kernel, symbols)
	if err != nil {
		return shimObject{fault: internal("write the shim", err)}
	}
	return run.shims.get(hashOf("shim", r.compiler.Command, source), func() shimObject {
		dir, fault := run.tempDir() // lives as long as the batch
		if fault != nil {
			return shimObject{fault: fault}
		}
		text, object := filepath.Join(dir, "shim.c"), filepath.Join(dir, "shim.o")
		if err := os.WriteFile(text, []byte(source), 0o644); err != nil {
			return shimObject{fault: internal("write the shim", err)}
		}
		output, fault := run.command(r, dir, "compiling the shim of "+r.variant.Kernel.Name, true,
			slices.Concat(shimFlags, []string{"-c", text, "-o", object})).run(ctx)
		return shimObject{path: object, output: output, fault: fault}
	})
}
