package store

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/diag"
)

// hinted fails unless an error says this, and its hint that.
func hinted(t *testing.T, err error, says, hint string) {
	t.Helper()
	problem, ok := errors.AsType[*diag.Problem](err)
	if !ok || !strings.Contains(problem.Message, says) || !strings.Contains(problem.Hint, hint) {
		t.Errorf("%v\nhint %q\nexpected %q, and the hint %q", err, hintOf(problem), says, hint)
	}
}

func hintOf(p *diag.Problem) string {
	if p == nil {
		return ""
	}
	return p.Hint
}

// An interrupted process leaves whole runs only. It is this test's own program, killed while it stores
// one run after the other.
func TestKilled(t *testing.T) {
	if file := os.Getenv("PAWL_TEST_STORE_FOREVER"); file != "" {
		db := opened(t, Place{File: file})
		for n := 0; ; n++ {
			add(t, db, made(n, 200))
			os.Stdout.WriteString("stored\n")
		}
	}
	file := filepath.Join(t.TempDir(), "history.db")
	stored := 0
	for round := range 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "PAWL_TEST_STORE_FOREVER="+file)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		for n := range 5 + 7*round {
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			stored = n + 1
		}
		time.Sleep(time.Duration(round) * 700 * time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		db := opened(t, Place{File: file})
		runs, err := db.Runs(t.Context(), Filter{})
		if err != nil || len(runs) < stored {
			t.Fatalf("%d runs of at least %d, %v", len(runs), stored, err)
		}
		for _, run := range runs {
			_, rows, err := db.Run(t.Context(), run.ID)
			if _, whole := db.Report(t.Context(), run.ID); err != nil || whole != nil || len(rows) != 2 {
				t.Fatalf("%s: %d rows, %v, %v", run.ID, len(rows), err, whole)
			}
		}
		var state string
		if err := db.sql.QueryRow(`PRAGMA integrity_check`).Scan(&state); err != nil || state != "ok" {
			t.Fatal(state, err)
		}
		if _, err := db.sql.Exec(`DELETE FROM runs; DELETE FROM points; DELETE FROM documents`); err != nil {
			t.Fatal(err)
		}
		stored = 0
	}
}

// A full disk refuses a run, says so, and takes no harm: what was there stays, and more can be added
// when there is room.
func TestDiskFull(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small disk needs a mount, which needs root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(folder, syscall.MNT_DETACH) })
	db := opened(t, Place{File: filepath.Join(folder, "history.db")})
	defer db.Close()
	n := 0
	var err error
	for ; n < 1000; n++ {
		if _, err = db.Add(t.Context(), Entry{Report: made(n, 1000)}); err != nil {
			break
		}
	}
	if n == 0 || n == 1000 {
		t.Fatalf("%d runs on 1 MB", n)
	}
	hinted(t, err, "store the run", "make room")
	if runs, err := db.Runs(t.Context(), Filter{}); err != nil || len(runs) != n {
		t.Fatalf("%d runs of %d, %v", len(runs), n, err)
	}
	if err := syscall.Mount("tmpfs", folder, "tmpfs", syscall.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	add(t, db, made(n, 1000))
	if _, err := db.Report(t.Context(), made(n, 1).ID); err != nil {
		t.Error(err)
	}
}

// On a full disk what is there is read as it is. What would be stored is refused, and says what to do.
func TestReadOnFullDisk(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small disk needs a mount, which needs root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(folder, syscall.MNT_DETACH) })
	place, filler := Place{File: filepath.Join(folder, "history.db")}, filepath.Join(folder, "filler")
	fill := func() {
		full, err := os.Create(filler)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = full.Write(make([]byte, 4096))
		}
		full.Close()
	}
	db := opened(t, place)
	add(t, db, made(1, 20), made(2, 20))
	db.Close()
	fill()
	db, err := Open(t.Context(), place, Create)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	hinted(t, db.Frozen(), "open the history", "make room")
	if runs, err := db.Runs(t.Context(), Filter{}); err != nil || len(runs) != 2 {
		t.Errorf("%d runs of 2, %v", len(runs), err)
	}
	if _, err := db.Report(t.Context(), made(2, 20).ID); err != nil {
		t.Error(err)
	}
	_, err = db.Add(t.Context(), Entry{Report: made(3, 20)})
	hinted(t, err, "open the history", "make room")
	before, err := db.Stamp(t.Context())
	if again, errAgain := db.Stamp(t.Context()); err != nil || errAgain != nil || again != before {
		t.Errorf("stamps %q and %q, %v, %v", before, again, err, errAgain)
	}

	// With room it is written again, and whoever has it open as it was is told.
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	writer := opened(t, place)
	if writer.Frozen() != nil {
		t.Error(writer.Frozen())
	}
	add(t, writer, made(3, 20))
	_, err = db.Stamp(t.Context())
	hinted(t, err, "was written", "start this command again")
	kept, err := os.ReadFile(place.File + "-wal")
	if err != nil || len(kept) == 0 {
		t.Fatalf("%d bytes, %v", len(kept), err)
	}
	writer.Close()
	_, err = db.Stamp(t.Context())
	hinted(t, err, "was written", "start this command again")

	// What an interrupted writer has left beside the file is not passed over.
	if err := os.WriteFile(place.File+"-wal", kept, 0o644); err != nil {
		t.Fatal(err)
	}
	fill()
	_, err = Open(t.Context(), place, Create)
	hinted(t, err, "open the history", "make room")
}

