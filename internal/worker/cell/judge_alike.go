package cell

import (
	"math"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// alike counts the elements whose right answers to two batches differ by more than the last place
// of the output's type, so that a kernel could distinguish them.
func (b *bench) alike(m *wire.Judge, want map[int]oracle.Typed[[]byte], files *mapped) (*wire.Judged, error) {
	of := *m
	of.Batch, of.Want = *m.Other, m.Got
	others, err := b.answers(&of, files)
	if err != nil {
		return nil, err
	}
	reply := &wire.Judged{}
	for number, arg := range m.Args {
		if !written(arg) {
			continue
		}
		one, other := want[number], others[number]
		for _, a := range []oracle.Typed[[]byte]{one, other} {
			if a.Type == "" || int64(len(a.Data)) != arg.Count*int64(a.Type.Size()) {
				return nil, result.Faultf(result.CauseOracle, "the oracle has no answer for all of the output %s", arg.Name)
			}
		}
		found := oracle.Compare(asHeld(dtype.Type(arg.DType), other, arg.Count), one, arg.Count, lastPlace(dtype.Type(arg.DType)))
		reply.Outputs = append(reply.Outputs, result.OutputError{Name: arg.Name, Count: found.Count, Wrong: found.Wrong})
	}
	return reply, nil
}

// lastPlace returns the allowance for a kernel that rounds differently from the oracle.
func lastPlace(t dtype.Type) oracle.Tolerance {
	if !t.Float() {
		return oracle.Tolerance{Abs: 1}
	}
	return oracle.Tolerance{Rel: math.Ldexp(1, 1-t.Integers())}
}

// asHeld returns an answer rounded to a type of less precision.
func asHeld(t dtype.Type, answer oracle.Typed[[]byte], count int64) oracle.Typed[[]byte] {
	if !t.Float() || t == dtype.F64 || t == answer.Type {
		return answer
	}
	out := oracle.Typed[[]byte]{Data: make([]byte, count*int64(t.Size())), Type: t}
	var values [1024]float64
	for i := int64(0); i < count; i += int64(len(values)) {
		n := min(int64(len(values)), count-i)
		oracle.Values(values[:n], answer, i)
		for j, v := range values[:n] {
			t.Put(out.Data, int(i)+j, float32(v))
		}
	}
	return out
}
