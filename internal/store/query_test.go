package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pawl/internal/result"
)

func TestRowsAndFilters(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		var reports []*result.Report
		for n := range 10 {
			r := made(n, 20)
			switch n {
			case 3:
				r.Origin = &result.Origin{Branch: "faster", Pull: 12}
			case 4:
				r.Commit.Dirty = true
			case 5:
				r.Kind, r.DeviceClass, r.Rows[0].Class, r.Rows[1].Class = result.KindBench, "host-x", "", ""
			case 6:
				r.Rows[1].Verdict, r.Outcome.Result = result.Regression, result.Failed
				r.Rows[1].Moved = &result.Moved{Done: true}
				r.Rows[1].Sides[0].Known = "0123456789"
			case 7:
				r.Rows = r.Rows[:1]
				r.Rows[0].Timing, r.Rows[0].Sides, r.Rows[0].Fault = nil, nil, &result.Fault{Cause: result.CauseCrash}
			case 8:
				r.Origin = &result.Origin{Fork: true}
			}
			reports = append(reports, r)
		}
		add(t, db, reports...)
		ids := func(f Filter) (list []int) {
			t.Helper()
			runs, err := db.Runs(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, run := range runs {
				list = append(list, slices.IndexFunc(reports, func(r *result.Report) bool { return r.ID == run.ID }))
			}
			return list
		}
		for _, c := range []struct {
			name string
			f    Filter
			want []int
		}{
			{"all", Filter{}, []int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
			{"limit", Filter{Limit: 2}, []int{9, 8}},
			{"next page", Filter{Limit: 2, Before: reports[8].ID}, []int{7, 6}},
			{"kind", Filter{Kinds: []result.Kind{result.KindBench}}, []int{5}},
			{"kinds", Filter{Kinds: []result.Kind{result.KindBench, result.KindTune}}, []int{5}},
			{"class", Filter{Class: "host-x"}, []int{5}},
			{"no class", Filter{Class: "host-y"}, nil},
			{"pull", Filter{Pull: 12}, []int{3}},
			{"pulls", Filter{Scope: Pulls}, []int{8, 3}},
			{"private", Filter{Scope: Private}, []int{4}},
			{"main", Filter{Scope: Main}, []int{9, 7, 6, 5, 2, 1, 0}},
			{"branch", Filter{Branch: "faster"}, []int{3}},
			{"commit", Filter{Commit: reports[2].Commit.SHA[:7]}, []int{2}},
			{"whole commit", Filter{Commit: reports[2].Commit.SHA}, []int{2}},
			{"no commit", Filter{Commit: "xyz"}, nil},
			{"outcome", Filter{Outcome: result.Failed}, []int{6}},
			{"verdict", Filter{Verdict: result.Regression}, []int{6}},
			{"verdict nobody has", Filter{Verdict: result.Rejected}, nil},
			{"config", Filter{Config: "infer*", Since: reports[6].Started}, []int{9, 8, 6}},
			{"kernel", Filter{Kernel: "gemm"}, nil},
			{"until", Filter{Until: reports[2].Started}, []int{1, 0}},
		} {
			if got := ids(c.f); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, expected %v", c.name, got, c.want)
			}
		}
		run, rows, err := db.Run(t.Context(), reports[6].ID)
		if err != nil {
			t.Fatal(err)
		}
		wantRun := &Run{
			ID: reports[6].ID, Kind: result.KindCheck, Started: reports[6].Started, Finished: reports[6].Finished, Commit: reports[6].Commit.SHA, Base: reports[6].Base.SHA,
			Branch: "main", Class: "nvidia-h200", Machine: machineOf(&reports[6].Machine), Outcome: result.Failed, Tool: "0.1.0", Rows: 2,
		}
		if diff := cmp.Diff(wantRun, run, cmpopts.IgnoreUnexported(Run{})); diff != "" {
			t.Error(diff)
		}
		change := reports[6].Rows[1].Sides[0].Change
		stats := reports[6].Rows[1].Timing.Stats
		want := &Row{
			Kernel: "attention", Config: "inference_4k", Class: "nvidia-h200", N: 1, Verdict: result.Regression, MedianS: stats.Median, LowS: stats.Low, HighS: stats.High,
			Samples: 20, RoofPct: 61.5, Base: &Change{reports[6].Base.SHA, change.Median, change.Low, change.High}, Best: &Change{"0123456789", change.Median, change.Low, change.High},
			Identity: reports[6].Rows[1].Identity, Moved: true,
		}
		if len(rows) != 2 || !reflect.DeepEqual(rows[1], want) {
			t.Error(cmp.Diff(want, rows[1]))
		}
		if _, rows, _ := db.Run(t.Context(), reports[7].ID); len(rows) != 1 || rows[0].Fault != result.CauseCrash || rows[0].MedianS != 0 || rows[0].Base != nil {
			t.Errorf("%+v", rows)
		}
	})
}

