package spec

import (
	"math"
	"slices"

	"pawl/internal/diag"
)

// initKind is a way to fill a buffer.
type initKind struct {
	name    string
	numbers []string // that it takes
	example string
	floats  bool      // for floating-point buffers only
	bare    bool      // may stand without numbers
	usual   []float64 // the numbers where none are given
}

var initKinds = []initKind{
	{"normal", []string{"the mean", "the standard deviation"}, "{normal: [0, 1]}", true, true, []float64{0, 1}},
	{"uniform", []string{"low", "high"}, "{uniform: [-1, 1]}", true, true, []float64{-1, 1}},
	{"integers", []string{"low", "high"}, "{integers: [-4, 4]}", false, true, []float64{-8, 8}},
	{"constant", []string{"the constant"}, "{constant: 1}", false, false, nil},
	{"zero", nil, "zero", false, true, nil},
	{"iota", nil, "iota", false, true, nil},
	{"rows", []string{"the mean", "the standard deviation", "the width"}, "{rows: [0, 1, 64]}", true, false, nil},
	{"outliers", []string{"the mean", "the standard deviation", "the width", "the factor"}, "{outliers: [0, 1, 64, 20]}", true, false, nil},
	{"specials", []string{"the mean", "the standard deviation", "every how many"}, "{specials: [0, 1, 100]}", true, false, nil},
}

// usualUnsigned are the numbers of a bare integers where the type has no negative ones.
var usualUnsigned = []float64{0, 15}

var numberWords = []string{"no numbers", "one number", "two numbers", "three numbers", "four numbers"}

func initNames() []string {
	return namesOf(initKinds, func(k initKind) string { return k.name })
}

func (d *decoder) init(a *argDraft, n *node) {
	name, value := n, (*node)(nil)
	switch {
	case n.kind == textKind:
	case n.kind == mappingKind && len(n.fields) == 1:
		name, value = n.fields[0].key, n.fields[0].value
	default:
		d.expect(n, "a way to fill the buffer").Hint = "for example init: normal, or init: {uniform: [-1, 1]}"
		return
	}
	at := slices.Index(initNames(), name.text)
	if at < 0 {
		d.fail(name, "%s is not a way to fill a buffer", quote(name.text)).Hint = diag.Meant(name.text, initNames())
		return
	}
	k := initKinds[at]
	var items []*node
	if value != nil && value.kind != nullKind {
		items = value.list()
	}
	if (value != nil || !k.bare) && (len(items) != len(k.numbers) || len(items) == 0) {
		d.fail(n, "%s takes %s", k.name, numberWords[len(k.numbers)]).Hint = "for example init: " + k.example
		return
	}
	var numbers []float64
	for i, item := range items {
		number, ok := d.number(item, k.numbers[i])
		if !ok {
			return
		}
		numbers = append(numbers, number)
	}
	a.Init, a.numbers, a.initKind = Init{Kind: k.name, Args: numbers}, items, k
}

// normalReach is how many standard deviations the generator's normal values
// lie from their mean at most.
const normalReach = 4.9

// checkNormal checks the numbers of normal and of what is made from it.
func (d *decoder) checkNormal(n *node, a *argDraft, high float64) {
	numbers := a.Init.Args
	reach := math.Abs(numbers[0]) + normalReach*numbers[1]
	if len(numbers) == 4 {
		reach *= max(1, math.Abs(numbers[3]))
	}
	if numbers[1] < 0 {
		d.fail(a.numbers[1], "the standard deviation is negative")
	} else if reach > high {
		d.fail(n, "values up to %v are outside the range of %s", reach, a.DType)
	}
	if len(numbers) > 2 && (numbers[2] < 1 || numbers[2] != math.Trunc(numbers[2]) || numbers[2] > 1<<53) {
		d.fail(a.numbers[2], "%v is not a whole number from 1 to 2^53", numbers[2])
	}
}

// checkInit checks the numbers of an init against the element type.
func (d *decoder) checkInit(n *node, a *argDraft) {
	k := a.Init.Kind
	if a.initKind.floats && !a.DType.Float() {
		d.fail(n, "%s fills floating-point buffers, and %s is %s", k, a.label(), a.DType).Hint = "use {integers: [low, high]}"
		return
	}
	low, high := a.DType.Range()
	if a.numbers == nil {
		if a.Init.Args = slices.Clone(a.initKind.usual); k == "integers" && low == 0 {
			a.Init.Args = slices.Clone(usualUnsigned)
		}
		return
	}
	numbers := a.Init.Args
	if a.initKind.floats && k != "uniform" {
		d.checkNormal(n, a, high)
		return
	}
	if len(numbers) == 2 && numbers[0] > numbers[1] {
		d.fail(a.numbers[0], "low %v is above high %v", numbers[0], numbers[1])
	}
	for i, number := range numbers {
		// The generator counts in float64, which holds all whole numbers to 2⁵³.
		if whole := k == "integers" || !a.DType.Float(); whole && (number != math.Trunc(number) || math.Abs(number) > 1<<53) {
			d.fail(a.numbers[i], "%v is not a whole number of at most 2^53", number)
		} else if number < low || number > high {
			d.fail(a.numbers[i], "%v is outside the range of %s", number, a.DType)
		}
	}
	if k == "uniform" && numbers[1]-numbers[0] > max(high, math.MaxFloat32) {
		d.fail(n, "the range from %v to %v is too wide", numbers[0], numbers[1])
	}
}
