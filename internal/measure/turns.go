package measure

import (
	"context"
	"math"
	"slices"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// Side is one of several kernels that are measured against each other, in its own loaded cell.
type Side struct {
	Cell     *worker.Cell
	Instance *spec.Instance
	Symbols  []string // of the launches, in the artifact
	Index    int      // of the side among those in its cell
}

func (s Side) cuda() bool { return s.Instance.Variant.Kernel.Cell == spec.CellCUDA }

// onGPU reports whether the kernel runs on a GPU: for Python only its cell knows.
func (s Side) onGPU() bool { return s.cuda() || s.Cell.OnDevice }

// Sides take turns: every turn is about turnSpan long, so that any disturbance that lasts longer
// than a round affects all sides alike.
const (
	turnSpan    = 20 * time.Millisecond
	turnLeast   = 5 // samples
	roundsLeast = 8
	roundsMany  = 50 // the most samples of a side are to last for this many rounds
)

// Turns measures all sides in short alternating blocks; a single side until its own median is known
// well enough. It returns their timings and, for every side but the first, its time as a multiple
// of the first's; nil where one of the two failed. A side that fails is left out of the later
// rounds; its error is in errs, and its earlier samples are kept.
func Turns(ctx context.Context, sides []Side, opts Options, progress func(Progress)) (timings []*result.Timing, ratios []*result.Ratio, errs []error) {
	all := make([]*series, len(sides))
	errs = make([]error, len(sides))
	for i, side := range sides {
		all[i] = newSeries(side, opts, func(Progress) {})
		all[i].primary, all[i].opts.Keep, all[i].warm = i == 0, opts.Keep && i == 0, opts.Warm
		if len(sides) == 1 {
			all[i].progress = progress
		}
		errs[i] = all[i].begin(ctx)
	}
	unhideAll(all)
	perRound := make([][]float64, len(all))
	if len(all) == 1 {
		if errs[0] == nil {
			errs[0] = at("measure", all[0].sample(ctx))
		}
	} else {
		perRound = alternate(ctx, all, errs, opts, progress)
	}
	for i, s := range all {
		if errs[i] == nil && !opts.Rough {
			errs[i] = at("measure", s.checkClock(ctx))
		}
		timings = append(timings, s.finish(errs[i]))
		if i == 0 && opts.OnKept != nil {
			opts.OnKept(s.draw.kept)
		}
		ratios = append(ratios, nil)
		if errs[0] == nil && errs[i] == nil { // both have played at least one round
			ratios[i] = ratioOf(perRound[i], perRound[0])
		}
	}
	return timings, ratios[1:], errs
}

// alternate runs the rounds and returns every side's median of every round that it finished. A side
// that has not failed goes on without the others, even without the first: a rival's time is worth
// knowing for itself.
func alternate(ctx context.Context, all []*series, errs []error, opts Options, progress func(Progress)) [][]float64 {
	perRound := make([][]float64, len(all))
	budget := opts.Budget * time.Duration(len(all))
	most := mostOfTurn(opts.MaxSamples)
	start := time.Now()
	for round := 0; ; round++ {
		for _, i := range turnOrder(len(all), round) {
			if s := all[i]; errs[i] == nil && s.left() > 0 {
				before := len(s.samples.Seconds)
				if errs[i] = at("measure", s.turn(ctx, most)); errs[i] == nil {
					perRound[i] = append(perRound[i], stat.Median(s.samples.Seconds[before:]))
				}
			}
		}
		lead := slices.IndexFunc(errs, func(err error) bool { return err == nil })
		if lead < 0 {
			return perRound
		}
		kept, width := all[lead].samples.Kept(), widest(all, errs, perRound, lead)
		told := Progress{Samples: len(kept)}
		if lead == 0 { // a rival's median is not the row's
			told.Median, told.HalfWidth = stat.Median(perRound[0]), width
		}
		progress(told)
		sampled := opts.Sustain || len(kept) >= opts.MinSamples
		enough := sampled && round+1 >= roundsLeast
		switch {
		case enough && width <= opts.HalfWidth:
			stop(all, errs, "width")
			return perRound
		case sampled && anyFull(all, errs):
			stop(all, errs, "samples")
			return perRound
		case enough && time.Since(start) >= budget:
			stop(all, errs, "budget")
			return perRound
		}
	}
}

// widest returns the half-width of the least certain value: of the ratios to the lead, or of the
// lead's own median where no other side is left.
func widest(all []*series, errs []error, perRound [][]float64, lead int) float64 {
	width, alone := 0.0, true
	for i := lead + 1; i < len(all); i++ {
		if errs[i] == nil {
			width, alone = max(width, ratioOf(perRound[i], perRound[lead]).HalfWidth()), false
		}
	}
	if alone {
		return stat.HalfWidth(all[lead].samples.Kept())
	}
	return width
}

// stop records why sampling ended, for sides that had not ended early.
func stop(all []*series, errs []error, why string) {
	for i, s := range all {
		if errs[i] == nil {
			s.noted.Stopped = why
		}
	}
}

// turn takes one side's part of a round: at most this many samples.
func (s *series) turn(ctx context.Context, most int) error {
	if s.opts.Sustain {
		return s.stretch(ctx)
	}
	return s.batch(ctx, min(s.fitting(turnSpan, turnLeast), most, s.left()))
}

// left returns how many samples a side may still take.
func (s *series) left() int {
	most := s.opts.MaxSamples
	if s.opts.Sustain {
		most = max(most, stretchLeast)
	}
	return most - len(s.samples.Kept())
}

// anyFull reports whether a side that has not failed may take no more samples: it can no longer be
// compared.
func anyFull(all []*series, errs []error) bool {
	for i, s := range all {
		if errs[i] == nil && s.left() <= 0 {
			return true
		}
	}
	return false
}

// mostOfTurn spreads the samples that a side may take over many rounds, or over few where turns
// would become too short.
func mostOfTurn(samples int) int {
	return max(1, min(samples/roundsLeast, max(turnLeast, samples/roundsMany)))
}

// turnOrder lets every side go first, last and in between equally often: it
// rotates by one every other round, and every second round is reversed.
func turnOrder(n, round int) []int {
	order := rotated(n, round/2)
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

// rotated returns the numbers below n in order, beginning with first.
func rotated(n, first int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = (first + i) % n
	}
	return order
}

// ratioOf compares two sides by the rounds that both have finished, at least one.
func ratioOf(side, first []float64) *result.Ratio {
	each := make([]float64, min(len(side), len(first)))
	for i := range each {
		each[i] = side[i] / first[i]
	}
	low, high, _ := stat.MedianCI(each)
	return &result.Ratio{Median: stat.Median(each), Low: low, High: high, Rounds: len(each)}
}

// A stretch is a series of launches back to back, long enough for a power-limited GPU to settle at
// the clock it can sustain under this kernel. Its beginning still runs at the clock, and at the
// temperature, of the work before: it is not counted.
const (
	stretchSpan  = 100 * time.Millisecond
	stretchRamp  = 30 * time.Millisecond
	stretchLeast = 8 // stretches, whatever the budget says
)

// stretch adds one sample: the time of a launch among many.
func (s *series) stretch(ctx context.Context) error {
	for _, arg := range s.Instance.Args {
		if arg.Buffer && arg.Role == spec.RoleInOut {
			return &result.Fault{
				Cause: result.CauseUnsupported, Message: "sustained launches do not restore what they change, but argument " + arg.Name + " has role: inout",
				Hint: "measure it without --sustain",
			}
		}
	}
	each := s.samples.Seconds[len(s.samples.Seconds)-1]
	for _, span := range []time.Duration{stretchRamp, stretchSpan} {
		launches := int64(max(1, math.Ceil(span.Seconds()/each)))
		began := time.Now()
		reply, err := s.Cell.Run(ctx, wire.Run{
			Side: s.Index, Launches: launches, DeadlineS: s.opts.Timeout.Seconds() + 10*span.Seconds(),
			State: span == stretchSpan, // reading the state before it would let the device rest
		})
		if err != nil {
			return err
		}
		if each = reply.CellS / float64(launches); span == stretchRamp {
			continue
		}
		s.add([]float64{each}, []float64{reply.GHz})
		s.perItem = time.Since(began).Seconds()
		s.note(reply.State)
	}
	return nil
}
