package spec

import (
	"math"
	"slices"

	"pawl/internal/dtype"
)

// initKinds are the ways to fill a buffer and the numbers each takes.
var initKinds = []struct {
	name    string
	numbers []string
	example string
	floats  bool // for floating-point buffers only
	bare    bool // may stand without numbers
}{
	{"normal", []string{"the mean", "the standard deviation"}, "{normal: [0, 1]}", true, true},
	{"uniform", []string{"low", "high"}, "{uniform: [-1, 1]}", true, true},
	{"integers", []string{"low", "high"}, "{integers: [-4, 4]}", false, true},
	{"constant", []string{"the constant"}, "{constant: 1}", false, false},
	{"zero", nil, "zero", false, true},
	{"iota", nil, "iota", false, true},
	{"rows", []string{"the mean", "the standard deviation", "the width"}, "{rows: [0, 1, 64]}", true, false},
	{"outliers", []string{"the mean", "the standard deviation", "the width", "the factor"}, "{outliers: [0, 1, 64, 20]}", true, false},
	{"specials", []string{"the mean", "the standard deviation", "every how many"}, "{specials: [0, 1, 100]}", true, false},
}

var numberWords = []string{"no numbers", "one number", "two numbers", "three numbers", "four numbers"}

func initNames() []string {
	var names []string
	for _, k := range initKinds {
		names = append(names, k.name)
	}
	return names
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
	for _, k := range initKinds {
		if k.name != name.text {
			continue
		}
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
		a.Init, a.numbers = Init{Kind: k.name, Args: numbers}, items
		return
	}
	d.fail(name, "%s is no way to fill a buffer", quote(name.text)).Hint = meant(name.text, initNames())
}

// usualNumbers returns those of an init that gives none.
func usualNumbers(kind string, t dtype.Type) []float64 {
	switch kind {
	case "normal":
		return []float64{0, 1}
	case "uniform":
		return []float64{-1, 1}
	case "integers":
		if low, _ := t.Range(); low == 0 {
			return []float64{0, 15}
		}
		return []float64{-8, 8}
	}
	return nil
}

// normalReach is how many standard deviations the generator's normal values
// lie from their mean at most.
const normalReach = 4.9

func takesFloats(kind string) bool {
	i := slices.Index(initNames(), kind)
	return i >= 0 && initKinds[i].floats
}

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
	if takesFloats(k) && !a.DType.Float() {
		d.fail(n, "%s fills floating-point buffers, and %s is %s", k, a.label(), a.DType).Hint = "use {integers: [low, high]}"
		return
	}
	if a.numbers == nil {
		a.Init.Args = usualNumbers(k, a.DType)
		return
	}
	numbers := a.Init.Args
	low, high := a.DType.Range()
	if takesFloats(k) && k != "uniform" {
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
