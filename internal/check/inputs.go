package check

import (
	"maps"
	"reflect"

	"pawl/internal/spec"
)

// inputsOfBase returns the arguments of a kernel as the base's file describes them: a change does
// not choose the data it is judged on. nil: the base has no such kernel.
func (c *check) inputsOfBase(name string) []*spec.Arg {
	if c.base == nil {
		return nil
	}
	k := kernel(c.base.spec, name)
	if k == nil {
		return nil
	}
	return k.Args
}

// sameSizes reports whether two versions read and write the same numbers of elements. A version
// that could not be resolved counts as the same, because it has its own error.
func sameSizes(a, b *spec.Instance) bool {
	return a == nil || b == nil || maps.Equal(elements(a), elements(b))
}

func elements(in *spec.Instance) map[spec.Role]int64 {
	out := map[spec.Role]int64{}
	for _, arg := range in.Args {
		out[arg.Role] += arg.Elements
	}
	delete(out, spec.RoleScratch)
	return out
}

// fill gives a version's buffers the contents of another version's arguments, and returns the names
// of the buffers whose contents differed.
func fill(in *spec.Instance, as []*spec.Arg) []string {
	if in == nil {
		return nil
	}
	var changed []string
	for i := range in.Args {
		arg := &in.Args[i]
		other := named(as, arg.Name)
		if other == nil || !arg.Buffer || other.DType != arg.DType || other.Role != arg.Role || reflect.DeepEqual(other.Init, arg.Init) {
			continue
		}
		arg.Init = other.Init
		changed = append(changed, arg.Name)
	}
	return changed
}

// named finds an argument by name. An argument in the same place under another name may mean
// something else: an index filled like a different argument would crash a correct kernel.
func named(args []*spec.Arg, name string) *spec.Arg {
	for _, arg := range args {
		if arg.Name == name {
			return arg
		}
	}
	return nil
}
