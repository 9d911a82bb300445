package measure

import (
	"cmp"
	"context"
	"math/rand/v2"

	"pawl/internal/result"
	"pawl/internal/stat"
	"pawl/internal/unit"
	"pawl/internal/worker/wire"
)

// steppedData reports whether the data of consecutive samples differs in a few elements only.
func (s *series) steppedData() bool { return !s.cuda() }

// launches reports whether the side is host code that launches by itself, on a GPU.
func (s *series) launches() bool { return s.cuda() && s.Instance.Variant.Kernel.Launcher }

// turnLongest returns how many samples a turn may have. The samples of a launcher never use the
// same copy of the arguments twice, and the next turn has wholly new data: there is nothing that it
// could remember.
func (s *series) turnLongest() int {
	if s.launches() && s.opts.Cache == "cold" && s.sets > 0 {
		return max(1, min(turnMost, s.sets/s.perSample))
	}
	return turnMost
}

const (
	anewOneIn  = 3    // one request in this many has wholly new data: generating it takes time
	anewOften  = 2    // the same for requests of few samples, since slow versions also have few requests
	anewFew    = 4    // requests with fewer samples than this have few
	anewWithin = 4    // the sample on new data is among the first of this many: with fewer samples, work beside the clock shows better
	usualLeast = 3    // turns without new data that are needed to know the usual time
	slowPlace  = 1.25 // places of a turn where samples take longer than this multiple of the usual time are not compared
)

// extras are the parts of a request besides its samples, which nobody can know beforehand.
type extras struct {
	fresh int // the sample that works on data that no launch has seen; 0: none
	batch int // batch of that data; 0: the next one
	pair  int // number of the turns that have it at that place; 0: no other side has it
	probe int // the sample before which a flush is probed; 0: none
}

// drawExtras draws the extras of a request of this many samples.
func (s *series) drawExtras(count int) (x extras) {
	if !s.inMatch {
		return x
	}
	count = s.reached(count)
	oneIn := anewOneIn
	if count < anewFew {
		oneIn = anewOften
	}
	if s.steppedData() && rand.IntN(oneIn) == 0 {
		x.fresh = 1 + rand.IntN(min(count, anewWithin))
	}
	if !s.onGPU() && s.opts.Cache == "cold" && rand.IntN(probeOneIn) == 0 {
		x.probe = 1 + rand.IntN(count)
	}
	return x
}

// reached returns how many of this many samples a request takes before its time is up.
func (s *series) reached(count int) int {
	if s.perItem > 0 {
		count = min(count, 1+int(requestMost/s.perItem))
	}
	return max(1, count)
}

// ask adds extras to a request, at samples that it reaches: the extras may have been drawn for a
// faster version.
func (s *series) ask(m *wire.Sample, x extras) {
	most := s.reached(m.Count)
	if x.fresh > 0 {
		m.Fresh, m.FreshBatch = 1+(x.fresh-1)%most, cmp.Or(x.batch, s.data)
	}
	if x.probe > 0 {
		m.Probe = 1 + (x.probe-1)%most
	}
}

// stage lets a cell generate the wholly new data of the next turn, in a separate request: inside
// the turn's request the time of generating would hide work on the data before the clock starts.
func (s *series) stage(ctx context.Context, x extras) error {
	m := s.wanted(1)
	m.Dry, m.FreshBatch = true, x.batch
	got, err := s.take(ctx, m)
	if err == nil {
		s.staged = got
	}
	return err
}

// align gives all sides the same data from here on, so that a kernel whose time depends on the data
// is compared on equal data. Sides get out of step where one warms up longer, or is too slow for
// all samples of a turn. It reports whether they were out of step.
func align(all []*series) (apart bool) {
	data := 0
	for _, s := range all {
		data = max(data, s.data)
		apart = apart || s.steppedData() && (s.stepping != all[0].stepping || s.steps != all[0].steps)
	}
	for _, s := range all {
		if s.data = data; apart {
			s.data, s.stepping, s.steps = data+1, data+1, 0
		}
	}
	return apart
}

// A span is one turn among a side's samples.
type span struct {
	from, to int
	fresh    bool // one sample is on wholly new data
}

// closeCell sets the usual time of every sample on wholly new data in a cell's turns: the median of
// samples at the same place of turns without such data. The sample's own turn is not used, because
// a kernel that has noticed the new data could be as slow in the samples after it. Warm-up samples
// are in no turn. Places where samples usually take longer, such as the first after a pause, say
// nothing of the gain at the others.
func (s *series) closeCell() {
	samples := &s.samples
	var all []float64
	byPlace := map[int][]float64{}
	for _, turn := range s.turns {
		for i := turn.from; i < turn.to && !turn.fresh; i++ {
			all = append(all, samples.Seconds[i])
			byPlace[i-turn.from] = append(byPlace[i-turn.from], samples.Seconds[i])
		}
	}
	for _, turn := range s.turns {
		for i := range samples.Fresh {
			f := &samples.Fresh[i]
			if same := byPlace[f.At-turn.from]; f.At >= turn.from && f.At < turn.to && len(same) >= usualLeast {
				if usual := stat.Median(same); usual <= slowPlace*stat.Median(all) {
					f.UsualS = usual
				}
			}
		}
	}
	s.turns = nil
}

const (
	probeOneIn = 8   // one request in this many reads flushed memory
	coldShare  = 0.6 // the least share of a cold read's time that a read after a flush may take
	warmReads  = 5   // consecutive warm reads before somebody is blamed
)

// probed records what the read after a flush revealed.
func (s *series) probed(got *wire.SampleReply) error {
	switch {
	case got.ColdS == 0:
		return nil
	case got.FlushedS >= coldShare*got.ColdS:
		s.warmReads = 0
		return nil
	}
	if s.warmReads++; s.warmReads < warmReads {
		return nil
	}
	return result.Faultf(result.CauseForged, "patched-flush: reading flushed arguments takes %s, but %s after they were evicted for certain", unit.Duration(got.FlushedS), unit.Duration(got.ColdS)).
		WithHint("candidate code, which shares the cell's address space, keeps its arguments in the caches")
}
