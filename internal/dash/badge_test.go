package dash

import (
	"testing"

	"pawl/internal/result"
)

// A badge says nothing good of what nobody has judged.
func TestBadgeCountsWhatIsJudged(t *testing.T) {
	type counts = map[result.Verdict]int
	for _, c := range []struct {
		of           counts
		text, colour string
	}{
		{counts{"": 3}, "not judged yet", "measured"},
		{counts{result.New: 2, "": 1}, "not judged yet", "measured"},
		{counts{result.Maintained: 2, result.New: 1, "": 4}, "7 configs, 2 judged, none slower", "faster"},
		{counts{result.Improvement: 1, "": 1}, "2 configs, 1 judged, none slower", "faster"},
		{counts{result.Maintained: 1, result.Unchanged: 1, result.Improvement: 1}, "3 configs, none slower", "faster"},
		{counts{result.Regression: 1, result.Maintained: 5, "": 1}, "1 regression", "slower"},
		{counts{"a verdict of later": 1, result.Maintained: 1}, "2 configs, 1 judged, none slower", "faster"},
	} {
		if text, colour := badgeText(c.of); text != c.text || colour != badgeColours[c.colour] {
			t.Errorf("%v: %q in %s, want %q in %s", c.of, text, colour, c.text, badgeColours[c.colour])
		}
	}
}
