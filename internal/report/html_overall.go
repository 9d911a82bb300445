package report

import (
	"fmt"
	"math"

	"pawl/internal/result"
)

// overall is how a kernel stands against one rival over all configs.
type overall struct {
	Kernel, Rival        string
	Class, Mean          string
	Low, High            string
	Faster, Slower, Even int
}

// standings sum up every rival that a kernel met more than once.
func standings(r *result.Report) []overall {
	var out []overall
	for _, k := range byKernel(r) {
		ratios := map[string][]*result.Ratio{}
		var labels []string
		for _, row := range k.rows {
			for _, rival := range row.Rivals {
				if rival.Ratio == nil || !(rival.Ratio.Median > 0) {
					continue
				}
				if ratios[rival.Label] == nil {
					labels = append(labels, rival.Label)
				}
				ratios[rival.Label] = append(ratios[rival.Label], rival.Ratio)
			}
		}
		for _, label := range labels {
			if len(ratios[label]) > 1 {
				out = append(out, sumUp(k.name, label, ratios[label]))
			}
		}
	}
	return out
}

func sumUp(kernel, rival string, ratios []*result.Ratio) overall {
	o := overall{Kernel: kernel, Rival: rival, Class: "even"}
	low, high, sum := math.Inf(1), 0.0, 0.0
	for _, ratio := range ratios {
		low, high = math.Min(low, ratio.Median), math.Max(high, ratio.Median)
		sum += math.Log(ratio.Median)
		switch standing(ratio) {
		case "faster":
			o.Faster++
		case "slower":
			o.Slower++
		default:
			o.Even++
		}
	}
	// Ratios multiply: twice as fast here and half as fast there is no gain.
	o.Mean = fmt.Sprintf("%.2f×", math.Exp(sum/float64(len(ratios))))
	o.Low, o.High = fmt.Sprintf("%.2f×", low), fmt.Sprintf("%.2f×", high)
	switch {
	case o.Faster > 0 && o.Slower == 0:
		o.Class = "faster"
	case o.Slower > 0 && o.Faster == 0:
		o.Class = "slower"
	}
	return o
}
