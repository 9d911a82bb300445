package python

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/worker/wire"
)

// wide reads an answer of any type that the tests return.
func (p *peer) wide(b wire.Buffer) []float64 {
	p.t.Helper()
	raw, err := os.ReadFile(filepath.Join(p.dir, b.Path))
	if err != nil {
		p.t.Fatal(err)
	}
	var out []float64
	switch b.DType {
	case "f64":
		for i := 0; i < len(raw); i += 8 {
			out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(raw[i:])))
		}
	case "i64":
		for i := 0; i < len(raw); i += 8 {
			out = append(out, float64(int64(binary.LittleEndian.Uint64(raw[i:]))))
		}
	case "f32":
		for _, v := range values(raw) {
			out = append(out, float64(v))
		}
	default:
		p.t.Fatalf("an answer of %q", b.DType)
	}
	return out
}

const references = `
import %[1]s
import numpy

def double(x):
    return x.double() if "%[1]s" == "torch" else x.astype("float64")

def fresh(a, b): return double(b) * 2, double(a) + 1
def narrow(a, b): return b * 2, a + 1
def listed(a, b): return [b * 2, a + 1]
def named(a, b): return {"c": a + 1, "b": b * 2}
def other(a, b): return numpy.asarray(b).astype("f8") * 2, numpy.asarray(a).astype(">f8") + 1
def flat(a, b): return b.reshape(3, 1, 41) * 2, a.reshape(1, 3, 41) + 1
def sliced(a, b): return (numpy.asarray(b) * 2).T.copy().T, numpy.asarray(a)[::-1][::-1] + 1

def in_place(a, b):
    b *= 2
    return a + 1

def in_place_named(a, b):
    b *= 2
    return {"c": a + 1, "b": None}

def in_place_none(a, b):
    b *= 2
    return None, a + 1

def one(a, b): return b * 2
def three(a, b): return b, b, b
def nothing(a, b): pass
def stranger(a, b): return {"b": b, "d": a}
def partial(a, b): return {"b": b}
def shape(a, b): return b * 2, a.reshape(41, 3)
def half(a, b): return b * 2, (a + 1).half() if "%[1]s" == "torch" else (a + 1).astype("float16")
def whole(a, b): return b * 2, (a > 0).int() if "%[1]s" == "torch" else (a > 0).astype("int32")
def text(a, b): return b * 2, "right"
`

// A reference may return what anybody would write: wider types, arrays for inout
// arguments, a dict, another framework's arrays. What is wrong with it is said with its place.
func TestReferences(t *testing.T) {
	frameworks(t, func(t *testing.T, framework string) {
		text := fmt.Sprintf(references, framework)
		p := start(t, framework, text, "fresh")
		m := problem("in", "inout", "out")
		m.Reference = true
		for function, dtype := range map[string]string{
			"fresh": "f64", "narrow": "f32", "listed": "f32", "named": "f32", "other": "f64", "flat": "f32", "sliced": "f32",
			"in_place": "f32", "in_place_named": "f32", "in_place_none": "f32",
		} {
			if framework == "jax" && (strings.HasPrefix(function, "in_place") || function == "fresh") {
				continue // its arrays cannot be written to, and it has no f64 unless the arguments have
			}
			t.Log(function)
			p.load(framework, text, function)
			p.ok(wire.OpPrepare, m, nil)
			for _, batch := range []int{0, 1, 1} {
				outputs := p.produce(batch)
				if len(outputs) != 2 || outputs[0].DType != dtype {
					t.Fatalf("%s: outputs %+v, want %s", function, outputs, dtype)
				}
				b, c := input(1, batch, 0, 1), input(0, batch, 0, 1)
				for i, got := range p.wide(outputs[0]) {
					if got != 2*float64(b[i]) {
						t.Fatalf("%s, batch %d: b[%d] is %g, want %g", function, batch, i, got, 2*b[i])
					}
				}
				for i, got := range p.wide(outputs[1]) {
					want := float64(c[i]) + 1
					if dtype == "f32" {
						want = float64(c[i] + 1)
					}
					if got != want {
						t.Fatalf("%s, batch %d: c[%d] is %g, want %g", function, batch, i, got, want)
					}
				}
			}
		}
		all := "expected 2: b (inout), c (out)"
		for function, says := range map[string]string{
			"one": "", "three": "three returned 3 arrays; " + all, "nothing": "nothing returned nothing; " + all,
			"stranger": "stranger returned a dict of b, d; " + all, "partial": "partial returned a dict of b; " + all,
			"shape": "shape returned c with shape [41, 3]; expected [3, 41]",
			"half":  "half returned c as float16, which does not hold every f32",
			"whole": "whole returned c as int32, which does not hold every f32",
			"text":  "text must return an array for c, and returned str",
		} {
			p.load(framework, text, function)
			p.ok(wire.OpPrepare, m, nil)
			switch {
			case function == "one" && framework != "jax": // for c, b is written in place
				outputs := p.produce(0)
				if diff := cmp.Diff(input(1, 0, 0, 1), p.left(outputs, 1)); diff != "" {
					t.Errorf("an inout argument that nobody wrote (-want +got):\n%s", diff)
				}
			case function == "one":
				p.fails(wire.OpProduce, wire.Produce{Outputs: p.dir}, "output", "one returned 1 array; "+all)
			default:
				p.fails(wire.OpProduce, wire.Produce{Outputs: p.dir}, "output", says)
				p.fails(wire.OpProduce, wire.Produce{Outputs: p.dir}, "output", "kernel.py:"+fmt.Sprint(1+strings.Count(text[:strings.Index(text, "def "+function+"(")], "\n")))
			}
		}
	})
}

