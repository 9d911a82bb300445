package dash

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"pawl/internal/dash/dashtest"
	"pawl/internal/history"
	"pawl/internal/store"
)

// database is a real PostgreSQL server that a test stops and starts.
type database struct {
	*testing.T
	programs, folder string
	port             int
	who              *syscall.Credential
	process          *exec.Cmd
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		if os.Getenv("PAWL_REQUIRE_POSTGRES") != "" {
			t.Fatal("no PostgreSQL here: tools/engines installs it")
		}
		t.Skip("no PostgreSQL here: tools/engines installs it (Debian: postgresql)")
	}
	folder, err := os.MkdirTemp("", "pawl-dash-postgres-") // that of the test is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	d := &database{T: t, programs: filepath.Dir(found[len(found)-1]), folder: folder}
	if os.Getuid() == 0 { // as whom PostgreSQL does not run
		other, err := user.Lookup("postgres")
		if err != nil {
			if other, err = user.Lookup("nobody"); err != nil {
				t.Fatal(err)
			}
		}
		uid, _ := strconv.Atoi(other.Uid)
		gid, _ := strconv.Atoi(other.Gid)
		d.who = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(folder, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := d.command("initdb", "--pgdata", filepath.Join(folder, "data"), "--username", "pawl", "--auth", "trust", "--no-sync", "--encoding", "UTF8", "--locale", "C.UTF-8").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.port = free.Addr().(*net.TCPAddr).Port
	free.Close()
	t.Cleanup(d.stop)
	d.start()
	return d
}

func (d *database) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(d.programs, program), args...)
	cmd.Dir = d.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.who, Pdeathsig: syscall.SIGINT}
	return cmd
}

func (d *database) start() {
	d.Helper()
	d.process = d.command("postgres", "-D", filepath.Join(d.folder, "data"), "-p", strconv.Itoa(d.port), "-h", "127.0.0.1", "-k", d.folder)
	if err := d.process.Start(); err != nil {
		d.Fatal(err)
	}
	for range 600 {
		db, err := store.Open(d.Context(), store.Place{URL: d.address()}, store.Create)
		if err == nil {
			db.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	d.Fatal("PostgreSQL does not answer")
}

// stop ends the server at once, as a crash would.
func (d *database) stop() {
	if d.process != nil {
		_ = d.process.Process.Signal(syscall.SIGQUIT)
		_ = d.process.Wait()
		d.process = nil
	}
}

func (d *database) address() string {
	return fmt.Sprintf("postgres://pawl@127.0.0.1:%d/postgres", d.port)
}

// While the database is away visitors are told so, and as soon as it is back they see the history again.
func TestDatabaseGoesAwayAndComesBack(t *testing.T) {
	d := newDatabase(t)
	dir := t.TempDir()
	story := dashtest.Usual(end)
	story.Commits, story.Searches, story.Kernels = 3, 0, story.Kernels[:1]
	if err := story.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	h, err := history.Open(t.Context(), dir, d.address(), store.Create)
	if err != nil {
		t.Fatal(err)
	}
	file := serveIn(t, dir, nil)
	runs, err := file.db().Runs(t.Context(), store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		made, err := file.db().Report(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Add(t.Context(), store.Entry{Report: made}); err != nil {
			t.Fatal(err)
		}
	}
	s := serveHistory(t, h, dir, nil)
	addresses := []string{"/", "/runs", "/searches", "/api/v1/runs"}
	for _, address := range addresses {
		s.page(address)
	}
	d.stop()
	for _, address := range append(addresses, "/kernel?name=attention", "/metrics") {
		w := s.get(address, nil)
		if w.Code != 503 || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s without a database: status %d: %.300s", address, w.Code, w.Body)
		}
	}
	if w := s.get(s.frame("", "").Links.Asset("dash.css"), nil); w.Code != 200 {
		t.Errorf("a file of the pages without a database: status %d", w.Code)
	}
	d.start()
	for _, address := range addresses {
		if w := s.get(address, nil); w.Code != 200 {
			t.Errorf("%s when the database is back: status %d: %.300s; logged %s", address, w.Code, w.Body, s.logged)
		}
	}
}
