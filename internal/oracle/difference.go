package oracle

import (
	"encoding/binary"
	"math"
	"runtime"
	"sync"

	"pawl/internal/dtype"
)

// Tolerance says how far an element may be from its reference: |a − b| ≤ Abs +
// Rel·|b|. The zero Tolerance wants equality.
type Tolerance struct{ Abs, Rel float64 }

// Over returns the tolerance of sums of this many terms, in arithmetic of type t or, where that
// is narrower, of float32. Whoever adds one to the other rounds every time: sums of terms about
// as large as 1, for which Abs would be usual, are off by 0.4 u·terms then, u being the unit of
// rounding, if they are of both signs, and by a share of u·√terms/3 if they are of one (root
// mean squares; five and six times that are allowed).
func (tol Tolerance) Over(terms int64, t dtype.Type, usual float64) Tolerance {
	if tol == (Tolerance{}) || !t.Float() {
		return tol
	}
	u := 0x1p-24
	if t == dtype.F64 {
		u = 0x1p-53
	}
	return Tolerance{Abs: tol.Abs * max(1, 2*u*float64(terms)/usual), Rel: max(tol.Rel, 2*u*math.Sqrt(float64(terms)))}
}

// Typed is a buffer, wherever it lies, and the type of its elements.
type Typed[T any] struct {
	Data T
	Type dtype.Type
}

// Difference is how an output differs from its reference. Elements that are NaN
// or infinite on either side are in Wrong, unless both sides agree, and in no
// other number: NaN is no wildcard.
type Difference struct {
	Count  int64
	Wrong  int64 // outside the tolerance
	NaNs   int64 // in the output
	MaxAbs float64
	MaxRel float64 // infinite where an element is wrong whose reference is zero; of others with that there is none

	Square     float64 // sum of (a − b)²
	WantSquare float64 // sum of b²
}

// RMS returns the root of the mean squared difference.
func (d Difference) RMS() float64 {
	if d.Count == 0 {
		return 0
	}
	return math.Sqrt(d.Square / float64(d.Count))
}

// Overflow returns from which magnitude on a value does not fit t, and what it
// becomes there: infinite, or the largest of a type that has no infinity or
// saturates.
func Overflow(t dtype.Type) (limit, becomes float64) {
	if at, ok := overflows[t]; ok {
		return at[0], at[1]
	}
	return math.Inf(1), math.Inf(1)
}

var overflows = map[dtype.Type][2]float64{
	dtype.F32:  {0x1.ffffffp127, math.Inf(1)},
	dtype.F16:  {65520, math.Inf(1)},
	dtype.BF16: {0x1.ffp127, math.Inf(1)},
	dtype.E4M3: {448, 448},
	dtype.E5M2: {57344, 57344},
}

// Compare judges count elements of an output against their reference, on as many
// processors as GOMAXPROCS allows.
func Compare(out, want Typed[[]byte], count int64, tol Tolerance) Difference {
	parts := make([]Difference, (count+share-1)/share)
	each(len(parts), func(n int) {
		first := int64(n) * share
		parts[n] = comparePart(out, want, first, min(first+share, count), tol, nil)
	})
	total := Difference{}
	for _, p := range parts {
		total.Count += p.Count
		total.Wrong += p.Wrong
		total.NaNs += p.NaNs
		total.MaxAbs, total.MaxRel = max(total.MaxAbs, p.MaxAbs), max(total.MaxRel, p.MaxRel)
		total.Square += p.Square
		total.WantSquare += p.WantSquare
	}
	return total
}

