package dash

import (
	"html/template"
	"math"
)

// spark draws a line of indices in little room: how a series went lately. It shows at least 3% from top
// to bottom, so that noise looks like what it is. Gaps stay gaps.
func spark(line []place) template.HTML {
	low, high, last := math.Inf(1), math.Inf(-1), -1
	for i := range line {
		if e := line[i].Index; e != nil {
			low, high, last = min(low, e.Value), max(high, e.Value), i
		}
	}
	if last < 0 {
		return ""
	}
	const least = 0.015
	middle := (math.Log(low) + math.Log(high)) / 2
	half := max((math.Log(high)-math.Log(low))/2, least)
	x := func(i int) float64 { return 0.03 + 0.94*float64(i)/float64(max(len(line)-1, 1)) }
	y := func(v float64) float64 { return 0.5 - 0.38*(math.Log(v)-middle)/half }
	var p pen
	var d drawing
	d.open("spark", "")
	for i := range line {
		e := line[i].Index
		if i > 0 && line[i].breaks(&line[i-1]) {
			p.lift()
		}
		if e != nil {
			p.to(x(i), y(e.Value))
		}
	}
	d.paths("course", p.String())
	for i := range line {
		if line[i].Moved && line[i].Index != nil {
			d.dot("moved", x(i), y(line[i].Index.Value), "2", "", "")
		}
	}
	d.dot("now", x(last), y(line[last].Index.Value), "2.5", "", "")
	return d.close()
}