func TestNewerHistoryIsRefused(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		set := `PRAGMA user_version = 99`
		if place.URL != "" {
			set = `UPDATE version SET version = 99`
		}
		if _, err := db.sql.Exec(set); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), place, Create)
		hinted(t, err, "a newer pawl has made it: it is of version 99, and this pawl knows", "use a pawl that knows version 99")
	})
}

// A history of any older version is brought up to date, and has what it had. testdata has one of each.
func TestOlderHistory(t *testing.T) {
	files, err := filepath.Glob("testdata/version*.db")
	if err != nil || len(files) != len(migrations) {
		t.Fatalf("%d files for %d versions: add one of the newest with go test -run TestWriteVersion -update-history", len(files), len(migrations))
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(t.TempDir(), "history.db")
		if err := os.WriteFile(copied, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		db := opened(t, Place{File: copied})
		runs, err := db.Runs(t.Context(), Filter{})
		if err != nil || len(runs) != 3 {
			t.Fatalf("%s: %d runs, %v", file, len(runs), err)
		}
		for i, run := range runs {
			want, err := made(2-i, 20).Encode()
			if err != nil {
				t.Fatal(err)
			}
			report, err := db.Report(t.Context(), run.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := report.Encode(); err != nil || string(got) != string(want) {
				t.Errorf("%s: run %s is another one, %v", file, run.ID, err)
			}
		}
		if points, err := db.Points(t.Context(), Filter{Config: "training_512"}); err != nil || len(points) != 3 || points[0].Base == nil {
			t.Errorf("%s: %d points, %v", file, len(points), err)
		}
		if notes, err := db.Notes(t.Context()); err != nil || len(notes) != 1 {
			t.Errorf("%s: %d notes, %v", file, len(notes), err)
		}
		add(t, db, made(7, 20))
	}
}

// A step that fails changes nothing, and one that others do at the same time is done once.
func TestMigrate(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		steps := append(append([]migration{}, migrations...), `ALTER TABLE notes ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'`)
		broken := append(append([]migration{}, migrations...), `CREATE TABLE half (a BIGINT); SELECT nonsense FROM nowhere`)
		if err := db.migrate(t.Context(), broken); err == nil || !strings.Contains(err.Error(), "bring it to version") {
			t.Fatal(err)
		}
		if _, err := db.sql.Exec(`SELECT a FROM half`); err == nil {
			t.Error("half of a step was done")
		}
		results := make(chan error)
		for range 4 {
			go func() {
				other, err := Open(t.Context(), place, Create)
				if err == nil {
					err = other.migrate(t.Context(), steps)
					other.Close()
				}
				results <- err
			}()
		}
		for range 4 {
			if err := <-results; err != nil && !errors.As(err, new(*newerError)) { // it opened after the others' step
				if !strings.Contains(err.Error(), "a newer pawl has made it") {
					t.Error(err)
				}
			}
		}
		var mood string
		if err := db.sql.QueryRow(`SELECT coalesce(max(mood), 'none') FROM notes`).Scan(&mood); err != nil || mood != "none" {
			t.Error(mood, err)
		}
	})
}

