package baseline

import (
	"strings"
	"testing"

	"pawl/internal/ratchet"
	"pawl/internal/result"
)

// What accept says must not contradict itself: the stored time is of another day, and
// a version that only got another commit took no other time.
func TestAcceptedSaysWhatItReplaces(t *testing.T) {
	old, now := strings.Repeat("a", 40), strings.Repeat("b", 40)
	from := &ratchet.From{MedianMS: 0.25, Commit: old}
	slower := &ratchet.Change{Median: 0.543, Low: 0.54, High: 0.55}
	played := func(median float64) *result.Side {
		return &result.Side{Row: &result.Row{Timing: &result.Timing{Stats: result.Stats{Count: 9, Median: median}}}}
	}
	for _, test := range []struct {
		move     ratchet.Move
		opponent *result.Side
		want     string
	}{
		{ratchet.Move{By: ratchet.ByAccept, MedianMS: 0.146}, nil, "146 µs, the first of its kind"},
		{ratchet.Move{By: ratchet.ByAccept, MedianMS: 0.146, From: from}, nil, "250 → 146 µs, not measured against each other"},
		{ratchet.Move{By: ratchet.ByAnchor, MedianMS: 0.25, From: from}, nil, "bound to commit bbbbbbb instead of aaaaaaa; its time stays 250 µs"},
		{ratchet.Move{By: ratchet.ByAccept, MedianMS: 0.146, From: from, Change: slower}, played(94.6e-6), "+54.3% [+54.0%, +55.0%] against commit aaaaaaa, 94.6 → 146 µs"},
		{ratchet.Move{By: ratchet.ByAccept, MedianMS: 0.146, From: from, Change: slower}, &result.Side{}, "+54.3% [+54.0%, +55.0%] against commit aaaaaaa, 146 µs"},
	} {
		test.move.Commit = now
		if got := (Accepted{&ratchet.Entry{Moves: []ratchet.Move{test.move}}, test.opponent}).String(); got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
	}
}