const updates = `
import numpy
def returned(a, b): return a + 1, b.astype("f8") + 2
def same(a, b):
    a += 1
    b += 2
    return a
def status(a, b):
    a += 1
    b += 2
    return True
def silent(a, b):
    a += 1
    b += 2
def fewer(a, b): return a + 1
`

// A reference of inout arguments alone may return all of them, write to all of them,
// and nothing between.
func TestReferencesInPlace(t *testing.T) {
	p := start(t, "numpy", updates, "returned")
	m := problem("inout", "inout")
	m.Reference = true
	for _, function := range []string{"returned", "same", "status", "silent"} {
		p.load("numpy", updates, function)
		p.ok(wire.OpPrepare, m, nil)
		for _, batch := range []int{0, 1, 1} {
			outputs := p.produce(batch)
			a, b := input(0, batch, 0, 1), input(1, batch, 0, 1)
			for i, got := range p.wide(outputs[0]) {
				if got != float64(a[i]+1) {
					t.Fatalf("%s: a[%d] is %g, want %g", function, i, got, a[i]+1)
				}
			}
			for i, got := range p.wide(outputs[1]) {
				want := float64(b[i] + 2)
				if function == "returned" {
					want = float64(b[i]) + 2
				}
				if got != want {
					t.Fatalf("%s: b[%d] is %g, want %g", function, i, got, want)
				}
			}
		}
	}
	p.load("numpy", updates, "fewer")
	p.ok(wire.OpPrepare, m, nil)
	p.fails(wire.OpProduce, wire.Produce{Outputs: p.dir}, "output", "returned 1 array; expected 2: a (inout), b (inout), or nothing if it writes to these")
}

// Which types of an answer are wide enough for which output.
func TestReferenceTypes(t *testing.T) {
	const text = "import numpy\nkind = None\ndef run(a, KIND): return numpy.ones(4, KIND)\ndef number(a, KIND): return a.sum() if KIND == 'scalar' else float(a.sum())\n"
	p := start(t, "numpy", text, "run")
	for output, kinds := range map[string]string{
		"f16": "float16 float32 float64 longdouble -bfloat -int64 -bool", "f64": "float64 longdouble -float32 -int64",
		"i32": "int32 int64 float64 -float32 -uint32 -int16 -uint64 -bool", "u8": "uint8 bool int16 float32 float16 -int8",
		"i64": "int64 -float64 -uint64", "u32": "uint32 int64 uint64 float64 -int32", "f32": "float32 float64 -complex64 -complex128",
	} {
		for kind := range strings.FieldsSeq(kinds) {
			kind, refused := strings.CutPrefix(kind, "-")
			if kind == "bfloat" {
				continue
			}
			module := filepath.Join(p.dir, "kernel.txt")
			p.ok(wire.OpLoad, map[string]any{"framework": "numpy", "entry": "kernel:run", "path": module, "params": map[string]string{"KIND": kind}}, nil)
			m := wire.Prepare{Threads: 1, Seed: seed, Reference: true, Args: []wire.Arg{
				{Name: "a", DType: "f32", Buffer: true, Count: 4, Shape: []int64{4}, Role: "in"},
				{Name: "y", DType: output, Buffer: true, Count: 4, Shape: []int64{4}, Role: "out"},
			}}
			p.ok(wire.OpPrepare, m, nil)
			if refused {
				p.fails(wire.OpProduce, wire.Produce{Outputs: p.dir}, "output", "which does not hold every "+output)
			} else {
				t.Log(output, kind, p.produce(0)[0].DType)
			}
		}
	}
	for _, kind := range []string{"scalar", "float"} {
		module := filepath.Join(p.dir, "kernel.txt")
		p.ok(wire.OpLoad, map[string]any{"framework": "numpy", "entry": "kernel:number", "path": module, "params": map[string]string{"KIND": kind}}, nil)
		m := wire.Prepare{Threads: 1, Seed: seed, Reference: true, Args: []wire.Arg{
			{Name: "a", DType: "f32", Buffer: true, Count: 4, Shape: []int64{4}, Role: "in"},
			{Name: "y", DType: "f32", Buffer: true, Count: 1, Shape: []int64{1}, Role: "out"},
		}}
		p.ok(wire.OpPrepare, m, nil)
		if out := p.produce(0); len(out) != 1 {
			t.Errorf("%s: %+v", kind, out)
		}
	}
}

