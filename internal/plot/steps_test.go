package plot

import (
	"math"
	"strings"
	"testing"
)

func TestSteps(t *testing.T) {
	s := Linear(1, 3)
	l := Levels{Scale: s, Ticks: s.Ticks(3), Height: 90}
	marks := []Mark{
		{Value: 3, Low: 2.9, High: 3.1, Class: "check", Title: "first <1>"},
		{Value: 2, Low: 2, High: 2, Class: "check"},
		{Value: math.NaN()},
		{Value: 2.5, Low: 0, High: 2.6, Class: "accept"},
		{Value: 1.5, Class: "check"},
	}
	golden(t, "steps", l.Steps(marks, &Mark{Value: 7, Class: "own"}, "a & b"))
	if got := l.Steps(marks[:2], nil, ""); !strings.Contains(got, `d="M250 0H750V50H1000"`) {
		t.Errorf("the last level does not hold until the end: %s", got)
	}
	if got := l.Steps(nil, &Mark{Value: 2}, ""); strings.Contains(got, "stairs") || !strings.Contains(got, `cx="50%"`) {
		t.Errorf("a lone mark: %s", got)
	}
}

func TestStrangeSteps(t *testing.T) {
	const hostile = `"/><script>alert(1)</script><svg title='`
	for _, low := range strange {
		for _, high := range strange {
			for _, s := range []Scale{{}, Linear(low, high), Log(low, high)} {
				l := Levels{Scale: s, Ticks: s.Ticks(4), Height: 90}
				marks := []Mark{{Value: low, Low: low, High: high, Class: hostile, Title: hostile}, {Value: high, Low: high, High: low}}
				for _, got := range []string{l.Steps(marks, &marks[0], hostile), l.Steps(marks, nil, ""), l.Steps(nil, nil, "")} {
					if err := wrong(got); err != nil {
						t.Fatalf("%v to %v: %v", low, high, err)
					}
					if strings.Contains(got, "<script") {
						t.Fatalf("not escaped: %s", got)
					}
				}
			}
		}
	}
}
