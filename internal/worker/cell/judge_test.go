package cell

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// output returns a file as a worker keeps it.
func output(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "output")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func f32s(values ...float32) []byte {
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// scaleProblem multiplies by a, four numbers to a row.
func scaleProblem(count int64) []wire.Arg {
	return []wire.Arg{
		{Name: "x", DType: "f32", Buffer: true, Count: count, Shape: []int64{count / 4, 4}, Role: "in"},
		{Name: "y", DType: "f32", Buffer: true, Count: count, Shape: []int64{count / 4, 4}, Role: "out"},
		{Name: "a", DType: "f32", Value: "2.0"},
	}
}

// inputOf returns what a launch finds in x.
func inputOf(args []wire.Arg, seed uint64, batch, steps int) []float64 {
	count, key := args[0].Count, oracle.Key(seed, 0, batch)
	data := make([]byte, 4*count)
	oracle.Generate(data, dtype.F32, oracle.Defaults(dtype.F32), key)
	for step := range steps {
		oracle.Mutate(data, dtype.F32, oracle.Defaults(dtype.F32), key, step+1)
	}
	values := make([]float64, count)
	oracle.Values(values, oracle.Typed[[]byte]{Data: data, Type: dtype.F32}, 0)
	return values
}

func TestJudgeOfAFormula(t *testing.T) {
	args := scaleProblem(64)
	for _, steps := range []int{0, 3} {
		var right []float32
		for _, x := range inputOf(args, 5, 9, steps) {
			right = append(right, float32(2*x))
		}
		m := &wire.Judge{Elementwise: "a * x", Args: args, Seed: 5, Batch: 9, Steps: steps, Got: []wire.Buffer{{Arg: 1, Path: output(t, f32s(right...))}}, Atol: 1e-6}
		reply, err := (&bench{}).judge(m)
		if err != nil {
			t.Fatal(err)
		}
		if e := reply.Outputs[0]; e.Wrong != 0 || e.Count != 64 || e.Name != "y" || e.Tiles != nil {
			t.Errorf("after %d steps: %+v", steps, e)
		}
		m.Steps++ // other data
		if reply, err = (&bench{}).judge(m); err != nil || reply.Outputs[0].Wrong == 0 {
			t.Errorf("the answer to other data passes: %+v, %v", reply, err)
		}
	}
}

// Answers that were computed once serve for the same problem, and for no other.
func TestJudgeComputesAProblemOnce(t *testing.T) {
	args := scaleProblem(64)
	var right []float32
	for _, x := range inputOf(args, 5, 9, 0) {
		right = append(right, float32(2*x))
	}
	asked := wire.Judge{Elementwise: "a * x", Args: args, Seed: 5, Batch: 9, Got: []wire.Buffer{{Arg: 1, Path: output(t, f32s(right...))}}, Atol: 1e-6}
	b := &bench{}
	wrong := func(m wire.Judge) int64 {
		reply, err := b.judge(&m)
		if err != nil {
			t.Fatal(err)
		}
		return reply.Outputs[0].Wrong
	}
	if n := wrong(asked); n != 0 {
		t.Fatalf("%d of the right answers are wrong", n)
	}
	b.known[1].Data[0] ^= 1 // seen by whoever is judged by the same answers
	b.known[1].Data[7] ^= 1
	if n := wrong(asked); n != 1 {
		t.Errorf("the same problem was computed again: %d wrong", n)
	}
	for name, change := range map[string]func(*wire.Judge){
		"seed":    func(m *wire.Judge) { m.Seed++ },
		"batch":   func(m *wire.Judge) { m.Batch++ },
		"steps":   func(m *wire.Judge) { m.Steps++ },
		"formula": func(m *wire.Judge) { m.Elementwise = "a * x + 1" },
		"scalar": func(m *wire.Judge) {
			m.Args = scaleProblem(64)
			m.Args[2].Value = "3.0"
		},
	} {
		other := asked
		change(&other)
		if n := wrong(other); n < 2 {
			t.Errorf("another %s: %d wrong", name, n)
		}
		if n := wrong(asked); n != 0 {
			t.Errorf("after another %s: %d wrong", name, n)
		}
	}
}

// A failure says where it is: the worst element, the tiles, and the elements that were never
// written.
func TestBlame(t *testing.T) {
	args := scaleProblem(64)
	var values []float32
	for _, x := range inputOf(args, 1, 0, 0) {
		values = append(values, float32(2*x))
	}
	values[6] += 100
	values[41] += 1
	raw := f32s(values...)
	oracle.Poison(raw[4*60:], dtype.F32)
	reply, err := (&bench{}).judge(&wire.Judge{Elementwise: "a * x", Args: args, Seed: 1, Got: []wire.Buffer{{Arg: 1, Path: output(t, raw)}}, Atol: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	e := reply.Outputs[0]
	if e.Wrong != 6 || e.Blank != 4 || e.NaNs != 4 {
		t.Errorf("%+v", e)
	}
	if diff := cmp.Diff([]int64{15, 0}, e.Worst.Index); diff != "" || e.Worst.Got != "NaN" { // NaN is worse than any number
		t.Errorf("worst %+v", e.Worst)
	}
	want := &result.Tiles{Rows: 16, Columns: 4, TileRows: 1, TileCols: 1, Wrong: make([]int64, 64)}
	for _, at := range []int{6, 41, 60, 61, 62, 63} {
		want.Wrong[at] = 1
	}
	if diff := cmp.Diff(want, e.Tiles); diff != "" {
		t.Errorf("tiles (-want +got):\n%s", diff)
	}
}

// Zeros do not pass for an answer that is small, whatever the tolerance.
func TestToleranceOfSmallAnswers(t *testing.T) {
	args := scaleProblem(64)
	args[2].Value = "1e-6"
	m := &wire.Judge{Elementwise: "a * x", Args: args, Seed: 1, Got: []wire.Buffer{{Arg: 1, Path: output(t, make([]byte, 256))}}, Atol: 1e-3}
	reply, err := (&bench{}).judge(m)
	if err != nil {
		t.Fatal(err)
	}
	if e := reply.Outputs[0]; e.Wrong < 32 || e.Atol >= 1e-6 {
		t.Errorf("%+v", e)
	}
	args[2].Value = "0.0" // the answer is zero
	if reply, err = (&bench{}).judge(m); err != nil || reply.Outputs[0].Wrong != 0 {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestJudgeAgainstOutputs(t *testing.T) {
	args := scaleProblem(4)
	want := make([]byte, 32)
	for i, v := range []float64{1, 2, 3, math.Inf(1)} {
		binary.LittleEndian.PutUint64(want[8*i:], math.Float64bits(v))
	}
	m := &wire.Judge{
		Args: args, Got: []wire.Buffer{{Arg: 1, Path: output(t, f32s(1, 2, 3.5, float32(math.Inf(1))))}},
		Want: []wire.Buffer{{Arg: 1, Path: output(t, want), DType: "f64"}}, Atol: 0.1,
	}
	reply, err := (&bench{}).judge(m)
	if err != nil {
		t.Fatal(err)
	}
	if e := reply.Outputs[0]; e.Wrong != 1 || e.MaxAbs != 0.5 {
		t.Errorf("%+v", e)
	}
	for name, tc := range map[string]struct {
		change func(*wire.Judge)
		says   string
	}{
		"no answer":      {func(m *wire.Judge) { m.Want = nil }, "has no answer for the output y"},
		"another length": {func(m *wire.Judge) { m.Want[0].Path = output(t, want[:8]) }, "has 1 elements, the kernel's 4"},
		"no output":      {func(m *wire.Judge) { m.Got[0].Arg = 0 }, "argument 0 is no output"},
		"unknown type":   {func(m *wire.Judge) { m.Want[0].DType = "f65" }, `no type is called "f65"`},
		"unknown oracle": {func(m *wire.Judge) { m.Oracle = "fortune" }, "fortune"},
	} {
		broken := *m
		broken.Got, broken.Want = append([]wire.Buffer{}, m.Got...), append([]wire.Buffer{}, m.Want...)
		tc.change(&broken)
		if _, err := (&bench{}).judge(&broken); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The sum of an input follows its changes, and sees any other.
func TestSumFollowsMutation(t *testing.T) {
	for _, typ := range []dtype.Type{dtype.F64, dtype.F32, dtype.F16, dtype.E4M3} {
		b, err := newBuffer(0, 0, wire.Arg{Name: "x", DType: string(typ), Buffer: true, Count: 1001, Role: "in"}, 3)
		if err != nil {
			t.Fatal(err)
		}
		before := append([]byte{}, b.data()...)
		b.advance(50)
		if wordSum(b.data()) != b.sum {
			t.Errorf("%s: the sum was lost", typ)
		}
		if cmp.Equal(before, b.data()) {
			t.Errorf("%s: nothing has changed", typ)
		}
		after := append([]byte{}, b.data()...)
		b.advance(20)
		b.advance(50)
		if !cmp.Equal(after, b.data()) {
			t.Errorf("%s: step 50 is not always the same", typ)
		}
		b.data()[1000] ^= 1
		if wordSum(b.data()) == b.sum {
			t.Errorf("%s: a change goes unseen", typ)
		}
		b.free()
	}
}

// A reference that left some of its answer unwritten is named with the place, if the
// argument has one like it.
func TestUnwrittenAnswers(t *testing.T) {
	args := scaleProblem(8)
	blank := make([]byte, 4*8)
	for i := range 8 {
		copy(blank[4*i:], f32s(float32(i)))
	}
	oracle.Poison(blank[4*6:4*7], dtype.F32)
	for name, test := range map[string]struct {
		arg  int
		data []byte
		says string
	}{
		"all of its elements": {1, blank, "it never wrote y[1, 2]; 1 of 8 elements were not written"},
		"fewer elements":      {1, blank[:4*7], "it never wrote y[6]; 1 of 7 elements were not written"},
		"no such argument":    {3, blank, "no answer for the output y"},
		"before the first":    {-1, blank, "no answer for the output y"},
	} {
		m := &wire.Judge{Args: args, Got: []wire.Buffer{{Arg: 1, Path: output(t, blank)}}, Want: []wire.Buffer{{Arg: test.arg, DType: "f32", Path: output(t, test.data)}}}
		_, err := (&bench{}).judge(m)
		if fault := faultIn(t, err); fault.Cause != result.CauseOracle || !strings.Contains(fault.Message, test.says) {
			t.Errorf("%s: %+v", name, fault)
		}
	}
}

// An output of one number has no shape, and a tensor map no value.
func TestJudgeOfOneNumber(t *testing.T) {
	args := []wire.Arg{
		{Name: "x", DType: "f32", Buffer: true, Count: 1, Role: "in"},
		{Name: "y", DType: "f32", Buffer: true, Count: 1, Role: "out"},
		{Name: "map", TensorMap: &wire.TensorMap{}},
	}
	reply, err := (&bench{}).judge(&wire.Judge{Elementwise: "x", Args: args, Got: []wire.Buffer{{Arg: 1, Path: output(t, f32s(1e6))}}})
	if err != nil {
		t.Fatal(err)
	}
	if e := reply.Outputs[0]; e.Wrong != 1 || e.Worst == nil || len(e.Worst.Index) != 0 || e.Worst.Got != "1000000" || e.Tiles.Rows != 1 || e.Tiles.Columns != 1 {
		t.Errorf("%+v", e)
	}
}

// The allowed error of sums of many terms, where the file has no tolerance and pawl knows that they
// are sums.
func TestJudgeOfASum(t *testing.T) {
	const terms = 1 << 20
	args := []wire.Arg{
		{Name: "x", DType: "f32", Buffer: true, Count: terms, Shape: []int64{terms}, Role: "in", Init: "constant", Params: []float64{1}},
		{Name: "out", DType: "f32", Buffer: true, Count: 1, Shape: []int64{1}, Role: "out"},
	}
	off := output(t, f32s(terms+50)) // within 2⁻²³·√terms of it, which is 128
	b := &bench{}
	for _, test := range []struct {
		m     wire.Judge
		wrong int64
	}{
		{wire.Judge{Oracle: "sum", Atol: 1e-5, Rtol: 1e-5, Usual: 1e-5}, 0},
		{wire.Judge{Oracle: "sum", Atol: 1e-5, Rtol: 1e-5}, 1},
		{wire.Judge{Oracle: "sum", Usual: 1e-5}, 1}, // every bit
		{wire.Judge{Want: []wire.Buffer{{Arg: 1, Path: output(t, f32s(terms)), DType: "f32"}}, Atol: 1e-5, Rtol: 1e-5, Usual: 1e-5}, 1},
		{wire.Judge{Oracle: "sum", Atol: 1e-5, Rtol: 1e-5, Usual: 1e-5}, 0}, // computed before
	} {
		test.m.Args, test.m.Got = args, []wire.Buffer{{Arg: 1, Path: off}}
		reply, err := b.judge(&test.m)
		if err != nil {
			t.Fatal(err)
		}
		if e := reply.Outputs[0]; e.Wrong != test.wrong || (e.Rtol > 1e-5) != (test.wrong == 0) {
			t.Errorf("%+v: %+v", test.m, e)
		}
	}
}

// An integer is never −0, whatever the formula makes of it in floating point.
func TestWorstInteger(t *testing.T) {
	args := []wire.Arg{
		{Name: "x", DType: "i32", Buffer: true, Count: 1, Shape: []int64{1}, Role: "in", Init: "zero"},
		{Name: "y", DType: "i32", Buffer: true, Count: 1, Shape: []int64{1}, Role: "out"},
	}
	reply, err := (&bench{}).judge(&wire.Judge{Elementwise: "-x", Args: args, Got: []wire.Buffer{{Arg: 1, Path: output(t, []byte{27, 0, 0, 0})}}})
	if err != nil {
		t.Fatal(err)
	}
	if w := reply.Outputs[0].Worst; w == nil || w.Got != "27" || w.Want != "0" {
		t.Errorf("%+v", w)
	}
}

// Finds the inout arguments that answers leave unchanged; other arguments are never among them.
func TestUnchangedAnswers(t *testing.T) {
	args := scaleProblem(8)
	args[0].Role = "inout"
	before := make([]byte, 4*8)
	oracle.Generate(before, dtype.F32, oracle.Defaults(dtype.F32), oracle.Key(3, 0, 5))
	for name, test := range map[string]struct {
		batch int
		kind  string
		role  string
		want  []int
	}{
		"as they were": {5, "f32", "inout", []int{0}},
		"other data":   {6, "f32", "inout", nil},
		"another type": {5, "i32", "inout", nil},
		"only read":    {5, "f32", "in", nil},
	} {
		args[0].Role = test.role
		m := &wire.Judge{Args: args, Seed: 3, Batch: test.batch, Unchanged: true, Want: []wire.Buffer{{Arg: 0, DType: test.kind, Path: output(t, before)}}}
		reply, err := (&bench{}).judge(m)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, reply.Unchanged); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	args[0].Role, args[0].DType = "inout", "f7"
	if reply, err := (&bench{}).judge(&wire.Judge{Args: args, Seed: 3, Unchanged: true}); err == nil {
		t.Errorf("of a type that nobody knows: %+v", reply)
	}
}
