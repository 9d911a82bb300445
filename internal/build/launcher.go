package build

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/dtype"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// launcherFlags come before the kernel's own.
var launcherFlags = []string{"-O3", "-std=c++17", "-lineinfo", "-Xcompiler", "-fPIC", "-Xfatbin", "-compress=false"}

// planLauncher plans a shared object with host code that launches by itself.
func (b *Builder) planLauncher(ctx context.Context, r *recipe) *result.Fault {
	if fault := b.planCUDA(ctx, r); fault != nil {
		return fault
	}
	k := r.variant.Kernel
	r.launcher, r.cuda = true, nil
	compile, link := splitFlags(k.Flags)
	r.compile = slices.Concat(launcherFlags, []string{"-arch=" + b.arch}, compile, r.defines("-D"))
	r.link = slices.Concat([]string{"-arch=" + b.arch, "-Xlinker", "--build-id=none"}, link)
	shim, err := launcherShim(k)
	if err != nil {
		return internal("write the shim", err)
	}
	r.hash = hashOf(format+" launcher", r.hash, r.compile, r.link, shim)
	return nil
}

// launcherShim exports pawl_launch(slots, stream), which calls the launches in
// order with the stream at its place among their arguments. Slots are as in a host
// artifact: a buffer's (device) address, or the address of a scalar's value.
func launcherShim(k *spec.Kernel) (string, error) {
	declarations, calls, err := writeCalls(k, entriesOf(k), "stream", func(j int, ctype string) string {
		if k.Args[j].Value == nil {
			return fmt.Sprintf("slots[%d]", j)
		}
		return fmt.Sprintf("*(const %s *)slots[%d]", ctype, j)
	})
	return fmt.Sprintf("#include <stdint.h>\n%s__attribute__((visibility(\"default\"))) const int pawl_launcher_abi = %d;\n"+
		"__attribute__((visibility(\"default\"))) void pawl_launch(void *const *slots, void *stream) {\n  %s\n}\n",
		declarations, LauncherABI, strings.Join(calls, "\n  ")), err
}

// Signatures returns the C declarations of a launcher's entries as pawl calls them.
func Signatures(k *spec.Kernel) string {
	var all []string
	for _, launch := range k.Launches {
		var params []string
		indexes, err := argIndexes(k, launch)
		if err != nil {
			return ""
		}
		for _, j := range indexes {
			params = append(params, declaration(k.Args[j]))
		}
		params = slices.Insert(params, launch.Stream, "cudaStream_t stream")
		if one := fmt.Sprintf("void %s(%s)", launch.Entry, strings.Join(params, ", ")); !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return strings.Join(all, "; ")
}

// elementTypes are the C types of buffers' elements that scalarTypes does not have.
var elementTypes = map[dtype.Type]string{
	dtype.F16: "__half", dtype.BF16: "__nv_bfloat16", dtype.E4M3: "__nv_fp8_e4m3", dtype.E5M2: "__nv_fp8_e5m2",
}

// declaration writes an argument as a parameter in C.
func declaration(a *spec.Arg) string {
	name := cmp.Or(scalarTypes[a.DType], elementTypes[a.DType], "void")
	switch {
	case a.Value != nil:
		return name + " " + a.Name
	case a.Role == spec.RoleIn:
		return "const " + name + " *" + a.Name
	}
	return name + " *" + a.Name
}

// compileLauncher makes the shared object in a folder of its own.
func (run *batch) compileLauncher(ctx context.Context, r *recipe, place *workplace, made *product) *result.Fault {
	object := filepath.Join(place.dir, "launcher.o")
	if fault := run.compileObject(ctx, r, place, made, object, r.compile); fault != nil {
		return fault
	}
	made.untracked = run.untracked(r, made.paths)
	shim, err := launcherShim(r.variant.Kernel)
	source := filepath.Join(place.dir, "shim.c")
	if err == nil {
		err = os.WriteFile(source, []byte(shim), 0o644)
	}
	if err != nil {
		return internal("write the shim", err)
	}
	return run.link(ctx, r, place, made, slices.Concat([]string{"-Xcompiler", "-fPIC", object, source}, r.link))
}
