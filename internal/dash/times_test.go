package dash

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pawl/internal/history"
	"pawl/internal/store"
	"pawl/internal/trend"
)

// A jump of the times is the machine's where duets or the reference kernel say so, and the kernel's otherwise.
func TestMachineOrKernel(t *testing.T) {
	const jump, noise = 1.3, 0.002
	made := func(index, median float64) []place {
		line := make([]place, 40)
		for i := range line {
			run := fmt.Sprintf("run%d", i)
			level := func(after float64) *trend.Estimate {
				v := 1 + noise*float64(i%3-1)
				if i >= 20 {
					v *= after
				}
				return &trend.Estimate{Value: v, Low: v - noise, High: v + noise}
			}
			p := place{Place: trend.Place{Commit: run, Median: level(median)}, Points: []history.Point{{Point: store.Point{Run: &store.Run{ID: run}}}}}
			if index > 0 {
				p.Index = level(index)
			}
			line[i] = p
		}
		return line
	}
	twice := func(line []place) []place {
		for i := range line {
			line[i].Points = append(line[i].Points, history.Point{Point: store.Point{Run: &store.Run{ID: "alone" + line[i].Commit}}})
		}
		return line
	}
	for _, c := range []struct {
		name            string
		line, reference []place
		want            trend.Cause
	}{
		{"duets did not move", made(1, jump), nil, trend.Machine},
		{"duets moved likewise", made(jump, jump), nil, trend.Kernel},
		{"the reference moved likewise", made(0, jump), made(0, jump), trend.Machine},
		{"the reference did not move", made(0, jump), made(0, 1), trend.Kernel},
		{"the reference was in one run of two", twice(made(0, jump)), made(0, jump), trend.Machine},
		{"nothing tells", made(0, jump), nil, trend.Unknown},
	} {
		times := timesOf(c.line, c.reference)
		if len(times.Changes) != 1 || times.Changes[0].Cause != c.want || times.Changes[0].At != 20 {
			t.Errorf("%s: %+v", c.name, times.Changes)
			continue
		}
		if rows := timesRows(site{}, c.line, times); len(rows) != 1 || !strings.HasSuffix(rows[0].Address, "run20") || !rows[0].Slower {
			t.Errorf("%s: %+v", c.name, rows)
		}
	}
}

// The page takes a reference of the same device, and refuses one that the history does not have.
func TestReference(t *testing.T) {
	s := serve(t, nil)
	address := "/kernel?name=attention&config=training_2k&reference="
	if page := s.page(address + url.QueryEscape("gemm/square")); !strings.Contains(page, "Where times of separate runs moved") || !strings.Contains(page, `name="reference" value="gemm/square"`) {
		t.Error("the page does not say where times moved")
	}
	if w := s.get(address+"gemm/nothing", nil); w.Code != 404 || !strings.Contains(w.Body.String(), "no such reference") {
		t.Errorf("status %d", w.Code)
	}
	for _, creep := range []string{"Behind the best-known", "how far main is behind the best-known version"} {
		if !strings.Contains(s.page(address), creep) {
			t.Errorf("the page has no %q", creep)
		}
	}
}

// Commits of one day are told apart by the hour.
func TestHoursOfADay(t *testing.T) {
	s := serve(t, nil)
	address := "/kernel?name=attention&config=training_2k"
	var points struct{ Places []apiPlace }
	s.json("/api/v1/points?kernel=attention&config=training_2k", &points)
	if page := s.page(address); strings.Contains(page, ">04:57<") || !strings.Contains(page, ">2026-11-19<") {
		t.Error("a line of many days has hours")
	}
	if page := s.page(address + "&from=" + points.Places[28].Commit[:12]); !strings.Contains(page, ">04:57<") || !strings.Contains(page, ">11:57<") {
		t.Errorf("a line of one day has no hours: %v", points.Places[28].At)
	}
}
