package spec

import (
	"cmp"

	"pawl/internal/dtype"
)

var toleranceKeys = []key[toleranceDraft]{
	{"atol", func(d *decoder, t *toleranceDraft, n *node) { t.atol = d.bound(n, "atol") }},
	{"rtol", (*decoder).rtol},
	{"rival", (*decoder).rival},
	{"factor", (*decoder).factor},
}

type toleranceDraft struct {
	at         *node
	present    found
	atol, rtol *float64
	rival      *Oracle
	factor     float64
}

func (d *decoder) bound(n *node, what string) *float64 {
	switch v, ok := d.number(n, what); {
	case ok && v < 0:
		d.fail(n, "expected %s to be at least 0, found %s", what, n.text)
	case ok:
		return &v
	}
	return nil
}

func (d *decoder) rtol(t *toleranceDraft, n *node) {
	if t.rtol = d.bound(n, "rtol"); t.rtol != nil && *t.rtol >= 1 {
		d.fail(n, "expected rtol to be less than 1, found %s", n.text).Hint = "with 1 or more, a kernel that writes zeros would be right"
	}
}

func (d *decoder) tolerance(k *kernelDraft, n *node) {
	k.given.at = n
	k.given.present = readKeys(d, n, "tolerance", toleranceKeys, nil, &k.given)
}

// rivalKeys are those of an oracle that can be a rival: the built-in references
// compute in f64, and no kernel is as exact.
var rivalKeys = []key[Oracle]{
	{"kernel", func(d *decoder, o *Oracle, n *node) { o.Kernel, _ = d.text(n, "the name of a kernel") }},
	{"python", (*decoder).pythonOracle},
}

func (d *decoder) rival(t *toleranceDraft, n *node) {
	const expected = `a rival of the same precision: {kernel: name} or {python: "module:function"}`
	if n.kind != mappingKind {
		d.expect(n, expected)
		return
	}
	before := d.trouble()
	t.rival = &Oracle{Pos: n.pos}
	readKeys(d, n, "rival", rivalKeys, nil, t.rival)
	if (t.rival.Kernel == "") == (t.rival.Python == "") && d.trouble() == before {
		d.fail(n, "expected exactly one of kernel and python in rival")
	}
}

// usualFactor is FlashAttention's: twice the error of a plain implementation in the
// same precision.
const usualFactor = 2

func (d *decoder) factor(t *toleranceDraft, n *node) {
	v, ok := d.number(n, "factor")
	switch {
	case ok && v < 1:
		d.fail(n, "expected factor to be at least 1, found %s", n.text).Hint = "it says how many times the rival's error is allowed; 2 is usual"
	case ok:
		t.factor = v
	}
}

// usualTolerances holds what honest kernels of a type reach on usual sizes.
var usualTolerances = map[dtype.Type]Tolerance{
	dtype.E4M3: {Atol: 0.125, Rtol: 0.125},
	dtype.E5M2: {Atol: 0.125, Rtol: 0.125},
	dtype.BF16: {Atol: 1.6e-2, Rtol: 1e-2},
	dtype.F16:  {Atol: 2e-3, Rtol: 1e-3},
	dtype.F32:  {Atol: 1e-5, Rtol: 1e-5},
	dtype.F64:  {Atol: 1e-12, Rtol: 1e-12},
}

// setTolerance takes the widest default of the outputs, then what was given.
func (d *decoder) setTolerance(k *kernelDraft) {
	floats := false
	for _, a := range k.Args {
		if a.Role.Written() {
			t := usualTolerances[a.DType]
			k.Tolerance.Atol = max(k.Tolerance.Atol, t.Atol)
			k.Tolerance.Rtol = max(k.Tolerance.Rtol, t.Rtol)
			floats = floats || a.DType.Float()
		}
	}
	given := k.given
	if given.atol == nil && given.rtol == nil {
		k.Tolerance.Usual = k.Tolerance.Atol
	}
	if given.atol != nil {
		k.Tolerance.Atol = *given.atol
	}
	if given.rtol != nil {
		k.Tolerance.Rtol = *given.rtol
	}
	if floats && k.Tolerance.Atol == 0 && k.Tolerance.Rtol == 0 && given.at != nil {
		d.fail(given.at, "a tolerance of zero fails every kernel that rounds").
			Hint = "pawl fuzz also tries small integers, which must be exact to the bit; remove tolerance to use the usual bounds of the type"
	}
	if k.Tolerance.Rival = given.rival; given.rival != nil {
		k.Tolerance.Factor = cmp.Or(given.factor, usualFactor)
	} else if given.present.lacks("rival") {
		d.refuse(given.present, "factor", "", "factor needs rival: it says how many times the rival's error is allowed")
	}
}

// kernelRival checks the kernel that a rival names.
func (d *decoder) kernelRival(s *specDraft, k *kernelDraft) {
	rival := k.Tolerance.Rival
	if rival == nil || rival.Kernel == "" {
		return
	}
	at := k.given.present.fields["rival"].value.find("kernel")
	if d.otherKernel(s, k, at, rival.Kernel, "rival") && k.Oracle != nil && k.Oracle.Kernel == rival.Kernel {
		d.fail(at, "%s is the oracle of %s; as a rival it would have no error at all", rival.Kernel, k.Name).
			Hint = "a rival computes in the precision of the kernel, an oracle in a higher one"
	}
}
