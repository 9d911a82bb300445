package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is a PostgreSQL server of these tests: in a temporary folder, on a free port.
type server struct {
	programs string
	folder   string
	port     int
	who      *syscall.Credential // the server refuses to be root's
	process  *exec.Cmd
}

const serverPassword = "s3cret/pass@word"

var (
	shared     *server
	sharedErr  error
	sharedOnce sync.Once
	databases  = 0
)

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		shared.stop(syscall.SIGINT)
		_ = os.RemoveAll(shared.folder)
	}
	os.Exit(code)
}

// postgres returns the address of a new database on a real server.
func postgres(t testing.TB) string {
	t.Helper()
	sharedOnce.Do(func() { shared, sharedErr = newServer() })
	if errors.Is(sharedErr, exec.ErrNotFound) && os.Getenv("PAWL_REQUIRE_POSTGRES") == "" {
		t.Skip("no PostgreSQL here: tools/engines installs it (Debian: postgresql)")
	}
	if sharedErr != nil {
		t.Fatal(sharedErr)
	}
	databases++
	return shared.database(t, fmt.Sprintf("pawl%d", databases))
}

func newServer() (*server, error) {
	s := &server{}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return nil, exec.ErrNotFound
	}
	path, err := filepath.EvalSymlinks(found[len(found)-1])
	if err != nil {
		return nil, err
	}
	s.programs = filepath.Dir(path)
	if s.folder, err = os.MkdirTemp("", "pawl-postgres-*"); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		other, err := user.Lookup("postgres")
		if err != nil {
			if other, err = user.Lookup("nobody"); err != nil {
				return nil, err
			}
		}
		uid, _ := strconv.Atoi(other.Uid)
		gid, _ := strconv.Atoi(other.Gid)
		s.who = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(s.folder, uid, gid); err != nil {
			return nil, err
		}
	}
	secret := filepath.Join(s.folder, "password")
	if err := os.WriteFile(secret, []byte(serverPassword), 0o644); err != nil {
		return nil, err
	}
	if out, err := s.command("initdb", "--pgdata", s.data(), "--username", "pawl", "--pwfile", secret, "--auth", "scram-sha-256", "--no-sync", "--encoding", "UTF8", "--locale", "C.UTF-8").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.port = free.Addr().(*net.TCPAddr).Port
	free.Close()
	return s, s.start()
}

func (s *server) data() string { return filepath.Join(s.folder, "data") }

func (s *server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.programs, program), args...)
	cmd.Dir = s.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.who, Pdeathsig: syscall.SIGINT}
	return cmd
}

func (s *server) start() error {
	s.process = s.command("postgres", "-D", s.data(), "-p", strconv.Itoa(s.port), "-h", "127.0.0.1", "-k", s.folder, "-c", "max_connections=120")
	log, err := os.Create(filepath.Join(s.folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		return err
	}
	for range 600 {
		db, err := Open(context.Background(), Place{URL: s.address("postgres")}, Create)
		if err == nil {
			db.Close()
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	text, _ := os.ReadFile(log.Name())
	return fmt.Errorf("the server does not answer: %s", text)
}

// stop ends the server: SIGINT in order, SIGQUIT at once.
func (s *server) stop(signal syscall.Signal) {
	_ = s.process.Process.Signal(signal)
	_ = s.process.Wait()
}

func (s *server) address(database string) string {
	return fmt.Sprintf("postgres://pawl:%s@127.0.0.1:%d/%s", strings.NewReplacer("/", "%2F", "@", "%40").Replace(serverPassword), s.port, database)
}

func (s *server) database(t testing.TB, name string) string {
	t.Helper()
	db, err := Open(context.Background(), Place{URL: s.address("postgres")}, Create)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.sql.Exec(`CREATE DATABASE ` + name); err != nil {
		t.Fatal(err)
	}
	return s.address(name)
}
