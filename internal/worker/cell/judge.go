package cell

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// bench is the oracle's cell: it runs no code but pawl's own, computes the right outputs, and
// compares.
type bench struct {
	asked wire.Judge                   // the last problem it has computed itself,
	known map[int]oracle.Typed[[]byte] // and the answers to it: several may be judged by them
	terms int64                        // terms that these sum
}

func (*bench) load(*wire.Load) (*wire.Loaded, error)         { return nil, errJudgesOnly }
func (*bench) prepare(*wire.Prepare) (*wire.Prepared, error) { return nil, errJudgesOnly }
func (*bench) run(*wire.Run) (*wire.Ran, error)              { return nil, errJudgesOnly }
func (*bench) produce(*wire.Produce) (*wire.Produced, error) { return nil, errJudgesOnly }
func (*bench) sample(*wire.Sample) (*wire.Sampled, error)    { return nil, errJudgesOnly }

var errJudgesOnly = result.Faultf(result.CauseProtocol, "an oracle's cell only judges")

func (b *bench) judge(m *wire.Judge) (*wire.Judged, error) {
	var files mapped
	defer files.free()
	want, err := b.answers(m, &files)
	if err != nil {
		return nil, err
	}
	if m.Other != nil {
		return b.alike(m, want, &files)
	}
	reply := &wire.Judged{}
	if m.Unchanged {
		if reply.Unchanged, err = unchanged(m, want); err != nil {
			return nil, err
		}
	}
	for _, got := range m.Got {
		if got.Arg < 0 || got.Arg >= len(m.Args) || !written(m.Args[got.Arg]) {
			return nil, result.Faultf(result.CauseProtocol, "argument %d is no output", got.Arg)
		}
		arg := m.Args[got.Arg]
		data, err := files.read(got.Path)
		if err != nil {
			return nil, fmt.Errorf("read an output: %w", err)
		}
		answer, there := want[got.Arg]
		if !there {
			return nil, result.Faultf(result.CauseOracle, "the oracle has no answer for the output %s", arg.Name)
		}
		out := oracle.Typed[[]byte]{Data: data, Type: dtype.Type(arg.DType)}
		if int64(len(data)) != arg.Count*int64(out.Type.Size()) || int64(len(answer.Data)) != arg.Count*int64(answer.Type.Size()) {
			return nil, result.Faultf(result.CauseOracle, "the oracle's %s has %d elements, the kernel's %d", arg.Name, len(answer.Data)/max(1, answer.Type.Size()), arg.Count)
		}
		tol := oracle.Tolerance{Abs: m.Atol, Rel: m.Rtol}
		if m.Usual > 0 && m.Oracle != "" {
			tol = tol.Over(b.terms, out.Type, m.Usual)
		}
		reply.Outputs = append(reply.Outputs, compare(arg, out, answer, tol))
	}
	return reply, nil
}

// unchanged returns the inout arguments that answers leave, bit by bit, as a launch finds them.
func unchanged(m *wire.Judge, want map[int]oracle.Typed[[]byte]) ([]int, error) {
	before, err := inputs(m)
	if err != nil {
		return nil, err
	}
	var same []int
	for i, v := range before {
		if answer, there := want[i]; there && v.Buffer && v.Role == "inout" && answer.Type == v.Type && bytes.Equal(answer.Data, v.Data) {
			same = append(same, i)
		}
	}
	return same, nil
}

// answers returns the right outputs, by argument.
func (b *bench) answers(m *wire.Judge, files *mapped) (map[int]oracle.Typed[[]byte], error) {
	out := map[int]oracle.Typed[[]byte]{}
	if m.Oracle == "" && m.Elementwise == "" {
		for _, w := range m.Want {
			data, err := files.read(w.Path)
			if err != nil {
				return nil, fmt.Errorf("read the oracle's output: %w", err)
			}
			if !dtype.Type(w.DType).Valid() {
				return nil, result.Faultf(result.CauseProtocol, "no type is called %q", w.DType)
			}
			answer := oracle.Typed[[]byte]{Data: data, Type: dtype.Type(w.DType)}
			if err := whole(m.Args, w.Arg, answer); err != nil {
				return nil, err
			}
			out[w.Arg] = answer
		}
		return out, nil
	}
	problem := wire.Judge{Oracle: m.Oracle, Elementwise: m.Elementwise, Args: m.Args, Seed: m.Seed, Batch: m.Batch, Steps: m.Steps}
	if b.known != nil && reflect.DeepEqual(b.asked, problem) {
		return b.known, nil
	}
	b.known, b.terms = nil, 0
	values, err := inputs(m)
	if err != nil {
		return nil, err
	}
	var found map[int][]byte
	if m.Elementwise != "" {
		found, err = oracle.Elementwise(m.Elementwise, values)
	} else {
		b.terms = oracle.Terms(m.Oracle, values)
		found, err = oracle.Reference(m.Oracle, values)
	}
	if err != nil {
		return nil, result.Faultf(result.CauseOracle, "%v", err)
	}
	for arg, data := range found {
		out[arg] = oracle.Typed[[]byte]{Data: data, Type: dtype.F64}
	}
	b.asked, b.known = problem, out
	return out, nil
}

