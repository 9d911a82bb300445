package trend

import (
	"fmt"
	"math"
	"strconv"

	"pawl/internal/unit"
)

// Words say how large a change is: "+5.1% [+4.6, +5.6]".
func (c *Change) Words() string {
	return fmt.Sprintf("%s [%s, %s]", unit.Percent(c.Size), signed(c.Low), signed(c.High))
}

// Words say how large a change is, and since when: "+5.1% [+4.6, +5.6] since 3fa9c2b".
func (c *LineChange) Words() string { return c.Change.Words() + " since " + Short(c.Commit) }

// Words say how large a change of times is, since when and what did it.
func (c *TimeChange) Words() string {
	return c.Change.Words() + " since " + Short(c.Commit) + ": " + c.CauseWords()
}

// CauseWords say what made times change.
func (c *TimeChange) CauseWords() string {
	switch c.Cause {
	case Kernel:
		return "the kernel"
	case Machine:
		return "the machine, not the kernel"
	case Both:
		if c.Index != nil {
			return "the kernel " + unit.Percent(c.Index.Value) + ", the rest the machine"
		}
		return "the kernel and the machine"
	}
	return "nothing measured beside it tells the machine from the kernel"
}

// IndexWords say where a place is: "0.90 [0.89, 0.91] at 3fa9c2b". 1 is the first best-known version of its stretch.
func IndexWords(p *Place) string {
	text := fmt.Sprintf("%.3f [%.3f, %.3f] at %s", p.Index.Value, p.Index.Low, p.Index.High, Short(p.Commit))
	if p.Stretch > 0 {
		text += ", of what came after the last gap that nothing bridges"
	}
	return text
}

// DebtWords say how far a place is behind the best-known version; empty where that is not known.
func (p *Place) DebtWords() string {
	if p.Debt == nil {
		return ""
	}
	d := Change{Size: p.Debt.Value - 1, Low: p.Debt.Low - 1, High: p.Debt.High - 1}
	switch {
	case d.Low > 0:
		return d.Words() + " behind the best-known"
	case d.High < 0:
		return d.Words() + " ahead of the best-known"
	}
	return "level with the best-known: " + d.Words()
}

// Short shortens a commit's hash; other names stay as they are.
func Short(commit string) string {
	const digits = 7
	if len(commit) != 40 && len(commit) != 64 {
		return commit
	}
	for _, c := range commit {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return commit
		}
	}
	return commit[:digits]
}

// signed writes a fraction as a percentage without its unit.
func signed(fraction float64) string {
	text := strconv.FormatFloat(math.Abs(100*fraction), 'f', 1, 64)
	switch {
	case text == "0.0":
		return text
	case fraction < 0:
		return "−" + text
	}
	return "+" + text
}
