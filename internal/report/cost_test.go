package report

import (
	"math"
	"strings"
	"testing"

	"pawl/internal/result"
)

const costWords = "took 18 s: plan 0.4 s, build 2.2 s, verify 0.9 s, measure 15 s · GPU held for 15 s · cost 0.02 USD"

// Every form that people read has the cost, in the same words.
func TestCostInEveryForm(t *testing.T) {
	r := judged(many(3, func(int) (result.Verdict, float64) { return result.Maintained, 0 }), result.Passed)
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	var verbose, plain strings.Builder
	for _, into := range []struct {
		text    *strings.Builder
		verbose bool
	}{{&verbose, true}, {&plain, false}} {
		if err := Text(into.text, r, TextOptions{Verbose: into.verbose}); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"-v": verbose.String(), "Markdown": Markdown(r), "HTML": string(page)} {
		if !strings.Contains(text, costWords) {
			t.Errorf("%s does not say what the run cost:\n%.3000s", name, text)
		}
	}
	if strings.Contains(plain.String(), "took") {
		t.Errorf("a plain terminal has the cost:\n%s", plain.String())
	}
	if got := Comment(r, CommentOptions{Trust: claim}); !strings.Contains(got, " · 19 s, GPU held for 15 s · cost 0.02 USD · ") {
		t.Errorf("the trust line has no cost:\n%s", got)
	}
	r.Cost = nil // an older report
	if text := Markdown(r) + Comment(r, CommentOptions{}); strings.Contains(text, "cost") || strings.Contains(text, "held") {
		t.Errorf("an older report has a cost:\n%s", text)
	}
}

// A report may claim anything.
func TestCostIsAClaim(t *testing.T) {
	hostile := "@octocat"
	for _, c := range []*result.Cost{
		{WallS: math.NaN(), DeviceS: math.Inf(1)},
		{WallS: -1, DeviceS: -1, Price: &result.Price{Amount: -1, Currency: "USD"}},
		{WallS: 1e300, DeviceS: 1e300, Price: &result.Price{Amount: 1e300, Currency: "USD"}},
		{Price: &result.Price{PerHour: 1, Amount: 1, Currency: hostile}},
		{Price: &result.Price{PerHour: math.NaN(), Amount: 1, Currency: "USD"}},
	} {
		r := &result.Report{Cost: c}
		if got := stagesLine(r) + heldLine(r) + priceLine(r); got != "" {
			t.Errorf("%+v is shown as %q", c, got)
		}
	}
	r := &result.Report{Cost: &result.Cost{WallS: 2, Stages: []result.StageCost{{Name: hostile, Seconds: 1}, {Name: "build", Seconds: math.NaN()}, {Name: "plan", Seconds: 2}, {Name: "judge", Seconds: 0.001}}}}
	for range 1000 {
		r.Cost.Stages = append(r.Cost.Stages, result.StageCost{Name: "more", Seconds: 1})
	}
	if got := stagesLine(r); !strings.HasPrefix(got, "took 2.0 s: plan 2.0 s, more 1.0 s") || len(got) > 200 {
		t.Errorf("shown as %q", got)
	}
}

func TestMoneyAndSeconds(t *testing.T) {
	for amount, want := range map[float64]string{0: "0.00", 0.0013: "0.0013", 0.017: "0.02", 12.345: "12.35", 1234.5: "1234.50"} {
		if got := money(amount); got != want {
			t.Errorf("%v is written %q, want %q", amount, got, want)
		}
	}
	for s, want := range map[float64]string{0.05: "0.05 s", 0.42: "0.4 s", 9.96: "10 s", 59.7: "1m0s", 125: "2m5s"} {
		if got := seconds(s); got != want {
			t.Errorf("%v is written %q, want %q", s, got, want)
		}
	}
}
