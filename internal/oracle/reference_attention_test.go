package oracle_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
)

// plainAttention is attention as it is written down, one row after another.
func plainAttention(q, k, v []float64, batch, heads, group, rows, keys, width, depth int, scale float64, causal bool) []float64 {
	out := make([]float64, batch*heads*rows*depth)
	for head := range batch * heads {
		from := head / group
		for i := range rows {
			seen := keys
			if causal {
				seen = max(0, i+1+keys-rows)
			}
			weights, sum := make([]float64, min(seen, keys)), 0.0
			for j := range weights {
				dot := 0.0
				for d := range width {
					dot += q[(head*rows+i)*width+d] * k[(from*keys+j)*width+d]
				}
				weights[j] = math.Exp(dot * scale)
				sum += weights[j]
			}
			for j, w := range weights {
				for d := range depth {
					out[(head*rows+i)*depth+d] += w / sum * v[(from*keys+j)*depth+d]
				}
			}
		}
	}
	return out
}

func TestAttentionIsWhatIsWrittenDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		defer oracle.Shrink(rapid.SampledFrom(pieces).Draw(t, "shared"), rapid.SampledFrom(pieces).Draw(t, "private"))()
		size := func(name string, most int) int { return rapid.IntRange(1, most).Draw(t, name) }
		batch, groups, group := size("batch", 2), size("key heads", 2), size("group", 2)
		rows, keys, width, depth := size("rows", 140), size("keys", 140), size("width", 9), size("depth", 70)
		causal := rapid.Bool().Draw(t, "causal")
		heads := groups * group
		q := drawn(t, "q", shape(int64(batch), int64(heads), int64(rows), int64(width)))
		k := drawn(t, "k", shape(int64(batch), int64(groups), int64(keys), int64(width)))
		v := drawn(t, "v", shape(int64(batch), int64(groups), int64(keys), int64(depth)))
		args := []oracle.Value{q, k, v, output("out", int64(batch), int64(heads), int64(rows), int64(depth)), scalar("scale", dtype.F64, 0.3)}
		name := "attention"
		if causal {
			name = "attention_causal"
		}
		want := plainAttention(read(q.Data), read(k.Data), read(v.Data), batch, heads, group, rows, keys, width, depth, 0.3, causal)
		near(t, name, compute(t, name, args...)[0], want)
	})
}

func TestAttentionOfOneKeyIsItsValue(t *testing.T) {
	q := input("query", shape(2, 3), 1, 2, 3, -4, 5, 6)
	k, v := input("key", shape(1, 3), 7, 8, 9), input("value", shape(1, 2), 0.25, -8)
	near(t, "one key", compute(t, "attention", q, k, v, output("o", 2, 2))[0], []float64{0.25, -8, 0.25, -8})
}

// Two keys, one twice as near in exp: weights of 1/3 and 2/3.
func TestAttentionByHand(t *testing.T) {
	q, k := input("q", shape(1, 1), math.Ln2), input("k", shape(2, 1), 0, 1)
	v := input("v", shape(2, 2), 3, 30, 6, 60)
	outputs := compute(t, "attention", q, k, v, output("out", 1, 2), output("lse", 1))
	near(t, "out", outputs[0], []float64{5, 50})
	near(t, "lse", outputs[1], []float64{math.Log(3)})
}

// Unusual names go by their order.
func TestAttentionByOrder(t *testing.T) {
	named := compute(t, "attention", input("q", shape(1, 1), 1), input("k", shape(2, 1), 1, 2), input("v", shape(2, 1), 3, 4), output("out", 1, 1))
	ordered := compute(t, "attention", output("result", 1, 1), input("one", shape(1, 1), 1), input("two", shape(2, 1), 1, 2), input("three", shape(2, 1), 3, 4))
	near(t, "by order", ordered[0], named[0])
}

func TestAttentionHeadsAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const rows, width = 3, 2
		size := shape(1, 4, rows, width)
		args := []oracle.Value{drawn(t, "q", size), drawn(t, "k", size), drawn(t, "v", size), output("out", size...)}
		out := compute(t, "attention", args...)[0]
		order := rapid.Permutation([]int{0, 1, 2, 3}).Draw(t, "order")
		moved := func(values []float64) []float64 {
			var all []float64
			for _, head := range order {
				all = append(all, values[head*rows*width:(head+1)*rows*width]...)
			}
			return all
		}
		for i := range 3 {
			args[i].Data = f64s(moved(read(args[i].Data))...).Data
		}
		near(t, "permuted heads", compute(t, "attention", args...)[0], moved(out))
	})
}

// What a mask hides is not there: a row is the same whatever lies behind it, and a
// row that sees nothing is zero.
func TestAttentionMask(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	q := input("q", shape(4, 1), 1, 1, 1, 1)
	k, v := input("k", shape(2, 1), 5, nan), input("v", shape(2, 1), 7, inf)
	outputs := compute(t, "attention_causal", q, k, v, output("out", 4, 1), output("lse", 4))
	near(t, "out", outputs[0], []float64{0, 0, 7, nan})
	near(t, "lse", outputs[1], []float64{-inf, -inf, 5, nan})
	k.Data = f64s(5, 5).Data
	near(t, "out", compute(t, "attention", q, k, v, output("out", 4, 1), scalar("causal", dtype.I32, 1))[0], []float64{0, 0, 7, inf})
	// A weight of zero is not a mask.
	k.Data = f64s(5, -1e6).Data
	near(t, "out", compute(t, "attention", q, k, v, output("out", 4, 1))[0], []float64{nan, nan, nan, nan})
}
