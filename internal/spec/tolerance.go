package spec

import "pawl/internal/dtype"

var toleranceKeys = []key[toleranceDraft]{
	{"atol", func(d *decoder, t *toleranceDraft, n *node) { t.atol = d.bound(n, "atol") }},
	{"rtol", func(d *decoder, t *toleranceDraft, n *node) { t.rtol = d.bound(n, "rtol") }},
}

type toleranceDraft struct{ atol, rtol *float64 }

func (d *decoder) bound(n *node, what string) *float64 {
	v, ok := d.number(n, what)
	if ok && v < 0 {
		d.fail(n, "expected %s to be at least 0, found %s", what, n.text)
		ok = false
	}
	if !ok {
		return nil
	}
	return &v
}

func (d *decoder) tolerance(k *kernelDraft, n *node) {
	readKeys(d, n, "tolerance", toleranceKeys, nil, &k.given)
}

// defaultTolerance holds what honest kernels of a type reach on usual sizes.
func defaultTolerance(t dtype.Type) Tolerance {
	switch t {
	case dtype.E4M3, dtype.E5M2:
		return Tolerance{Atol: 0.125, Rtol: 0.125}
	case dtype.BF16:
		return Tolerance{Atol: 1.6e-2, Rtol: 1e-2}
	case dtype.F16:
		return Tolerance{Atol: 2e-3, Rtol: 1e-3}
	case dtype.F32:
		return Tolerance{Atol: 1e-5, Rtol: 1e-5}
	case dtype.F64:
		return Tolerance{Atol: 1e-12, Rtol: 1e-12}
	}
	return Tolerance{}
}

// setTolerance takes the widest default of the outputs, then what was given.
func (d *decoder) setTolerance(k *kernelDraft) {
	for _, a := range k.Args {
		if a.Role == RoleOut || a.Role == RoleInOut {
			t := defaultTolerance(a.DType)
			k.Tolerance.Atol = max(k.Tolerance.Atol, t.Atol)
			k.Tolerance.Rtol = max(k.Tolerance.Rtol, t.Rtol)
		}
	}
	if k.given.atol != nil {
		k.Tolerance.Atol = *k.given.atol
	}
	if k.given.rtol != nil {
		k.Tolerance.Rtol = *k.given.rtol
	}
}
