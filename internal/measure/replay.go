package measure

import (
	"fmt"
	"slices"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// newRecord begins the report's record of a cell whose sides are warm.
func (m *Match) newRecord(set int) result.PlayCell {
	c := result.PlayCell{Set: set}
	for _, s := range m.series {
		c.From = append(c.From, len(s.samples.Seconds))
	}
	return c
}

// keepRound adds one order of turns to the record of a cell.
func keepRound(c *result.PlayCell, turns []turn, shared bool) {
	c.Rounds++
	if shared {
		return
	}
	for _, t := range turns {
		c.Turns, c.Data = append(c.Turns, len(t.Seconds)), append(c.Data, t.on(0))
	}
}

// Record returns the report's record of a match: which samples its changes were computed from. It is
// nil before a cell was played. roles names the sides; the candidate's is empty.
func (m *Match) Record(roles []result.Role, floor float64) *result.Play {
	if len(m.Cells) == 0 {
		return nil
	}
	p := &result.Play{Sides: roles[1:], Shared: m.shared, Floor: floor}
	for i, c := range m.records {
		if c.First = roles[m.Cells[i].First]; !slices.ContainsFunc(c.Data, func(batch int) bool { return batch != 0 }) {
			c.Data = nil
		}
		p.Cells = append(p.Cells, c)
	}
	return p
}

// Replayed is what a row's record and its samples give.
type Replayed struct {
	Changes  map[result.Role]*result.Change // of the row against each side
	Compared map[result.Role]int            // samples that were compared, of the row ("") and each side
}

// Replay computes a row's changes again from its record and the samples of its sides. An interval
// whose half-width is at most exact, in log-ratio, counts as exact. The error says what is impossible
// about the record.
func Replay(row *result.Row, exact float64) (*Replayed, error) {
	p := row.Play
	roles := append([]result.Role{""}, p.Sides...)
	samples := make([]result.Samples, len(roles))
	for i, role := range roles {
		of := row
		if i > 0 {
			at := slices.IndexFunc(row.Sides, func(s *result.Side) bool { return s.Role == role })
			if at < 0 || slices.Contains(roles[:i], role) {
				return nil, fmt.Errorf("side %d of the record (%s) is not a side of the row, or is there twice", i, role)
			}
			of = row.Sides[at].Row
		}
		if of == nil || of.Timing == nil {
			return nil, fmt.Errorf("side %d of the record has no samples", i)
		}
		samples[i] = of.Timing.Samples
	}
	if len(roles) == 1 || len(p.Cells) == 0 {
		return nil, fmt.Errorf("the record has %d sides and %d cells", len(p.Sides), len(p.Cells))
	}
	out := &Replayed{map[result.Role]*result.Change{}, map[result.Role]int{}}
	var cells []MatchCell
	ends := make([]int, len(roles)) // samples of each side that earlier cells have used
	means := 0
	for i, c := range p.Cells {
		blocks := min(c.Rounds, sharedMost) * len(roles)
		if means += blocks * blocks / 2 * len(p.Sides); p.Shared && means > meansMost {
			return nil, fmt.Errorf("the record has %d cells, too many to be computed again", len(p.Cells))
		}
		cell, err := replayCell(c, p.Shared, roles, samples, ends)
		if err != nil {
			return nil, fmt.Errorf("cell %d: %w", i, err)
		}
		cells = append(cells, *cell)
		for side, role := range roles {
			out.Compared[role] += ends[side] - c.From[side]
		}
	}
	for side := 1; side < len(roles); side++ {
		if slices.ContainsFunc(cells, func(c MatchCell) bool { return len(c.Logs[side]) == 0 }) {
			return nil, fmt.Errorf("a cell has no pair of samples of the row and %s on the same data", roles[side])
		}
		d := duel{side, samples[0], samples[side], row.Cell == spec.CellCUDA, exact}
		out.Changes[roles[side]] = d.change(cells, roles, p.Floor)
	}
	return out, nil
}

// Bounds on what a record may ask for: more rounds than any cell plays, and more means of two blocks
// than hundreds of the largest cells have.
const (
	roundsMost = 2 * visitBlocks * longestBlock
	sharedMost = visitBlocks/2 + longestBlock
	meansMost  = 1 << 24
)

// replayCell takes the samples of one cell's turns again, and moves ends behind them.
func replayCell(c result.PlayCell, shared bool, roles []result.Role, samples []result.Samples, ends []int) (*MatchCell, error) {
	order := turnsOf(len(roles))
	first := slices.Index(roles, c.First)
	turnsWanted, most := c.Rounds*len(order), roundsMost
	if shared {
		turnsWanted, most = 0, sharedMost
	}
	switch {
	case first < 0:
		return nil, fmt.Errorf("%q was loaded first, but is no side", c.First)
	case c.Set != 0 && c.Set != 1:
		return nil, fmt.Errorf("expected set 0 or 1, got %d", c.Set)
	case len(c.From) != len(roles):
		return nil, fmt.Errorf("expected the first samples of %d sides, got %d", len(roles), len(c.From))
	case c.Rounds < 1 || c.Rounds > most:
		return nil, fmt.Errorf("expected 1 to %d rounds, got %d", most, c.Rounds)
	case len(c.Turns) != turnsWanted || len(c.Data) != 0 && len(c.Data) != len(c.Turns):
		return nil, fmt.Errorf("expected %d turns, got %d, and data of %d", turnsWanted, len(c.Turns), len(c.Data))
	}
	for i, from := range c.From {
		if from < ends[i] || from > len(samples[i].Seconds) {
			return nil, fmt.Errorf("the turns of side %d begin at sample %d; expected %d to %d", i, from, ends[i], len(samples[i].Seconds))
		}
		ends[i] = from
	}
	cell := newMatchCell(c.Set, first, len(roles))
	for round := range c.Rounds {
		var turns []turn
		for k, side := range order {
			count, at := 1, round*len(order)+k
			if !shared {
				count = c.Turns[at]
			}
			from := ends[side]
			if count < 1 || count > turnMost || from+count > len(samples[side].Seconds) {
				return nil, fmt.Errorf("turn %d takes %d samples of side %d from %d on, which has %d; expected 1 to %d", at, count, side, from, len(samples[side].Seconds), turnMost)
			}
			ends[side] += count
			t := turn{side: side, Samples: part(samples[side], from, count)}
			if !shared {
				t.data = dataOf(c, at, samples[side].Fresh, from, count)
			}
			turns = append(turns, t)
		}
		cell.add(turns, shared)
	}
	cell.finish()
	return cell, nil
}

// part returns some of a side's samples, without copying them.
func part(s result.Samples, from, count int) result.Samples {
	out := result.Samples{Seconds: s.Seconds[from : from+count]}
	if len(s.GHz) == len(s.Seconds) {
		out.GHz = s.GHz[from : from+count]
	}
	return out
}

// dataOf returns the batch of every sample of a turn: the one that it begins with, until a sample is
// on new data.
func dataOf(c result.PlayCell, turn int, fresh []result.Fresh, from, count int) []int {
	data := make([]int, count)
	if len(c.Data) > 0 {
		for i := range data {
			data[i] = c.Data[turn]
		}
	}
	at, _ := slices.BinarySearchFunc(fresh, from, func(f result.Fresh, sample int) int { return f.At - sample })
	if at < len(fresh) && fresh[at].At < from+count {
		for i := fresh[at].At - from; i < count; i++ {
			data[i] = fresh[at].Batch
		}
	}
	return data
}

// LastSet returns the timing of a row in the last set of cells alone, as Remeasured does where the
// match is known; nil: the row has no record.
func LastSet(row *result.Row) *result.Timing {
	if row.Play == nil || len(row.Play.Cells) == 0 || row.Timing == nil {
		return nil
	}
	first, last := 0, 0
	for i, c := range row.Play.Cells {
		if len(c.From) == 0 {
			return nil
		}
		if i == 0 || c.Set != last {
			first, last = c.From[0], c.Set
		}
	}
	if last == 0 {
		first = 0
	}
	t := *row.Timing
	t.Samples.Dropped = slices.DeleteFunc(slices.Clone(t.Samples.Dropped), func(d result.Drop) bool { return d.From < first })
	if first > 0 {
		t.Samples.Dropped = slices.Insert(t.Samples.Dropped, 0, result.Drop{From: 0, To: first, Cause: "first set"})
	}
	if len(t.Samples.Kept()) == 0 {
		return nil
	}
	work := t.Stats
	t.Stats = StatsOf(t.Samples)
	t.Stats.GFLOPS, t.Stats.GBps = work.GFLOPS*work.Median/t.Stats.Median, work.GBps*work.Median/t.Stats.Median
	return &t
}
