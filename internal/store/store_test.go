package store

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/result"
)

// both runs a test on each kind of database.
func both(t *testing.T, test func(t *testing.T, place Place)) {
	t.Run("sqlite", func(t *testing.T) { test(t, Place{File: filepath.Join(t.TempDir(), "history.db")}) })
	t.Run("postgres", func(t *testing.T) { test(t, Place{URL: postgres(t)}) })
}

func opened(t testing.TB, place Place) *DB {
	t.Helper()
	db, err := Open(t.Context(), place, Create)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func add(t testing.TB, db *DB, reports ...*result.Report) {
	t.Helper()
	for _, r := range reports {
		if n, err := db.Add(t.Context(), Entry{Report: r}); err != nil || n != 1 {
			t.Fatalf("add %s: %d, %v", r.ID, n, err)
		}
	}
}

// A report comes back as it was, once, whoever opens the history.
func TestAddOnce(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		want := made(1, 100)
		add(t, db, want)
		raw, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if n, err := db.Add(t.Context(), Entry{want, raw}); err != nil || n != 0 {
			t.Errorf("the same again: %d, %v", n, err)
		}
		var any map[string]any // another order of fields
		if err := json.Unmarshal(raw, &any); err != nil {
			t.Fatal(err)
		}
		if raw, err = json.Marshal(any); err != nil {
			t.Fatal(err)
		}
		if n, err := db.Add(t.Context(), Entry{want, raw}); err != nil || n != 0 {
			t.Errorf("the same in another order: %d, %v", n, err)
		}
		other := made(1, 100)
		other.Rows[0].Timing.Samples.Seconds[7] *= 1 + 1e-15
		if _, err := db.Add(t.Context(), Entry{Report: made(2, 10)}, Entry{Report: other}); err == nil || !strings.Contains(err.Error(), "with another report") {
			t.Errorf("another report of the same run: %v", err)
		}
		other = made(1, 100)
		other.Origin = &result.Origin{Branch: "main", Pull: 7}
		if _, err := db.Add(t.Context(), Entry{Report: other}); err == nil || !strings.Contains(err.Error(), "another branch or pull request") {
			t.Errorf("the same run of a pull request: %v", err)
		}
		again := opened(t, place)
		got, err := again.Report(t.Context(), want.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		runs, err := again.Runs(t.Context(), Filter{})
		if err != nil || len(runs) != 1 {
			t.Errorf("%d runs, %v: one of two that are added together was refused, so neither is there", len(runs), err)
		}
		if _, err := again.Report(t.Context(), "20260101T000000Z-none"); !errors.Is(err, ErrNoRun) {
			t.Error(err)
		}
	})
}

// A field that this pawl does not know is kept.
func TestUnknownFieldStays(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		report := made(1, 10)
		raw, err := report.Encode()
		if err != nil {
			t.Fatal(err)
		}
		raw = append([]byte(`{"later": [1, 2.50, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25], `), raw[1:]...)
		if _, err := db.Add(t.Context(), Entry{report, raw}); err != nil {
			t.Fatal(err)
		}
		got, err := db.Document(t.Context(), report.ID)
		if err != nil || !strings.HasPrefix(string(got), `{"later":[1,2.50,3,4,5,6,7,8,9,10,11,`) {
			t.Errorf("%.80s, %v", got, err)
		}
	})
}