// whole refuses an answer that its oracle has left unwritten, partly or completely.
func whole(args []wire.Arg, number int, answer oracle.Typed[[]byte]) error {
	count := int64(len(answer.Data) / answer.Type.Size())
	blanks, first := oracle.Blanks(answer, count)
	if blanks == 0 || number < 0 || number >= len(args) {
		return nil
	}
	place := fmt.Sprint(first)
	if arg := args[number]; arg.Count == count {
		place = strings.Trim(strings.ReplaceAll(fmt.Sprint(index(arg.Shape, first)), " ", ", "), "[]")
	}
	return result.Faultf(result.CauseOracle, "it never wrote %s[%s]; %d of %d elements were not written", args[number].Name, place, blanks, count).
		WithHint("a reference must write all of its output")
}

// inputs generates a problem's arguments as a launch finds them.
func inputs(m *wire.Judge) ([]oracle.Value, error) {
	values := make([]oracle.Value, len(m.Args))
	for i, arg := range m.Args {
		t := dtype.Type(arg.DType)
		v := oracle.Value{Name: arg.Name, Role: arg.Role, Type: t, Shape: arg.Shape, Buffer: arg.Buffer}
		switch {
		case arg.TensorMap != nil:
		case !arg.Buffer:
			number, err := strconv.ParseFloat(arg.Value, 64)
			if err != nil {
				return nil, result.Faultf(result.CauseProtocol, "argument %s: %v", arg.Name, err)
			}
			v.Scalar = number
		default:
			if !t.Valid() || arg.Count <= 0 || oracle.CheckFill(t, fillOf(arg)) != nil {
				return nil, result.Faultf(result.CauseProtocol, "argument %s: %d elements of %q", arg.Name, arg.Count, arg.DType)
			}
			if arg.Role == "in" || arg.Role == "inout" {
				v.Data = Input(arg, i, m.Seed, m.Batch, m.Steps)
			} else {
				v.Data = make([]byte, arg.Count*int64(t.Size()))
			}
		}
		values[i] = v
	}
	return values, nil
}

// compare compares every element; where some are wrong, it also says which.
func compare(arg wire.Arg, out, want oracle.Typed[[]byte], tol oracle.Tolerance) result.OutputError {
	found := oracle.Compare(out, want, arg.Count, tol)
	if size := math.Sqrt(found.WantSquare / float64(max(1, found.Count))); size > 0 && tol.Abs > size/leastParts {
		tol.Abs = size / leastParts
		found = oracle.Compare(out, want, arg.Count, tol)
	}
	e := result.OutputError{
		Name: arg.Name, Count: found.Count, Wrong: found.Wrong, NaNs: found.NaNs,
		MaxAbs: bounded(found.MaxAbs), MaxRel: bounded(found.MaxRel), RMS: bounded(found.RMS()),
		Atol: tol.Abs, Rtol: tol.Rel, Exact: tol == oracle.Tolerance{},
	}
	if found.Wrong > 0 {
		blame(&e, arg, out, want, tol)
	}
	return e
}

// bounded returns a number that JSON can represent.
func bounded(v float64) float64 { return min(v, math.MaxFloat64) }

// leastParts bounds an absolute tolerance: it may be at most the answer's root mean square divided
// by this. Zeros must never pass for an answer that is small.
const leastParts = 20

// mapTiles bounds the map of a failure in each direction.
const mapTiles = 16

// blame finds the worst element, the positions of the wrong ones, and how many were never written.
func blame(e *result.OutputError, arg wire.Arg, out, want oracle.Typed[[]byte], tol oracle.Tolerance) {
	columns := int64(1)
	if len(arg.Shape) > 0 {
		columns = arg.Shape[len(arg.Shape)-1]
	}
	rows := arg.Count / columns
	tiles := &result.Tiles{TileRows: (rows + mapTiles - 1) / mapTiles, TileCols: (columns + mapTiles - 1) / mapTiles}
	tiles.Rows, tiles.Columns = int((rows+tiles.TileRows-1)/tiles.TileRows), int((columns+tiles.TileCols-1)/tiles.TileCols)
	tiles.Wrong = make([]int64, tiles.Rows*tiles.Columns)
	size := int64(out.Type.Size())
	poison := make([]byte, size)
	oracle.Poison(poison, out.Type)
	worst, at := -1.0, int64(0)
	oracle.Each(out, want, arg.Count, tol, func(i int64, excess float64) {
		if bytes.Equal(out.Data[i*size:(i+1)*size], poison) {
			e.Blank++
		}
		row, column := i/columns/tiles.TileRows, i%columns/tiles.TileCols
		tiles.Wrong[row*int64(tiles.Columns)+column]++
		if excess > worst {
			worst, at = excess, i
		}
	})
	e.Tiles = tiles
	var got, ref [1]float64
	oracle.Values(got[:], out, at)
	oracle.Values(ref[:], want, at)
	if !out.Type.Float() { // an integer is never −0, which formulas in floating point give
		got[0], ref[0] = got[0]+0, ref[0]+0
	}
	e.Worst = &result.Element{Index: index(arg.Shape, at), Got: number(got[0]), Want: number(ref[0])}
}

// index returns an element's indices in a shape.
func index(shape []int64, at int64) []int64 {
	out := make([]int64, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		out[d] = at % shape[d]
		at /= shape[d]
	}
	return out
}

func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 8, 64)
}
