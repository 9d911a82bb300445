package store

import (
	"context"
	_ "embed"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl/internal/result"
)

// template is the report of a real check of one kernel on one config, against its base.
//
//go:embed testdata/check.json
var template []byte

// typical returns a check like the template, with 100 samples, as a GPU's events have them: 50 of the
// row and 50 of its base. Every number that comes from samples is another one than in the run before.
func typical(n, series int) *result.Report {
	random := rand.New(rand.NewPCG(uint64(n), 2))
	r, err := result.Decode(template)
	if err != nil {
		panic(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
	r.ID = fmt.Sprintf("%s-%012x", at.Format("20060102T150405Z"), random.Uint64()>>16)
	r.Started, r.Finished = at, at.Add(time.Duration(20e9+random.Int64N(1e9)))
	sha := make([]byte, 20)
	for i := range sha {
		sha[i] = byte(random.Uint32())
	}
	r.Commit.SHA, r.Origin = hex.EncodeToString(sha), &result.Origin{Branch: "main"}
	r.Method.Seed = random.Uint64() >> 16
	r.Tool.Version = "0." + strconv.Itoa(n/1000)
	row := r.Rows[0]
	row.Kernel, row.Config = "kernel"+strconv.Itoa(series/4), "config"+strconv.Itoa(series%4)
	row.Identity = fmt.Sprintf("%064x", n/1000)
	jitter := func(v *float64) { *v *= 1 + random.NormFloat64()/100 }
	renew := func(t *result.Timing) {
		t.PairS = 1.504e-6
		t.Samples.Seconds, t.Samples.GHz, t.Samples.Dropped = nil, nil, nil
		for range 50 {
			ns := 32 * (1628 + int64(random.NormFloat64()*30)) // the timer's steps
			t.Samples.Seconds = append(t.Samples.Seconds, float64(float32(float64(ns)/1e6))*1e-3-t.PairS)
			span := 132 * (ns + 32*random.Int64N(20))
			t.Samples.GHz = append(t.Samples.GHz, float64(span*1755/1000+random.Int64N(20000))/float64(span))
		}
		t.Stats.Count = 50
		for _, v := range []*float64{&t.Stats.Median, &t.Stats.Low, &t.Stats.High, &t.Stats.Mean, &t.Stats.Std, &t.Stats.P95, &t.Stats.P99, &t.Stats.CV, &t.Stats.GFLOPS, &t.Stats.GBps, &t.Stats.RoofPct, &t.HalfWidth, &t.WallS} {
			jitter(v)
		}
	}
	renew(row.Timing)
	for _, side := range row.Sides {
		renew(side.Row.Timing)
		if c := side.Change; c != nil {
			for _, v := range []*float64{&c.Median, &c.Low, &c.High, &c.Delta, &c.Shift} {
				jitter(v)
			}
			for i := range c.Cells {
				jitter(&c.Cells[i].Median)
			}
		}
	}
	return r
}

// filled returns a history of so many typical runs, of 200 series. It is made once for each number,
// and kept: PAWL_BENCH_STORE names the folder.
func filled(b *testing.B, runs int) (place Place, made int) {
	b.Helper()
	folder := os.Getenv("PAWL_BENCH_STORE")
	if folder == "" {
		folder = b.TempDir()
	}
	place = Place{File: filepath.Join(folder, fmt.Sprintf("%d.db", runs))}
	db, err := Open(b.Context(), place, Create)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	const batch = 500
	from := 0
	if err := db.sql.QueryRow(`SELECT count(*) FROM runs`).Scan(&from); err != nil {
		b.Fatal(err)
	}
	if from == 0 && runs >= 1_000_000 {
		grow(b, db, runs)
		return place, 0
	}
	made = runs - from
	for from < runs {
		var entries []Entry
		for ; from < runs && len(entries) < batch; from++ {
			entries = append(entries, Entry{Report: typical(from, seriesOf(from))})
		}
		if _, err := db.Add(b.Context(), entries...); err != nil {
			b.Fatal(err)
		}
	}
	return place, made
}

// grow fills a history with a tenth of the runs, and with the same again, each time later, with other IDs and commits:
// to make them all takes an hour.
func grow(b *testing.B, db *DB, runs int) {
	b.Helper()
	tenth, _ := filled(b, runs/10)
	conn, err := db.sql.Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	steps := []string{fmt.Sprintf(`ATTACH '%s' AS tenth`, tenth.File), `BEGIN`}
	for _, table := range []string{"texts", "series", "dictionaries"} {
		steps = append(steps, fmt.Sprintf(`INSERT INTO %s SELECT * FROM tenth.%s`, table, table))
	}
	for i := range 10 {
		later, seq := int64(i)*int64(runs/10)*time.Minute.Milliseconds(), i*runs/10
		steps = append(steps,
			fmt.Sprintf(`INSERT INTO runs SELECT seq + %d, id || '-%d', kind, at + %d, took, CAST(substr(sha, %d) || substr(sha, 1, %d) AS BLOB), base, flags, branch, pull, class, machine, outcome, tool, rows FROM tenth.runs WHERE seq <= %d`, seq, i, later, i+1, i, runs/10),
			fmt.Sprintf(`INSERT INTO points SELECT series, at + %d, run + %d, n, kind, flags, verdict, data FROM tenth.points WHERE run <= %d`, later, seq, runs/10),
			fmt.Sprintf(`INSERT INTO documents SELECT run + %d, dict, data FROM tenth.documents WHERE run <= %d`, seq, runs/10))
	}
	for _, step := range append(steps, `COMMIT`) {
		if _, err := conn.ExecContext(b.Context(), step); err != nil {
			b.Fatalf("%s: %v", step, err)
		}
	}
}

// What runs cost that are recorded one by one, each by a process of its own as far as the database is
// concerned: a transaction for each.
func BenchmarkIngest(b *testing.B) {
	for _, c := range []struct {
		name    string
		place   func() Place
		writers int
	}{
		{"sqlite", func() Place { return Place{File: filepath.Join(b.TempDir(), "history.db")} }, 1},
		{"sqlite/8 writers", func() Place { return Place{File: filepath.Join(b.TempDir(), "history.db")} }, 8},
		{"postgres", func() Place { return Place{URL: postgres(b)} }, 1},
		{"postgres/8 writers", func() Place { return Place{URL: postgres(b)} }, 8},
	} {
		b.Run(c.name, func(b *testing.B) {
			place := c.place()
			entries := make([]Entry, b.N)
			for i := range entries {
				entries[i].Report = typical(i, seriesOf(i))
				raw, err := entries[i].Report.Encode()
				if err != nil {
					b.Fatal(err)
				}
				entries[i].Raw = raw
			}
			var next sync.Mutex
			at := 0
			var all sync.WaitGroup
			dbs := make([]*DB, c.writers)
			for i := range dbs {
				var err error
				if dbs[i], err = Open(b.Context(), place, Create); err != nil {
					b.Fatal(err)
				}
				defer dbs[i].Close()
			}
			b.ResetTimer()
			began := processorTime(b)
			for _, db := range dbs {
				all.Go(func() {
					for {
						next.Lock()
						i := at
						at++
						next.Unlock()
						if i >= len(entries) {
							return
						}
						if _, err := db.Add(context.Background(), entries[i]); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
			b.ReportMetric((processorTime(b)-began)*1e3/float64(b.N), "cpu-ms/run")
		})
	}
}

// processorTime is what this process has worked, in seconds: on a busy machine it says more than the
// time.
func processorTime(b *testing.B) float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// The room that runs take, and the time of what pages begin with. A million runs are tried where
// PAWL_BENCH_STORE names a folder to keep them in, with room for 1.7 GB.
func BenchmarkHistory(b *testing.B) {
	sizes := []int{10_000, 100_000}
	if os.Getenv("PAWL_BENCH_STORE") != "" {
		sizes = append(sizes, 1_000_000)
	}
	for _, runs := range sizes {
		b.Run(strconv.Itoa(runs), func(b *testing.B) { benchmarkHistory(b, runs) })
	}
}

func benchmarkHistory(b *testing.B, runs int) {
	began, worked := time.Now(), processorTime(b)
	place, made := filled(b, runs)
	took, worked := time.Since(began), processorTime(b)-worked
	db := opened(b, place)
	if _, err := db.sql.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(place.File)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("fill", func(b *testing.B) {
		for range b.N {
		}
		b.ReportMetric(float64(info.Size())/1e6, "MB")
		if made > 0 {
			b.ReportMetric(float64(made)/took.Seconds(), "runs/s")
			b.ReportMetric(worked*1e3/float64(made), "cpu-ms/run")
		}
	})
	for _, c := range []struct {
		name  string
		query func() (int, error)
	}{
		{"overview", func() (int, error) {
			points, err := db.Latest(b.Context(), Filter{Scope: Main}, 1)
			return len(points), err
		}},
		{"sparklines", func() (int, error) {
			points, err := db.Latest(b.Context(), Filter{Scope: Main}, 20)
			return len(points), err
		}},
		{"series of 5000", func() (int, error) {
			points, err := db.Points(b.Context(), Filter{Kernel: "kernel7", Config: "config1", Scope: Main, Limit: 5000})
			return len(points), err
		}},
		{"moved in a week", func() (int, error) {
			last := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(runs) * time.Minute)
			points, err := db.Points(b.Context(), Filter{Scope: Main, Since: last.AddDate(0, 0, -7), Verdict: result.Regression})
			return len(points), err
		}},
		{"list", func() (int, error) {
			runs, err := db.Runs(b.Context(), Filter{Limit: 50})
			return len(runs), err
		}},
		{"commit", func() (int, error) {
			runs, err := db.Runs(b.Context(), Filter{Commit: "0123"})
			return len(runs), err
		}},
		{"report", func() (int, error) {
			list, err := db.Runs(b.Context(), Filter{Limit: 1, Until: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(runs/2) * time.Minute)})
			if err != nil || len(list) == 0 {
				return 0, err
			}
			json, err := db.Document(b.Context(), list[0].ID)
			return len(json), err
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := 0
			worked := processorTime(b)
			for range b.N {
				if n, err = c.query(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n), "results")
			b.ReportMetric((processorTime(b)-worked)*1e3/float64(b.N), "cpu-ms/op")
		})
	}
	next := 0 // each call of the benchmark adds others
	if err := db.sql.QueryRow(`SELECT count(*) FROM runs`).Scan(&next); err != nil {
		b.Fatal(err)
	}
	b.Run("one run more", func(b *testing.B) {
		entries := make([]Entry, b.N)
		for i := range entries {
			entries[i].Report = typical(next, seriesOf(next))
			next++
		}
		worked := processorTime(b)
		b.ResetTimer()
		for _, e := range entries {
			if _, err := db.Add(b.Context(), e); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric((processorTime(b)-worked)*1e3/float64(b.N), "cpu-ms/op")
	})
}

// seriesOf spreads runs over 200 series, of which one has every tenth run: a kernel that somebody works
// on.
func seriesOf(n int) int {
	if n%10 == 0 {
		return 7*4 + 1
	}
	return n % 200
}