// Files that are no history are refused, and stay as they are.
func TestForeignAndDamagedFiles(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Place{File: text}, Create)
	hinted(t, err, "not a database", "pawl history import .pawl/runs makes it anew")
	if raw, _ := os.ReadFile(text); !strings.HasPrefix(string(raw), "this is no database\n") {
		t.Error("it was changed")
	}

	other := filepath.Join(folder, "other.db")
	handle, err := sql.Open("sqlite", other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := handle.Exec(`CREATE TABLE runs (mine TEXT)`); err != nil {
		t.Fatal(err)
	}
	handle.Close()
	_, err = Open(t.Context(), Place{File: other}, Create)
	hinted(t, err, "no history of pawl", "a database of its own")

	file := filepath.Join(folder, "history.db")
	db := opened(t, Place{File: file})
	for n := range 50 {
		add(t, db, made(n, 100))
	}
	db.Close()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := 2 * 16384; at+100 < len(raw); at += 16384 { // the heads of all pages but the first two
		copy(raw[at:], make([]byte, 100))
	}
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	db, err = Open(t.Context(), Place{File: file}, Create)
	if err == nil {
		defer db.Close()
		_, err = db.Runs(t.Context(), Filter{})
	}
	hinted(t, err, "malformed", "pawl history import .pawl/runs makes it anew")

	_, err = Open(t.Context(), Place{File: filepath.Join(folder, "none", "history.db")}, Create)
	hinted(t, err, "unable to open", "in a folder that this user may write")
}

// The server goes away while a history is open, and comes back: what was stored is there, what comes
// after is stored, and in between there is an error that says so, without the password.
func TestServerGoesAway(t *testing.T) {
	_ = postgres(t)         // or there is none here
	own, err := newServer() // the others' tests go on meanwhile
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(own.folder)
	defer func() { own.stop(syscall.SIGQUIT) }()
	address := own.database(t, "gone")
	db := opened(t, Place{URL: address})
	add(t, db, made(1, 10))
	own.stop(syscall.SIGQUIT)
	_, err = db.Add(t.Context(), Entry{Report: made(2, 10)})
	hinted(t, err, "store the run (PostgreSQL at 127.0.0.1", "pawl history import .pawl/runs")
	_, again := Open(t.Context(), Place{URL: address}, Create)
	hinted(t, again, "open the history (PostgreSQL at 127.0.0.1", "is the server there?")
	for _, err := range []error{err, again} {
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the password is in %q", err)
		}
	}
	if err := own.start(); err != nil {
		t.Fatal(err)
	}
	add(t, db, made(2, 10))
	if runs, err := db.Runs(t.Context(), Filter{}); err != nil || len(runs) != 2 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// No message has the password, whatever is wrong with the address.
func TestPasswordStaysSecret(t *testing.T) {
	good := postgres(t)
	for _, address := range []string{
		"mysql://pawl:s3cret@host/db",
		"postgres://pawl:s3cret@host:notaport/db",
		"postgres://pawl:s3cret@127.0.0.1:1/db?connect_timeout=1",
		"postgres://pawl:s3cret%zz@host/db",
		"postgres://pawl:s3cret@127.0.0.1/db?sslmode=s3cret",
		"s3cret",
		strings.Replace(good, "%40word", "wrong", 1),
		good[:strings.LastIndex(good, "/")] + "/none",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := Open(ctx, Place{URL: address}, Create)
		cancel()
		if err == nil || hintOf(func() *diag.Problem { p, _ := errors.AsType[*diag.Problem](err); return p }()) == "" {
			t.Errorf("%s: %v", address, err)
		} else if strings.HasSuffix(address, "/none") && !strings.Contains(diag.Problems(err)[0].Hint, "createdb") {
			t.Errorf("no hint to create the database: %v", diag.Problems(err)[0].Hint)
		} else if strings.Contains(err.Error()+diag.Problems(err)[0].Detail(), "s3cret") {
			t.Errorf("the password is in %q", err)
		}
	}
}

// A server that does not answer is not waited for without end, and not longer than the address says.
func TestConnectTimeout(t *testing.T) {
	t.Setenv("PGCONNECT_TIMEOUT", "")
	for address, want := range map[string]time.Duration{"postgres://ann@host/db": 10 * time.Second, "postgres://ann@host/db?connect_timeout=3": 3 * time.Second} {
		config, err := configOf(address)
		if err != nil || config.ConnectTimeout != want {
			t.Errorf("%s: %v, %v; want %v", address, config.ConnectTimeout, err, want)
		}
	}
}