func TestPoints(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		for n := range 12 {
			r := made(n, 10)
			if n%3 == 0 {
				r.Origin.Pull = 7
			}
			add(t, db, r)
		}
		points, err := db.Points(t.Context(), Filter{Kernel: "attention", Config: "training_512"})
		if err != nil || len(points) != 12 {
			t.Fatalf("%d points, %v", len(points), err)
		}
		if !slices.IsSortedFunc(points, func(a, b Point) int { return a.Run.Started.Compare(b.Run.Started) }) {
			t.Error("not in the order of time")
		}
		points, err = db.Points(t.Context(), Filter{Config: "training_512", Scope: Main, Limit: 3})
		if err != nil || len(points) != 3 || points[2].Run.ID != made(11, 1).ID || points[0].Run.ID != made(8, 1).ID {
			t.Errorf("%d points, %v", len(points), err)
		}
		points, err = db.Latest(t.Context(), Filter{Scope: Main}, 3)
		if err != nil || len(points) != 6 {
			t.Fatalf("%d points, %v", len(points), err)
		}
		for i, want := range []int{8, 10, 11, 8, 10, 11} {
			if points[i].Run.ID != made(want, 1).ID || points[i].Config != points[i/3*3].Config {
				t.Errorf("%d: %s %s", i, points[i].Config, points[i].Run.ID)
			}
		}
		if points, err := db.Latest(t.Context(), Filter{Scope: Main}, 100); err != nil || len(points) != 16 {
			t.Errorf("%d points, %v", len(points), err)
		}
		if points, err := db.Points(t.Context(), Filter{Kernel: "other"}); err != nil || len(points) != 0 {
			t.Errorf("%d points, %v", len(points), err)
		}
		series, err := db.Series(t.Context(), Filter{Config: "*_512"})
		if err != nil || len(series) != 1 || series[0].Kernel != "attention" {
			t.Errorf("%v, %v", series, err)
		}
	})
}

func TestFind(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		if _, err := db.Find(t.Context(), "latest"); !errors.Is(err, ErrNoRun) {
			t.Error(err)
		}
		for n := range 3 {
			add(t, db, made(n, 1))
		}
		for text, want := range map[string]string{"latest": made(2, 1).ID, made(1, 1).ID: made(1, 1).ID, "0001": made(1, 1).ID, "20260101T0002": made(2, 1).ID} {
			if got, err := db.Find(t.Context(), text); err != nil || got != want {
				t.Errorf("%s: %s, %v", text, got, err)
			}
		}
		if _, err := db.Find(t.Context(), "2026"); err == nil || !strings.Contains(err.Error(), "several runs") {
			t.Error(err)
		}
		if _, err := db.Find(t.Context(), "%"); !errors.Is(err, ErrNoRun) {
			t.Error(err)
		}
	})
}

