package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// launcherFlags come before the kernel's own.
var launcherFlags = []string{"-O3", "-std=c++17", "-lineinfo", "-Xcompiler", "-fPIC", "-Xfatbin", "-compress=false"}

// launcherRecipe plans a shared object with host code that launches by itself.
func (b *Builder) launcherRecipe(ctx context.Context, request Request) (*recipe, *result.Fault) {
	r, fault := b.cudaRecipe(ctx, request)
	if fault != nil {
		return nil, fault
	}
	k := request.Variant.Kernel
	r.launcher, r.cuda = true, nil
	compile, link := splitFlags(k.Flags)
	r.compile = slices.Concat(launcherFlags, []string{"-arch=" + b.arch}, compile)
	for _, define := range request.Variant.Defines() {
		r.compile = append(r.compile, "-D"+define)
	}
	r.link = slices.Concat([]string{"-arch=" + b.arch, "-Xlinker", "--build-id=none"}, link)
	shim, err := launcherShim(k)
	if err != nil {
		return nil, internal("write the shim", err)
	}
	sum := newDigest(format + " launcher")
	sum.field(r.hash)
	sum.fields(r.compile)
	sum.fields(r.link)
	sum.field(shim)
	r.hash = sum.hex()
	return r, nil
}

// launcherShim exports pawl_launch(slots, stream), which calls the launches in
// order with the stream before their arguments. Slots are as in a host artifact:
// a buffer's (device) address, or the address of a scalar's value.
func launcherShim(k *spec.Kernel) (string, error) {
	var declarations, calls strings.Builder
	for i, launch := range k.Launches {
		indexes, err := argIndexes(k, launch)
		if err != nil {
			return "", err
		}
		types, values := []string{"void *"}, []string{"stream"}
		for _, j := range indexes {
			ctype, err := argType(k.Args[j])
			if err != nil {
				return "", err
			}
			types = append(types, ctype)
			if k.Args[j].Value == nil {
				values = append(values, fmt.Sprintf("slots[%d]", j))
			} else {
				values = append(values, fmt.Sprintf("*(const %s *)slots[%d]", ctype, j))
			}
		}
		fmt.Fprintf(&declarations, "extern void entry_%d(%s) __asm__(%q);\n", i, strings.Join(types, ", "), launch.Entry)
		fmt.Fprintf(&calls, "  entry_%d(%s);\n", i, strings.Join(values, ", "))
	}
	return fmt.Sprintf("#include <stdint.h>\n%s__attribute__((visibility(\"default\"))) const int pawl_launcher_abi = %d;\n"+
		"__attribute__((visibility(\"default\"))) void pawl_launch(void *const *slots, void *stream) {\n%s}\n",
		declarations.String(), LauncherABI, calls.String()), nil
}

// compileLauncher makes the shared object in a folder of its own.
func (run *batch) compileLauncher(ctx context.Context, r *recipe, place *workplace, made *product) *result.Fault {
	k, work := r.variant.Kernel, place.dir
	object, depfile := filepath.Join(work, "launcher.o"), filepath.Join(work, "launcher.d")
	output, fault := run.command(r, work, "compiling "+k.Source, true,
		slices.Concat(r.compile, r.tracking(depfile), []string{"-c", k.Source, "-o", object})).run(ctx)
	made.output += output
	if fault != nil {
		return fault
	}
	if made.paths, made.symbols, fault = inspect(k, object, depfile, place.text); fault != nil {
		return fault
	}
	made.untracked = run.untracked(r, made.paths)
	shim, err := launcherShim(k)
	source := filepath.Join(work, "shim.c")
	if err == nil {
		err = os.WriteFile(source, []byte(shim), 0o644)
	}
	if err != nil {
		return internal("write the shim", err)
	}
	so := filepath.Join(work, artifactFile)
	output, fault = run.command(r, work, "linking "+k.Source, false,
		slices.Concat([]string{"-shared", "-Xcompiler", "-fPIC", "-o", so, object, source}, r.link)).run(ctx)
	made.output += output
	if fault != nil {
		return fault
	}
	if made.so, err = os.ReadFile(so); err != nil {
		return internal("read the artifact", err)
	}
	return nil
}
