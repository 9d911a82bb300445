package report

import (
	"fmt"
	"strings"
	"time"

	"pawl/internal/pattern"
	"pawl/internal/report/view"
	"pawl/internal/result"
)

// cost says how long the run took and what it cost: on a terminal with -v, and in documents.
func (b *builder) cost() {
	text := strings.Join(present(stagesLine(b.r), heldLine(b.r), priceLine(b.r)), " · ")
	if text == "" {
		return
	}
	b.lines(view.Verbose, view.Quiet, text)
	b.v.Facts = append(b.v.Facts, view.Fact{Name: "cost", Text: text})
	if b.shows(view.Markdown) {
		b.v.Foot = append(b.v.Foot, text)
	}
}

// Figures that are shown lie between these: a report may claim anything.
const (
	leastSeconds = 0.005 // of a stage
	mostSeconds  = 1000 * 3600
	mostMoney    = 1e9
	mostStages   = 12
)

// stagesLine says how long the run took, and each of its stages: "took 19 s: build 2.1 s, measure 16 s".
func stagesLine(r *result.Report) string {
	if r.Cost == nil || !(r.Cost.WallS > 0 && r.Cost.WallS < mostSeconds) {
		return ""
	}
	var stages []string
	for _, s := range r.Cost.Stages[:min(mostStages, len(r.Cost.Stages))] {
		if word.MatchString(s.Name) && s.Seconds >= leastSeconds && s.Seconds < mostSeconds {
			stages = append(stages, s.Name+" "+seconds(s.Seconds))
		}
	}
	return "took " + seconds(r.Cost.WallS) + prefixed(": ", strings.Join(stages, ", "))
}

// heldLine says how long the run held a device; "" where it held none.
func heldLine(r *result.Report) string {
	if r.Cost == nil || !(r.Cost.DeviceS > 0 && r.Cost.DeviceS < mostSeconds) {
		return ""
	}
	device := "the processor"
	if onGPU(r) {
		device = "GPU"
	}
	return device + " held for " + seconds(r.Cost.DeviceS)
}

// priceLine says what the run cost; "" where no price is set.
func priceLine(r *result.Report) string {
	if r.Cost == nil || r.Cost.Price == nil {
		return ""
	}
	p := r.Cost.Price
	usable := func(v float64) bool { return v >= 0 && v < mostMoney }
	if !usable(p.Amount) || !usable(p.PerHour) || !currency.MatchString(p.Currency) {
		return ""
	}
	return "cost " + money(p.Amount) + " " + p.Currency
}

var (
	word     = pattern.New(`^[a-z]{1,16}$`)
	currency = pattern.New(`^[A-Z]{3}$`)
)

// money writes an amount with two decimals, or with two digits where it is less than a hundredth.
func money(amount float64) string {
	if amount > 0 && amount < 0.01 {
		return fmt.Sprintf("%.2g", amount)
	}
	return fmt.Sprintf("%.2f", amount)
}

// seconds writes the time of a stage: "0.05 s", "2.1 s", "16 s", "2m5s".
func seconds(s float64) string {
	switch {
	case s < 0.095:
		return fmt.Sprintf("%.2f s", s)
	case s < 9.95:
		return fmt.Sprintf("%.1f s", s)
	case s < 59.5:
		return fmt.Sprintf("%.0f s", s)
	}
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