// A history that cannot be read or written says so, whatever is asked of it.
func TestClosed(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		add(t, db, made(1, 10), made(2, 10))
		id := made(1, 1).ID
		fresh := opened(t, place) // knows no names, and is asked them all
		fresh.Close()
		for name, ask := range map[string]func() error{
			"add":         func() error { _, err := fresh.Add(t.Context(), Entry{Report: made(3, 10)}); return err },
			"runs":        func() error { _, err := fresh.Runs(t.Context(), Filter{}); return err },
			"of a kernel": func() error { _, err := fresh.Runs(t.Context(), Filter{Kernel: "attention"}); return err },
			"of a branch": func() error { _, err := fresh.Runs(t.Context(), Filter{Branch: "main"}); return err },
			"run":         func() error { _, _, err := fresh.Run(t.Context(), id); return err },
			"find":        func() error { _, err := fresh.Find(t.Context(), id[:20]); return err },
			"latest run":  func() error { _, err := fresh.Find(t.Context(), "latest"); return err },
			"series":      func() error { _, err := fresh.Series(t.Context(), Filter{}); return err },
			"points":      func() error { _, err := fresh.Points(t.Context(), Filter{}); return err },
			"latest":      func() error { _, err := fresh.Latest(t.Context(), Filter{}, 1); return err },
			"report":      func() error { _, err := fresh.Report(t.Context(), id); return err },
			"notes":       func() error { _, err := fresh.Notes(t.Context()); return err },
			"note":        func() error { _, err := fresh.AddNote(t.Context(), Note{Run: id, Kind: Remark, Text: "x"}); return err },
			"remove note": func() error { _, err := fresh.RemoveNote(t.Context(), 1); return err },
			"prune":       func() error { _, err := fresh.Prune(t.Context(), Keep{Runs: 1}); return err },
			"mark":        func() error { _, err := fresh.Mark(t.Context(), "x"); return err },
			"set mark":    func() error { return fresh.SetMark(t.Context(), "x", "y") },
			"stamp":       func() error { _, err := fresh.Stamp(t.Context()); return err },
		} {
			if err := ask(); err == nil || !strings.Contains(err.Error(), "closed") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A run whose rows or names cannot be stored or read is an error, and nothing of it stays.
func TestTablesGone(t *testing.T) {
	both(t, func(t *testing.T, place Place) {
		db := opened(t, place)
		for _, table := range []string{"series", "points", "documents", "texts"} {
			if _, err := db.sql.Exec(`ALTER TABLE ` + table + ` RENAME TO gone`); err != nil {
				t.Fatal(err)
			}
			if n, err := opened(t, place).Add(t.Context(), Entry{Report: made(1, 10)}); err == nil || n != 0 || !strings.Contains(err.Error(), table) {
				t.Errorf("without %s: %d, %v", table, n, err)
			}
			if _, err := opened(t, place).Points(t.Context(), Filter{Verdict: "new"}); table == "texts" && err == nil {
				t.Error("without texts: no point has a verdict whose number cannot be looked up")
			}
			if _, err := db.sql.Exec(`ALTER TABLE gone RENAME TO ` + table); err != nil {
				t.Fatal(err)
			}
			var left int
			if err := db.sql.QueryRow(`SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM points) + (SELECT count(*) FROM documents)`).Scan(&left); err != nil || left != 0 {
				t.Errorf("without %s: %d rows stayed, %v", table, left, err)
			}
		}
		add(t, db, made(1, 10))
		for _, c := range []struct {
			table, doing string
			ask          func(*DB) error
		}{
			{"notes", "remove the note", func(db *DB) error { _, err := db.RemoveNote(t.Context(), 1); return err }},
			{"series", "read the points", func(db *DB) error { _, err := db.Points(t.Context(), Filter{}); return err }},
			{"runs", "read the points", func(db *DB) error { _, err := db.Points(t.Context(), Filter{}); return err }},
			{"texts", "read the points", func(db *DB) error { _, err := db.Points(t.Context(), Filter{}); return err }},
			{"texts", "list the runs", func(db *DB) error { _, err := db.Runs(t.Context(), Filter{}); return err }},
		} {
			fresh := opened(t, place)
			if _, err := db.sql.Exec(`ALTER TABLE ` + c.table + ` RENAME TO gone`); err != nil {
				t.Fatal(err)
			}
			if err := c.ask(fresh); err == nil || !strings.Contains(err.Error(), c.doing) || !strings.Contains(err.Error(), c.table) {
				t.Errorf("without %s: %v", c.table, err)
			}
			if _, err := db.sql.Exec(`ALTER TABLE gone RENAME TO ` + c.table); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A file that may only be read is said to be one.
func TestReadOnly(t *testing.T) {
	db := opened(t, Place{File: filepath.Join(t.TempDir(), "history.db")})
	db.sql.SetMaxOpenConns(1)
	if _, err := db.sql.Exec(`PRAGMA query_only = 1`); err != nil {
		t.Fatal(err)
	}
	_, err := db.Add(t.Context(), Entry{Report: made(1, 10)})
	hinted(t, err, "store the run", "a file that this user may write")
}
