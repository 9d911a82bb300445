package run

import (
	"math"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
)

func TestCost(t *testing.T) {
	began := time.Now().Add(-10 * time.Second)
	r := Quiet(began, nil)
	r.Price = &result.Price{PerHour: 7.2, Currency: "EUR"}
	r.stages = []stage{{"build", began.Add(time.Second)}, {"measure", began.Add(4 * time.Second)}}
	got := r.Cost(began.Add(10*time.Second), 5*time.Second)
	want := []result.StageCost{{Name: "plan", Seconds: 1}, {Name: "build", Seconds: 3}, {Name: "measure", Seconds: 6}}
	if len(got.Stages) != len(want) || got.WallS != 10 || got.DeviceS != 5 || got.Price == nil || got.Price.Currency != "EUR" {
		t.Fatalf("%+v", got)
	}
	for i, one := range want {
		if got.Stages[i] != one {
			t.Errorf("stage %d: %+v, want %+v", i, got.Stages[i], one)
		}
	}
	if math.Abs(got.Price.Amount-0.02) > 1e-12 || r.Price.Amount != 0 {
		t.Errorf("10 s at 7.2 per hour are %v; the price that was set is now %+v", got.Price.Amount, r.Price)
	}
}

// A run that is made of others has their stages, added up, and their devices.
func TestCostOfParts(t *testing.T) {
	began := time.Now().Add(-10 * time.Second)
	r := Quiet(began, nil)
	for range 2 {
		r.Include(&result.Report{Cost: &result.Cost{WallS: 4, DeviceS: 1.5, Stages: []result.StageCost{{Name: "plan", Seconds: 1}, {Name: "measure", Seconds: 3}}}})
	}
	r.Include(&result.Report{}) // of an older pawl
	r.Include(nil)
	got := r.Cost(began.Add(10*time.Second), 0)
	if len(got.Stages) != 2 || got.DeviceS != 3 || got.Stages[0].Seconds != 4 || got.Stages[1].Seconds != 6 || got.Price != nil {
		t.Errorf("%+v", got)
	}
}

// Stages that a run begins are in its report, and together they are its time.
func TestStages(t *testing.T) {
	var told []string
	r := Quiet(time.Now(), func(e Event) { told = append(told, string(e.Kind)+" "+e.Text) })
	report := r.NewReport(t.Context(), result.Method{})
	r.Stage("build")
	r.Stage("measure")
	r.Finish(t.Context(), report, time.Second)
	sum, names := 0.0, ""
	for _, s := range report.Cost.Stages {
		sum, names = sum+s.Seconds, names+" "+s.Name
	}
	if names != " plan build measure" || math.Abs(sum-report.Cost.WallS) > 1e-6 || report.Cost.DeviceS != 1 || report.Outcome == nil {
		t.Errorf("%+v", report.Cost)
	}
	if strings.Join(told, ", ") != "stage build, stage measure" {
		t.Errorf("told %q", told)
	}
}

func TestPrice(t *testing.T) {
	project := &spec.Spec{CI: spec.CI{PricePerHour: 3.5, Currency: "EUR"}}
	for _, test := range []struct {
		set  string
		spec *spec.Spec
		want *result.Price
		fail bool
	}{
		{"", nil, nil, false},
		{"", &spec.Spec{}, nil, false},
		{"", project, &result.Price{PerHour: 3.5, Currency: "EUR"}, false},
		{"2", project, &result.Price{PerHour: 2, Currency: "EUR"}, false},
		{"2", &spec.Spec{}, &result.Price{PerHour: 2, Currency: "USD"}, false},
		{"2", nil, &result.Price{PerHour: 2, Currency: "USD"}, false},
		{"0", project, nil, false},
		{"-1", project, nil, true},
		{"NaN", project, nil, true},
		{"1e7", nil, nil, true},
		{"a lot", nil, nil, true},
	} {
		t.Setenv("PAWL_PRICE_PER_HOUR", test.set)
		got, err := priceOf(test.spec)
		if (err != nil) != test.fail || (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
			t.Errorf("%q: %+v, %v; want %+v", test.set, got, err, test.want)
		}
	}
}