// What a filter says of runs holds for their points, too.
func TestPointsOfRuns(t *testing.T) {
	sha256 := strings.Repeat("0123456789abcdef", 4) // repositories may have these
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		for n := range 4 {
			r := made(n, 10)
			if n == 1 {
				r.Origin = &result.Origin{Branch: "side", Pull: 5}
				r.Outcome.Result = result.Failed
				r.Commit.SHA = sha256
			}
			add(t, db, r)
		}
		for name, f := range map[string]Filter{
			"commit": {Commit: sha256}, "beginning of a commit": {Commit: sha256[:9]}, "branch": {Branch: "side"}, "pull": {Pull: 5}, "outcome": {Outcome: result.Failed}, "scope": {Scope: Pulls},
			"time": {Since: made(1, 1).Started, Until: made(2, 1).Started},
		} {
			points, err := db.Points(t.Context(), f)
			if err != nil || len(points) != 2 || points[0].Run.ID != made(1, 1).ID || points[0].Run.Commit != sha256 {
				t.Errorf("%s: %d points, %v", name, len(points), err)
			}
			if latest, err := db.Latest(t.Context(), f, 0); err != nil || len(latest) != 2 || latest[0].Run.ID != made(1, 1).ID {
				t.Errorf("%s: %d latest points, %v", name, len(latest), err)
			}
		}
		if latest, err := db.Latest(t.Context(), Filter{}, 1); err != nil || len(latest) != 2 || latest[0].Run.ID != made(3, 1).ID {
			t.Errorf("%d latest points, %v", len(latest), err)
		}
		if points, err := db.Points(t.Context(), Filter{Kinds: []result.Kind{"none"}}); err != nil || len(points) != 0 {
			t.Errorf("%d points, %v", len(points), err)
		}
		if name := (&Row{Kernel: "k", Config: "c"}).Name(); name != "k/c" || (&Row{Kernel: "k"}).Name() != "k" {
			t.Error(name)
		}
	})
}

// Names that no database takes, and no screen, are stored all the same.
func TestHostileNames(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		for i, name := range []string{"nul\x00byte", "bad\xff\xfeutf", strings.Repeat("long", 1000), `'); DROP TABLE runs; --`, "$1", "%s\x1b[2J", "\u202egnp.exe"} {
			r := made(i, 9)
			r.Rows[0].Kernel, r.Rows[0].Config, r.Rows[0].Class, r.DeviceClass, r.Tool.Version, r.Origin.Branch, r.Rows[0].Identity, r.Commit.SHA = name, name, name, name, name, name, name, name
			add(t, db, r)
			run, rows, err := db.Run(t.Context(), r.ID)
			if err != nil || len(rows) != 2 || rows[0].Kernel == "" || run.Branch != rows[0].Kernel || run.Commit != rows[0].Kernel || len(rows[0].Kernel) > maxName {
				t.Errorf("%.20q: %+v, %v", name, run, err)
			}
			if _, err := db.Report(t.Context(), r.ID); err != nil {
				t.Error(err)
			}
			if points, err := db.Points(t.Context(), Filter{Class: name}); err != nil || len(points) != 1 {
				t.Errorf("%.20q: %d points, %v", name, len(points), err)
			}
		}
		for _, id := range []string{"", "../../etc/passwd", "a b", "x\x00", strings.Repeat("x", 200), "-rf"} {
			r := made(1, 1)
			r.ID = id
			if _, err := db.Add(t.Context(), Entry{Report: r}); err == nil || !strings.Contains(err.Error(), "its ID is") {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}

// Whoever opens a history finds by name what others have stored; long names that begin alike are different ones.
func TestFreshNames(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		long := strings.Repeat("long", 1000)
		for n, name := range []string{long + "a", long + "b"} {
			r := made(n, 9)
			r.Origin.Branch, r.Rows[0].Kernel = name, name
			add(t, db, r)
		}
		for n, name := range []string{long + "a", long + "b"} {
			fresh := opened(t, place)
			runs, err := fresh.Runs(t.Context(), Filter{Branch: name})
			if err != nil || len(runs) != 1 || runs[0].ID != made(n, 1).ID {
				t.Errorf("branch %d: %d runs, %v", n, len(runs), err)
			}
		}
		if series, err := db.Series(t.Context(), Filter{}); err != nil || len(series) != 3 {
			t.Errorf("%d series, %v; expected one of each name and the one that both have", len(series), err)
		}
	})
}

// Histories have the names that were too long as this makes them: another way would not find them again.
func TestLongNamesStay(t *testing.T) {
	long := strings.Repeat("x", maxName)
	if got := bounded(long); got != long {
		t.Errorf("%s", got)
	}
	if got, want := bounded(long+"y"), long[:maxName-20]+"…f31db0de4b1c14bc"; got != want {
		t.Errorf("%s, want %s", got[maxName-30:], want[maxName-30:])
	}
}