func TestNotes(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		add(t, db, made(1, 1), made(2, 1))
		at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
		first, err := db.AddNote(t.Context(), Note{Run: made(1, 1).ID, Kernel: "attention", Config: "training_512", Kind: Invalid, At: at, Author: "ann", Text: "the fan\x00 had stopped"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.AddNote(t.Context(), Note{Run: made(2, 1).ID, Kind: Remark, At: at}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.AddNote(t.Context(), Note{Run: "none", Kind: Remark, At: at}); err == nil || !strings.Contains(err.Error(), "is not in the history") {
			t.Error(err)
		}
		if _, err := db.AddNote(t.Context(), Note{Run: made(2, 1).ID, Kind: "praise", At: at}); err == nil || !strings.Contains(err.Error(), "no kind of note") {
			t.Error(err)
		}
		notes, err := db.Notes(t.Context(), made(1, 1).ID)
		want := Note{ID: first.ID, Run: made(1, 1).ID, Kernel: "attention", Config: "training_512", Kind: Invalid, At: at, Author: "ann", Text: "the fan␀ had stopped"}
		if err != nil || len(notes) != 1 || notes[0] != want || first != want {
			t.Errorf("%+v, %v", notes, err)
		}
		if !notes[0].About(&Row{Kernel: "attention", Config: "training_512"}) || notes[0].About(&Row{Kernel: "attention", Config: "other"}) {
			t.Error("it is about one row")
		}
		if was, err := db.RemoveNote(t.Context(), first.ID); err != nil || !was {
			t.Error(was, err)
		}
		if was, err := db.RemoveNote(t.Context(), first.ID); err != nil || was {
			t.Error(was, err)
		}
		if notes, err := db.Notes(t.Context()); err != nil || len(notes) != 1 {
			t.Errorf("%+v, %v", notes, err)
		}
	})
}

// Old runs go with all that they have, a few at a time; noted ones and the newest stay.
func TestPrune(t *testing.T) {
	defer func(n int) { pruneBatch = n }(pruneBatch)
	pruneBatch = 4
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		if n, err := db.Prune(t.Context(), Keep{Runs: 3}); err != nil || n != 0 {
			t.Errorf("an empty history: %d, %v", n, err)
		}
		for n := range 12 {
			add(t, db, made(n, 300))
		}
		if _, err := db.AddNote(t.Context(), Note{Run: made(2, 1).ID, Kind: Invalid, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Prune(t.Context(), Keep{}); err == nil {
			t.Error("nothing said what stays")
		}
		if n, err := db.Prune(t.Context(), Keep{Runs: 5}); err != nil || n != 6 {
			t.Errorf("%d removed, %v", n, err)
		}
		points, err := db.Points(t.Context(), Filter{Config: "training_512"})
		if err != nil || len(points) != 6 || points[0].Run.ID != made(2, 1).ID || points[1].Run.ID != made(7, 1).ID {
			t.Errorf("%d points, %v", len(points), err)
		}
		if _, err := db.Report(t.Context(), made(1, 1).ID); !errors.Is(err, ErrNoRun) {
			t.Error(err)
		}
		var left int
		if err := db.sql.QueryRow(`SELECT (SELECT count(*) FROM points) + (SELECT count(*) FROM documents)`).Scan(&left); err != nil || left != 18 {
			t.Errorf("%d rows are left, %v", left, err)
		}
		add(t, db, made(1, 300)) // it can come back
		if n, err := db.Prune(t.Context(), Keep{Since: time.Now()}); err != nil || n != 5 {
			t.Errorf("%d removed, %v", n, err)
		}
		if runs, err := db.Runs(t.Context(), Filter{}); err != nil || len(runs) != 2 || runs[0].ID != made(11, 1).ID {
			t.Errorf("%d runs, %v", len(runs), err)
		}
	})
}

// A project that changes gets new dictionaries, up to a bound, and every report still comes back.
func TestDictionaries(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		random := rand.New(rand.NewPCG(1, 2))
		var all []*result.Report
		for n := range maxDictionaries + 8 {
			r := made(n, 1)
			for range 60 { // text that no other report has
				r.Warnings = append(r.Warnings, result.Warning{Code: "x", Message: fmt.Sprintf("%x%x%x", random.Uint64(), random.Uint64(), random.Uint64())})
			}
			add(t, db, r)
			all = append(all, r)
		}
		var count int
		if err := db.sql.QueryRow(`SELECT count(*) FROM dictionaries`).Scan(&count); err != nil || count != maxDictionaries {
			t.Errorf("%d dictionaries, %v; expected %d", count, err, maxDictionaries)
		}
		again := opened(t, place)
		for _, want := range all {
			got, err := again.Report(t.Context(), want.ID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// A report that the disk has damaged is an error that names the run.
func TestDamagedDocument(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		add(t, db, made(1, 100))
		var whole []byte
		if err := db.sql.QueryRow(`SELECT data FROM documents`).Scan(&whole); err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{"cut": whole[:len(whole)/2], "empty": {}, "cut at its end": whole[:len(whole)-9], "too long": append(slices.Clone(whole), 1, 2, 3)} {
			if _, err := db.sql.Exec(db.query(`UPDATE documents SET data = $1`), data); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Document(t.Context(), made(1, 1).ID); err == nil || !strings.Contains(err.Error(), "the report of run "+made(1, 1).ID+" is damaged") {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := db.Add(t.Context(), Entry{Report: made(1, 100)}); err == nil || !strings.Contains(err.Error(), "is damaged") {
				t.Errorf("%s, and the same run comes again: %v", name, err)
			}
		}
		if _, err := db.sql.Exec(`DELETE FROM dictionaries`); err != nil {
			t.Fatal(err)
		}
		fresh := opened(t, place)
		if _, err := fresh.Document(t.Context(), made(1, 1).ID); err == nil || !strings.Contains(err.Error(), "its dictionary 1 is missing") {
			t.Error(err)
		}
	})
}

func TestIn(t *testing.T) {
	if got := In("/p/.pawl", ""); got != (Place{File: "/p/.pawl/history.db"}) {
		t.Errorf("%+v", got)
	}
	if got := In("/p/.pawl", "postgres://h/d"); got != (Place{URL: "postgres://h/d"}) {
		t.Errorf("%+v", got)
	}
}

func TestMarks(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		for _, want := range []string{"", "first", "second"} {
			if want != "" {
				if err := db.SetMark(t.Context(), "branch", want); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := db.Mark(t.Context(), "branch"); err != nil || got != want {
				t.Errorf("%q, %v; expected %q", got, err, want)
			}
		}
	})
}

// Several processes write at the same time, also the same report: every run is there once.
func TestManyWriters(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		const writers, each = 8, 20
		var done sync.WaitGroup
		for w := range writers {
			done.Go(func() {
				db, err := Open(t.Context(), place, Create)
				if err != nil {
					t.Error(err)
					return
				}
				defer db.Close()
				for i := range each {
					if _, err := db.Add(t.Context(), Entry{Report: made(w*each/2+i, 10)}); err != nil { // half of them are the next writer's, too
						t.Error(err)
						return
					}
				}
			})
		}
		done.Wait()
		db := opened(t, place)
		runs, err := db.Runs(t.Context(), Filter{})
		if want := (writers + 1) * each / 2; err != nil || len(runs) != want {
			t.Errorf("%d runs, expected %d; %v", len(runs), want, err)
		}
		for _, run := range runs {
			if _, err := db.Report(t.Context(), run.ID); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestReadMakesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history.db")
	if _, err := Open(t.Context(), Place{File: file}, Read); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("reading made a file")
	}
}

// The file of the newest version, for TestOlderHistory of later versions.
var update = flag.Bool("update-history", false, "write testdata/version<newest>.db")

func TestWriteVersion(t *testing.T) {
	if !*update {
		t.Skip("only with -update-history")
	}
	file := filepath.Join(t.TempDir(), "history.db")
	db := opened(t, Place{File: file})
	for n := range 3 {
		add(t, db, made(n, 20))
	}
	if _, err := db.AddNote(t.Context(), Note{Run: made(1, 1).ID, Kind: Remark, At: time.Unix(1e9, 0), Text: "seen"}); err != nil {
		t.Fatal(err)
	}
	db.Close() // all of it is in the one file then
	raw, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(fmt.Sprintf("testdata/version%d.db", len(migrations)), raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A dashboard that remembers runs never shows a removed one's name beside the numbers of one that came after it.
func TestRunsAreNeverMistaken(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		server, other := opened(t, place), opened(t, place)
		add(t, other, made(1, 1), made(2, 1))
		of := func() (ids []string) {
			points, err := server.Points(t.Context(), Filter{Scope: All})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range points {
				if !slices.Contains(ids, p.Run.ID) {
					ids = append(ids, p.Run.ID)
				}
			}
			return ids
		}
		of()
		old := made(0, 1) // older than the others, but added last
		add(t, other, old)
		of()
		if n, err := other.Prune(t.Context(), Keep{Runs: 2}); err != nil || n != 1 {
			t.Fatalf("%d removed, %v", n, err)
		}
		add(t, other, made(3, 1))
		if ids := of(); slices.Contains(ids, old.ID) || !slices.Contains(ids, made(3, 1).ID) {
			t.Errorf("points are of %v", ids)
		}
	})
}

// The stamp is another one after each change, whoever made it, and else the same.
func TestStamp(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		server, other := opened(t, place), opened(t, place)
		seen := map[string]bool{}
		stamp := func(fresh bool) {
			t.Helper()
			now, err := server.Stamp(t.Context())
			if err != nil || now == "" || seen[now] == fresh {
				t.Errorf("%q, %v after %v", now, err, seen)
			}
			seen[now] = true
		}
		stamp(true)
		stamp(false)
		add(t, other, made(1, 1))
		stamp(true)
		stamp(false)
		add(t, server, made(2, 1))
		stamp(true)
		if _, err := other.AddNote(t.Context(), Note{Run: made(1, 1).ID, Kind: Remark}); err != nil {
			t.Fatal(err)
		}
		stamp(true)
		stamp(false)
	})
}

// A file that was moved away is read as it was for as long as it is open: whoever keeps it open hears of it.
func TestReplacedFileIsNoticed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history.db")
	db := opened(t, Place{File: file})
	add(t, db, made(1, 1))
	if _, err := db.Stamp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file, file+".old"); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"moved away", "replaced"} {
		if _, err := db.Stamp(t.Context()); err == nil || !strings.Contains(err.Error(), "removed or replaced") {
			t.Errorf("%s: %v", what, err)
		}
		add(t, opened(t, Place{File: file}), made(2, 1))
		file += ".none"
	}
}
