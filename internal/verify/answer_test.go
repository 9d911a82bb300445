package verify

import (
	"errors"
	"path/filepath"
	"testing"

	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// A reference that was asked the same on the bench before is not asked again: this one is right
// only once. Other data and another cell are new questions.
func TestFollow(t *testing.T) {
	s := newScene(t)
	const once = "static int calls; double by = calls++ ? 5 : 2; for (long i = 0; i < n; i++) y[i] = by * x[i] + 1;"
	first := s.bench("k", double, Oracle{})
	side := s.side("precise", once)
	first.Oracle.Reference = &side
	right := func(b *Bench, batch int) bool {
		t.Helper()
		if err := b.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := b.Produce(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		errs, err := b.Compare(t.Context(), got, batch, 0, oracle.Tolerance{Rel: 1e-5, Abs: 1e-6})
		if err != nil {
			t.Fatal(err)
		}
		return Reason(errs, 0) == ""
	}
	next := func(before *Bench) *Bench {
		b := *first
		b.reference, b.rival = nil, nil
		b.Follow(before)
		return &b
	}
	if !right(first, 7) {
		t.Error("the first bench")
	}
	second := next(first)
	for range 2 {
		if !right(second, 7) {
			t.Error("the reference was asked again")
		}
	}
	third := next(second)
	if !right(third, 7) {
		t.Error("the reference was asked again by the third")
	}

	steady := s.side("precise", "for (long i = 0; i < n; i++) y[i] = 2.0 * x[i] + 1;")
	first.reference, first.Oracle.Reference = nil, &steady
	if !right(first, 7) || !right(next(first), 8) {
		t.Error("an answer to other data was taken")
	}
	if !right(first, 7) {
		t.Error("the first bench, again")
	}
	other := next(first)
	other.Seed++
	if !right(other, 7) {
		t.Error("an answer to another seed was taken")
	}
	again := s.side("precise", "for (long i = 0; i < n; i++) y[i] = 5.0 * x[i];")
	elsewhere := *first
	elsewhere.reference, elsewhere.Oracle.Reference = nil, &again
	elsewhere.Follow(first)
	if right(&elsewhere, 7) {
		t.Error("the answer of another cell was taken")
	}
}

// Code that is also wrong without a clock, if only now and then, has a mistake; code that ends its
// cell is neither right nor wrong.
func TestUntimed(t *testing.T) {
	const seldom = "static int calls; " + double + " if (calls++ == 3) y[0] = 0;"
	for name, test := range map[string]struct {
		body  string
		steps int
		wrong bool
		ends  bool
	}{
		"right":              {double, 0, false, false},
		"right, in steps":    {double, 3, false, false},
		"wrong":              {"for (long i = 0; i < n; i++) y[i] = 2 * x[i];", 2, true, false},
		"wrong now and then": {seldom, 0, true, false},
		"it crashes":         {crashes, 0, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newScene(t).bench("k", test.body, formulaOfDouble)
			wrong, err := b.Untimed(t.Context(), &result.Case{Batch: 7, Steps: test.steps})
			if wrong != test.wrong || (err != nil) != test.ends {
				t.Errorf("wrong %v, %v", wrong, err)
			}
		})
	}
	s := newScene(t)
	b := s.bench("k", double, Oracle{Elementwise: "2 * x + mystery"})
	if wrong, err := b.Untimed(t.Context(), &result.Case{Batch: 7}); wrong || err == nil {
		t.Errorf("without an answer: wrong %v, %v", wrong, err)
	}
	b.Candidate.Instance = s.instance("k", "huge")
	if wrong, err := b.Untimed(t.Context(), &result.Case{Batch: 7}); wrong || !outOfMemory(err) || errors.As(err, new(*OracleError)) {
		t.Errorf("without room: wrong %v, %v", wrong, err)
	}
}

// Whether an oracle can be asked is known before anything is built, for device code too.
func TestAnswers(t *testing.T) {
	at := func(input, dtype string) *spec.Instance {
		text := "version: 1\nkernels:\n  k:\n    source: k.cu\n    entry: k\n    launch: {grid: 1, block: 32}\n    args: [{name: " + input + ", dtype: " + dtype +
			", shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}, {name: scale, dtype: f32, value: 2}]\nconfigs: {c: {N: 64}}\n"
		s, err := spec.Parse(filepath.Join(t.TempDir(), "pawl.yaml"), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		in, err := s.Kernels[0].Default().At(s.Kernels[0].Configs[0])
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	x := at("x", "f32")
	if err := Answers(at("z", "f32"), x); err != nil {
		t.Errorf("another name: %v", err)
	}
	if err := Answers(at("x", "f16"), x); err == nil {
		t.Error("another type")
	}
	for oracle, answers := range map[[2]string]bool{
		{"", "scale * x"}: true, {"", "z"}: false, {"softmax", ""}: false, {"nothing", ""}: false,
	} {
		if err := Answerable(oracle[0], oracle[1], x); (err == nil) != answers {
			t.Errorf("%q: %v", oracle, err)
		}
	}
}
