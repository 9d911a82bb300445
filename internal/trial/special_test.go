package trial

import (
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
	"pawl/internal/spec"
)

// Where numbers are added no trial has the greatest, whatever size Shrink makes it,
// and one that is settled stays as it is: a kept failure is tried on the same data.
func TestSettle(t *testing.T) {
	plans := map[string]*Plan{}
	for _, name := range []string{"gemm", "layernorm", "attention", "sum", "elementwise"} {
		for _, typ := range []dtype.Type{dtype.F32, dtype.BF16, dtype.E4M3} {
			s := sheetOf(t, name, typ)
			s.Fuzz = &spec.Fuzz{Specials: spec.SpecialsPropagate}
			plans[name+" "+string(typ)] = plan(t, s, Options{Seed: 1})
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.SampledFrom([]string{"gemm", "layernorm", "attention", "sum", "elementwise"}).Draw(r, "operation")
		p := plans[name+" "+rapid.SampledFrom([]string{"f32", "bf16", "e4m3"}).Draw(r, "type")]
		trial := p.Trials[0]
		trial.Fill, trial.Seed = rapid.SampledFrom([]string{specials, sparse}).Draw(r, "fill"), rapid.Uint64().Draw(r, "seed")
		for _, free := range p.Free {
			trial = trial.With(free, intValue(rapid.Int64Range(1, 100).Draw(r, free)))
		}
		settled, err := p.Settle(trial, false)
		if err != nil {
			r.Fatal(err)
		}
		if again, err := p.Settle(settled, false); err != nil || again.Batch != settled.Batch {
			r.Errorf("batch %d, then %d, %v", settled.Batch, again.Batch, err)
		}
		problem, err := p.Resolve(settled)
		if err != nil { // a sum with an init of its own has none
			return
		}
		for i, a := range problem.Instance.Args {
			if a.Buffer && a.Init.Kind == oracle.Specials {
				if held := oracle.HeldBy(a.DType, oracle.Fill{Kind: a.Init.Kind, Args: a.Init.Args}, settled.key(i), a.Elements); held.Greatest {
					r.Errorf("%s has the greatest number", a.Name)
				}
			}
		}
	})
}

// Honest kernels give special values on as the oracle does.
func TestHonestKernelsBearSpecials(t *testing.T) {
	for _, name := range []string{"gemm", "layernorm", "elementwise", "max"} {
		for _, typ := range []dtype.Type{dtype.F32, dtype.BF16} {
			s := sheetOf(t, name, typ)
			s.Fuzz = &spec.Fuzz{Specials: spec.SpecialsPropagate}
			for seed := range uint64(10 * *seeds) {
				p := plan(t, s, Options{Seed: seed})
				tried := 0
				for _, trial := range p.Trials {
					if trial.Lane != LaneSpecials {
						continue
					}
					tried++
					if d := compared(t, p, trial, honest[name]); d.Wrong > 0 {
						t.Errorf("%s of %s, seed %d, %s: %+v", name, typ, seed, trial.Name(), d)
					}
				}
				if tried == 0 {
					t.Errorf("%s of %s: none tried: %q", name, typ, p.Notes)
				}
			}
		}
	}
}

// A NaN in one input says nothing about another.
func TestEveryInputHasNaN(t *testing.T) {
	s := sheetOf(t, "elementwise", dtype.F32)
	s.Fuzz = &spec.Fuzz{Specials: spec.SpecialsPropagate}
	for seed := range uint64(20) {
		p := plan(t, s, Options{Seed: seed})
		trial := p.Trials[len(p.Trials)-1]
		if trial.Fill != specials {
			t.Fatalf("last trial %+v", trial)
		}
		problem, err := p.Resolve(trial)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range problem.Instance.Args[:2] {
			if held := oracle.HeldBy(a.DType, oracle.Fill{Kind: a.Init.Kind, Args: a.Init.Args}, trial.key(i), a.Elements); !held.NaN {
				t.Errorf("seed %d: none in %s", seed, a.Name)
			}
		}
	}
}
