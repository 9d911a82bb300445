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
	text := c.Change.Words() + " since " + Short(c.Commit)
	switch c.Cause {
	case Kernel:
		return text + ": the kernel"
	case Machine:
		return text + ": the machine, not the kernel"
	case Both:
		if c.Index != nil {
			return text + ": " + unit.Percent(c.Index.Value) + " of it the kernel, the rest the machine"
		}
		return text + ": the kernel and the machine"
	}
	return text + ": nothing was measured beside it that tells the machine from the kernel"
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