// What a page asks for is found by an index: none of its queries reads all runs or all points. Only those of a commit
// read all runs: an index of commits takes 1.5 MB of 100,000 runs.
func TestPlans(t *testing.T) {
	db := opened(t, Place{File: filepath.Join(t.TempDir(), "history.db")})
	for n := range 20 {
		add(t, db, made(n, 5))
	}
	var asked []string
	rewrite := db.dialect.rewrite
	db.dialect.rewrite = func(query string) string {
		asked = append(asked, rewrite(query))
		return rewrite(query)
	}
	one := Filter{Kernel: "attention", Config: "training_512", Scope: Main, Limit: 5}
	for name, ask := range map[string]func() error{
		"list":        func() error { _, err := db.Runs(t.Context(), Filter{Limit: 5}); return err },
		"next page":   func() error { _, err := db.Runs(t.Context(), Filter{Limit: 5, Before: made(9, 1).ID}); return err },
		"since":       func() error { _, err := db.Runs(t.Context(), Filter{Limit: 5, Since: made(9, 1).Started}); return err },
		"of a kernel": func() error { _, err := db.Runs(t.Context(), one); return err },
		"run":         func() error { _, _, err := db.Run(t.Context(), made(3, 1).ID); return err },
		"report":      func() error { _, err := db.Document(t.Context(), made(3, 1).ID); return err },
		"series":      func() error { _, err := db.Points(t.Context(), one); return err },
		"at a commit": func() error { _, err := db.Points(t.Context(), Filter{Commit: made(3, 1).Commit.SHA}); return err },
		"runs of one": func() error {
			_, err := db.Runs(t.Context(), Filter{Commit: made(3, 1).Commit.SHA, Limit: 5})
			return err
		},
		"short":        func() error { _, err := db.Points(t.Context(), Filter{Commit: made(3, 1).Commit.SHA[:5]}); return err },
		"latest":       func() error { _, err := db.Latest(t.Context(), Filter{Scope: Main}, 5); return err },
		"notes of one": func() error { _, err := db.Notes(t.Context(), made(3, 1).ID); return err },
		"moved": func() error {
			_, err := db.Points(t.Context(), Filter{Scope: Main, Since: made(9, 1).Started, Verdict: result.Regression})
			return err
		},
		"of a class": func() error {
			_, err := db.Points(t.Context(), Filter{Class: "nvidia-h200", Since: made(9, 1).Started})
			return err
		},
	} {
		asked = nil
		if err := ask(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, query := range asked {
			rows, err := db.sql.Query(`EXPLAIN QUERY PLAN `+query, make([]any, strings.Count(query, "?"))...)
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			for rows.Next() {
				var id, parent, unused int
				var step string
				if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
					t.Fatal(err)
				}
				table, found := strings.CutPrefix(step, "SCAN ")
				if found && slices.Contains([]string{"runs", "r", "points", "p", "documents", "notes"}, table) {
					t.Errorf("%s: %s, in\n%s", name, step, query)
				}
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What is asked of one kernel costs the same however many there are: neither the names of others are read, nor their
// series, one by one or all at once.
func TestOneOfManyKernels(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		r := made(1, 5)
		for n := range 30 {
			row := *r.Rows[0]
			row.Kernel, row.Config, row.Identity = fmt.Sprintf("kernel%d[?]", n), fmt.Sprintf("config%d", n), fmt.Sprintf("%064d", n)
			r.Rows = append(r.Rows, &row)
		}
		add(t, opened(t, place), r)
		db := opened(t, place)
		asked := 0
		rewrite := db.dialect.rewrite
		db.dialect.rewrite = func(query string) string {
			asked++
			return rewrite(query)
		}
		one := Filter{Kernel: `kernel7\[\?\]`}
		if series, err := db.Series(t.Context(), one); err != nil || len(series) != 1 || series[0].Kernel != "kernel7[?]" || series[0].Config != "config7" {
			t.Fatalf("%v, %v", series, err)
		}
		points, err := db.Points(t.Context(), one)
		if err != nil || len(points) != 1 || points[0].Identity != fmt.Sprintf("%064d", 7) {
			t.Fatalf("%v, %v", points, err)
		}
		if series, texts := len(db.listed.of), len(db.names.of); series != 1 || texts > 15 {
			t.Errorf("%d series and %d names were read", series, texts)
		}
		asked = 0
		if all, err := db.Points(t.Context(), Filter{}); err != nil || len(all) != 32 || len(db.listed.of) != 32 {
			t.Errorf("%d points, %v; %d series are known", len(all), err, len(db.listed.of))
		}
		if asked > 4 { // of points, their series, and texts, some of which are read again for points
			t.Errorf("%d queries for all points", asked)
		}
	})
}
