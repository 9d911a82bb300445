package spec

import (
	"pawl/internal/formula"
	"pawl/internal/space"
)

func (k *Kernel) Space() (*space.Space, error) {
	var ps []space.Param
	for _, p := range k.Params {
		ps = append(ps, space.Param{Name: p.Name, Values: p.Values})
	}
	var cs []*formula.Expr
	for _, c := range k.Constraints {
		cs = append(cs, c.Expr)
	}
	return space.New(ps, cs)
}

func (k *Kernel) At(p space.Point) Variant {
	v := Variant{Kernel: k, Values: make([]formula.Value, len(p))}
	for i, at := range p {
		v.Values[i] = k.Params[i].Values[at]
	}
	return v
}

func (v Variant) Point() space.Point {
	p := make(space.Point, len(v.Values))
	for i, value := range v.Values {
		for j, c := range v.Kernel.Params[i].Values {
			if c == value {
				p[i] = uint16(j)
			}
		}
	}
	return p
}