// comparePart compares elements first to last−1. It calls report, if there is one, for every element
// outside the tolerance.
func comparePart(out, want Typed[[]byte], first, last int64, tol Tolerance, report func(i int64, excess float64)) Difference {
	found := Difference{Count: last - first}
	gap := gapOf(out, want)
	var a, b [block]float64
	for i := first; i < last; i += block {
		n := int(min(block, last-i))
		Values(a[:n], out, i)
		Values(b[:n], want, i)
		for j, got := range a[:n] {
			ref, distance := b[j], math.Abs(got-b[j])
			size := math.Abs(ref)
			if !(distance <= tol.Abs+tol.Rel*size) || size >= gap.limit || gap.wide { // else both are finite
				ref, distance = gap.at(i+int64(j), got, ref)
				if math.IsNaN(got) {
					found.NaNs++
				}
				wrong := !tol.holds(got, ref, distance) && !rounds(out.Type, ref, got)
				if wrong {
					found.Wrong++
				}
				if wrong && report != nil {
					report(i+int64(j), tol.excess(ref, distance))
				}
				if size = math.Abs(ref); !finite(got) || !finite(ref) {
					continue
				}
				if wrong && size == 0 {
					found.MaxRel = math.Inf(1)
				}
			}
			found.Square += distance * distance
			found.WantSquare += ref * ref
			if distance > found.MaxAbs {
				found.MaxAbs = distance
			}
			if distance > found.MaxRel*size && size > 0 {
				found.MaxRel = distance / size
			}
		}
	}
	return found
}

// Each calls wrong for every element outside the tolerance, in order, with how far
// outside it is: infinitely where one side is NaN or infinite and the other not.
func Each(out, want Typed[[]byte], count int64, tol Tolerance, wrong func(i int64, excess float64)) {
	comparePart(out, want, 0, count, tol, wrong)
}

// gap is what lies between the elements of an output and of its reference.
type gap struct {
	out, want   Typed[[]byte]
	limit, over float64 // what the output's type does not hold, and what it becomes
	wide        bool    // integers that float64 does not hold
}

func gapOf(out, want Typed[[]byte]) gap {
	g := gap{out: out, want: want, wide: out.Type == want.Type && out.Type.Size() == 8 && !out.Type.Float()}
	g.limit, g.over = Overflow(out.Type)
	return g
}

// at returns what an element must be, given both values, and how far it is from that.
func (g *gap) at(i int64, got, ref float64) (must, distance float64) {
	if math.IsNaN(got) && math.IsNaN(ref) && Blank(g.out, i) {
		ref = 0 // nobody has written that NaN
	}
	if math.Abs(ref) >= g.limit {
		ref = math.Copysign(g.over, ref)
	}
	if g.wide {
		return ref, wideDistance(g.out, g.want, i)
	}
	return ref, math.Abs(got - ref)
}

// holds reports whether an element is inside the tolerance.
func (tol Tolerance) holds(got, ref, distance float64) bool {
	if !finite(got) || !finite(ref) {
		return same(got, ref)
	}
	return distance <= tol.Abs+tol.Rel*math.Abs(ref)
}

// excess returns how far outside the tolerance an element is.
func (tol Tolerance) excess(ref, distance float64) float64 {
	if excess := distance - tol.Abs - tol.Rel*math.Abs(ref); finite(excess) {
		return excess
	}
	return math.Inf(1)
}

// rounds reports whether got is what ref becomes in a type that does not hold it: no
// kernel can do better.
func rounds(t dtype.Type, ref, got float64) bool {
	if !t.Float() || t == dtype.F64 {
		return false
	}
	var raw [8]byte
	t.Put(raw[:], 0, float32(ref))
	var back [1]float64
	Values(back[:], Typed[[]byte]{raw[:t.Size()], t}, 0)
	return back[0] == got
}

func finite(v float64) bool { return v-v == 0 }

// same compares values of which one is NaN or infinite.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// wideDistance is between two 64-bit integers, which float64 does not hold.
func wideDistance(out, want Typed[[]byte], i int64) float64 {
	a, b := binary.LittleEndian.Uint64(out.Data[8*i:]), binary.LittleEndian.Uint64(want.Data[8*i:])
	if out.Type == dtype.U64 && a < b || out.Type == dtype.I64 && int64(a) < int64(b) {
		a, b = b, a
	}
	return float64(a - b)
}

// Values reads elements from number first on, whatever their type.
func Values(into []float64, from Typed[[]byte], first int64) {
	from.Type.Values(into, from.Data[first*int64(from.Type.Size()):])
}

// each calls work for 0 to count−1 on as many processors as GOMAXPROCS allows.
func each(count int, work func(n int)) {
	next := make(chan int, count)
	for n := range count {
		next <- n
	}
	close(next)
	take := func() {
		for n := range next {
			work(n)
		}
	}
	var helpers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), count) - 1 {
		helpers.Go(take)
	}
	take()
	helpers.Wait()
}
