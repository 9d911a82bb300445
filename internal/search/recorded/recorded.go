// Package recorded reads recordings of tuning spaces: files that hold the time of every setting of a
// kernel on one GPU. A recording is a ground, so that strategies can be tried, compared and scored
// without a device.
package recorded

import (
	"iter"
	"math"
	"math/rand/v2"

	"pawl/internal/formula"
	"pawl/internal/search"
	"pawl/internal/space"
)

// Space is a recorded space. A setting's number is its place in the recording.
type Space struct {
	Name        string
	Constraints []string // as the recording writes them; they have been applied

	params  []space.Param
	points  []space.Point
	times   []float64 // in milliseconds; NaN: the setting failed
	costs   []float64 // seconds to compile and measure it; nil: not recorded
	numbers map[string]int
}

// A recording is a ground.
var _ search.Ground = (*Space)(nil)

// Params returns the params.
func (s *Space) Params() []space.Param { return s.params }

// Size returns the number of settings that were recorded, those that failed included.
func (s *Space) Size() float64 { return float64(len(s.points)) }

// Exact reports that the size is no estimate.
func (s *Space) Exact() bool { return true }

// Len returns the number of settings.
func (s *Space) Len() int { return len(s.points) }

// At returns a setting by its number.
func (s *Space) At(number int) space.Point { return s.points[number] }

// Number returns the number of a setting; ok is false where it was not recorded.
func (s *Space) Number(p space.Point) (number int, ok bool) {
	number, ok = s.numbers[p.Key()]
	return number, ok
}

// Contains reports whether a setting was recorded, be it as a failure.
func (s *Space) Contains(p space.Point) bool {
	_, ok := s.numbers[p.Key()]
	return ok
}

// Sample draws a setting.
func (s *Space) Sample(r *rand.Rand) space.Point {
	if len(s.points) == 0 {
		return nil
	}
	return s.points[r.IntN(len(s.points))]
}

// All yields all settings in the order of the recording.
func (s *Space) All() iter.Seq[space.Point] {
	return func(yield func(space.Point) bool) {
		for _, p := range s.points {
			if !yield(p) {
				return
			}
		}
	}
}

// Neighbours returns the settings that differ from p in the value of one param.
func (s *Space) Neighbours(p space.Point) []space.Point {
	var near []space.Point
	try := p.Clone()
	for i, param := range s.params {
		for v := range param.Values {
			if try[i] = uint16(v); try[i] == p[i] {
				continue
			}
			if n, ok := s.numbers[try.Key()]; ok {
				near = append(near, s.points[n])
			}
		}
		try[i] = p[i]
	}
	return near
}

// Time returns the time of a setting in milliseconds; ok is false where it failed.
func (s *Space) Time(number int) (ms float64, ok bool) {
	ms = s.times[number]
	return ms, !math.IsNaN(ms)
}

// Cost returns the seconds that it took to compile and measure a setting; 0 where the recording does not
// say.
func (s *Space) Cost(number int) float64 {
	if s.costs == nil {
		return 0
	}
	return s.costs[number]
}

// Outcome returns what a search is told of a setting.
func (s *Space) Outcome(number int) search.Outcome {
	ms, ok := s.Time(number)
	if !ok {
		return search.Outcome{Failed: true}
	}
	return search.Outcome{Cost: ms / 1e3}
}

// Value returns the value of a param in a setting.
func (s *Space) Value(number, param int) formula.Value {
	return s.params[param].Values[s.points[number][param]]
}

// Best returns the number of the fastest setting; ok is false where all failed.
func (s *Space) Best() (number int, ok bool) {
	for i, ms := range s.times {
		if !math.IsNaN(ms) && (!ok || ms < s.times[number]) {
			number, ok = i, true
		}
	}
	return number, ok
}