const mistaken = `
import sys
import numpy as np
def changes(a, b):
    a *= 2
    return b, a
def leaves(a, b): sys.exit(3)
def raises(a, b):
    raise ValueError("no")
def yields(a, b): yield a
def lists(a, b): return [1.0] * 64
def nested(a, b): return [[1.0] * 41] * 3, a
def number(a, b): return 1.0
def words(a, b): return "right"
def lacks(b): return b
def more(a, b, z): return a
def keywords(**k): return k["b"] * 2, k["a"] + 1
def rest(a, **k): return k["b"] * 2, a + 1
`

// What is wrong with an oracle is said of it, with its place and what to do.
func TestMistakenReferences(t *testing.T) {
	p := start(t, "numpy", mistaken, "changes")
	m := problem("in", "inout", "out")
	m.Reference = true
	for function, test := range map[string]struct{ says, hint string }{
		"changes": {"changes changed its input a", "work on a copy"},
		"leaves":  {"leaves raised SystemExit: 3 (kernel.py, line 7)", "must return"},
		"raises":  {"raises raised ValueError: no (kernel.py, line 9)", "called with arrays of numpy: a f32[3, 41], b f32[3, 41]"},
		"yields":  {"yields must return an array for c, and returned generator", "np.array"},
		"lists":   {"lists returned a list of 64 float; expected 2: b (inout), c (out)", "np.array"},
		"nested":  {"nested must return an array for b, and returned list", "np.array"},
		"number":  {"number returned c with shape []; expected [3, 41]", "what the function returns"},
		"words":   {"words must return an array for c, and returned str", "np.array"},
		"lacks":   {"lacks has no parameter for argument a", "add a parameter a"},
		"more":    {"more takes (a, b, z), and pawl.yaml has a, b: their names must match", "name of its parameter"},
	} {
		p.load("numpy", mistaken, function)
		op, body := wire.OpProduce, any(wire.Produce{Outputs: p.dir})
		if function == "lacks" || function == "more" {
			op, body = wire.OpPrepare, m
		} else {
			p.ok(wire.OpPrepare, m, nil)
		}
		line := 1 + strings.Count(mistaken[:strings.Index(mistaken, "def "+function+"(")], "\n")
		var fault wire.Failure
		if frame := p.ask(op, body); frame.Op != wire.OpError {
			t.Errorf("%s: no fault", function)
			continue
		} else if err := frame.Decode(&fault); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("kernel.py:%d: %s", line, test.says); !strings.HasPrefix(fault.Message, want) || !strings.Contains(fault.Hint, test.hint) {
			t.Errorf("%s: %q (%s), want %q (%s)", function, fault.Message, fault.Hint, want, test.hint)
		}
	}
	for _, function := range []string{"keywords", "rest"} {
		p.load("numpy", mistaken, function)
		p.ok(wire.OpPrepare, m, nil)
		if out := p.produce(0); len(out) != 2 || !out[0].Returned || !out[1].Returned {
			t.Errorf("%s: %+v", function, out)
		}
	}
}
