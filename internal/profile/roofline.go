package profile

import "math"

// Roofline is where a launch stands between its arithmetic and its memory traffic.
type Roofline struct {
	Intensity float64 `json:"intensity"`          // operations per byte of DRAM
	Rate      float64 `json:"rate"`               // operations a second
	Bandwidth float64 `json:"bandwidth"`          // bytes a second that DRAM could move
	Peak      float64 `json:"peak"`               // operations a second that the pipes used could do
	Pipe      string  `json:"pipe"`               // whose peak that is: f32, f64, f16 or tensor
	Measured  bool    `json:"measured,omitempty"` // the peaks were measured on the device; else they are ncu's
	PerLaunch float64 `json:"seconds,omitempty"`  // time that the rate is made of
	Declared  bool    `json:"declared,omitempty"` // operations and bytes are those that the user declared
}

// Roof returns the rate that the intensity allows.
func (r *Roofline) Roof() float64 { return math.Min(r.Peak, r.Intensity*r.Bandwidth) }

// Ridge returns the intensity at which the pipes become the limit.
func (r *Roofline) Ridge() float64 { return r.Peak / r.Bandwidth }

// MemoryBound reports whether DRAM limits a kernel of this intensity.
func (r *Roofline) MemoryBound() bool { return r.Intensity < r.Ridge() }

// Percent returns the rate in percent of what the intensity allows.
func (r *Roofline) Percent() float64 { return 100 * r.Rate / r.Roof() }

// roofline makes one of the profile alone, with the peaks that ncu states: the clock of this run, and
// the pipe that did most of the operations. It is nil where something is missing, or where the kernel
// computes nothing that is counted.
func (p *Profile) roofline() *Roofline {
	v, ok := p.all(Flops, DRAMBytes, Duration, DRAMPeak, SMClock)
	if !ok || v[0] <= 0 || v[1] <= 0 || v[2] <= 0 || v[3] <= 0 {
		return nil
	}
	r := &Roofline{Intensity: v[0] / v[1], Rate: v[0] / v[2], Bandwidth: v[3], PerLaunch: v[2]}
	most := 0.0
	for _, pipe := range []struct {
		name        string
		flops, peak Metric
		times       float64
	}{{"f32", FlopsFloat, FloatPeak, 1}, {"f64", FlopsDouble, DoublePeak, 1}, {"f16", FlopsHalf, FloatPeak, 2}, {"tensor", FlopsTensor, TensorPeak, 1}} {
		done, counted := p.Get(pipe.flops)
		peak, known := p.Get(pipe.peak)
		if counted && known && done > most {
			most, r.Pipe, r.Peak = done, pipe.name, pipe.times*peak*v[4]
		}
	}
	if r.Peak <= 0 {
		return nil
	}
	return r
}
