package verify

import (
	"pawl/internal/result"
	"pawl/internal/stat"
	"pawl/internal/worker/wire"
)

// EvaluationDetected marks a kernel that works differently where it is verified.
const EvaluationDetected = "evaluation-detected"

const (
	watchedChance = 1e-6 // the greatest chance of accusing a version that does not know which sample is verified
	watchedFactor = 1.2  // of the other samples' time: less is not worth a cheat
	watchedCost   = 5e-6 // seconds by which a verified sample may take longer: signals are held back before its clock stops
)

// watched compares the verified sample of each request with the others. Which one is verified is
// drawn at random, so for code that does not know it, each sample is as likely to be the slowest.
type watched struct {
	chances []float64 // that the verified sample of a request is the slowest
	slowest int       // requests in which it is
	factors []float64 // its time, over the median of the others
}

// add records a request. Two of its samples are not compared: the first, which follows a pause, and
// the one on new data, which is verified more often than the others.
func (w *watched) add(m wire.Sample, seconds []float64) {
	if m.Keep <= 1 || m.Keep == m.Fresh || m.Keep > len(seconds) {
		return
	}
	var others []float64
	verified, slowest := seconds[m.Keep-1]-watchedCost, true
	for i, s := range seconds {
		if place := i + 1; place > 1 && place != m.Fresh && place != m.Keep {
			others = append(others, s)
			slowest = slowest && s < verified
		}
	}
	if len(others) == 0 {
		return
	}
	w.chances = append(w.chances, 1/float64(len(others)+1))
	w.factors = append(w.factors, verified/stat.Median(others))
	if slowest {
		w.slowest++
	}
}

// findings accuses a version whose verified samples are the slowest far more often than by chance.
func (w *watched) findings() []result.Finding {
	if stat.CountTail(w.slowest, w.chances) > watchedChance {
		return nil
	}
	factor := stat.Median(w.factors)
	if factor < watchedFactor {
		return nil
	}
	return suspect(EvaluationDetected, "in %d of %d requests the sample whose answer is verified was the slowest; it takes %.3g times as long as the others: the kernel may know which one that is",
		w.slowest, len(w.chances), factor)
}
