package run

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// FirstStage is the stage that every run begins with.
const FirstStage = "plan"

// stage is a part of a run that has begun.
type stage struct {
	name  string
	began time.Time
}

// Stage begins a stage of the run. The stage before it ends.
func (r *Run) Stage(name string) {
	r.mu.Lock()
	r.stages = append(r.stages, stage{name, time.Now()})
	r.mu.Unlock()
	r.Emit(Event{Kind: Stage, Text: name})
}

// Include counts the stages and the devices of a run that is a part of this one.
func (r *Run) Include(part *result.Report) {
	if part == nil || part.Cost == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts.DeviceS += part.Cost.DeviceS
	for _, one := range part.Cost.Stages {
		at := slices.IndexFunc(r.parts.Stages, func(s result.StageCost) bool { return s.Name == one.Name })
		if at < 0 {
			at = len(r.parts.Stages)
			r.parts.Stages = append(r.parts.Stages, result.StageCost{Name: one.Name})
		}
		r.parts.Stages[at].Seconds += one.Seconds
	}
}

// Finish completes the run's report: its outcome, and what the run cost.
func (r *Run) Finish(ctx context.Context, report *result.Report, device time.Duration) {
	Finish(ctx, report)
	report.Cost = r.Cost(report.Finished, device)
}

// Cost returns the time of the run's stages until now, how long workers held a device, and what all of
// it costs.
func (r *Run) Cost(now time.Time, device time.Duration) *result.Cost {
	r.mu.Lock()
	defer r.mu.Unlock()
	cost := &result.Cost{WallS: now.Sub(r.Started).Seconds(), DeviceS: r.parts.DeviceS + device.Seconds()}
	last := stage{FirstStage, r.Started}
	for _, next := range append(r.stages, stage{began: now}) {
		cost.Stages = append(cost.Stages, result.StageCost{Name: last.name, Seconds: next.began.Sub(last.began).Seconds()})
		last = next
	}
	if len(r.parts.Stages) > 0 { // stages of the parts, and what was between them
		cost.Stages = slices.Clone(r.parts.Stages)
		rest := cost.WallS
		for _, one := range cost.Stages {
			rest -= one.Seconds
		}
		cost.Stages[0].Seconds += max(0, rest) // every part begins with the first stage
	}
	if r.Price != nil {
		price := *r.Price
		price.Amount = price.PerHour * cost.WallS / time.Hour.Seconds()
		cost.Price = &price
	}
	return cost
}

// priceOf returns the price that the user has set: PAWL_PRICE_PER_HOUR, else that of pawl.yaml; nil
// where none is.
func priceOf(s *spec.Spec) (*result.Price, error) {
	var ci spec.CI
	if s != nil {
		ci = s.CI
	}
	if text := os.Getenv("PAWL_PRICE_PER_HOUR"); text != "" {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || !spec.ValidPrice(value) {
			return nil, fmt.Errorf("PAWL_PRICE_PER_HOUR=%s: expected a number from 0 to 1,000,000, such as 3.5", text)
		}
		ci.PricePerHour = value
	}
	if ci.PricePerHour == 0 {
		return nil, nil
	}
	return &result.Price{PerHour: ci.PricePerHour, Currency: cmp.Or(ci.Currency, spec.DefaultCurrency)}, nil
}
