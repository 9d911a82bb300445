package puppet

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// tests is a *testing.M.
type tests interface{ Run() int }

// Run runs the tests of a package, for its TestMain. More of them run beside each
// other than there are cores, because those with puppets mostly wait.
func Run(m tests) int {
	flag.Parse()
	_ = flag.Set("test.parallel", "6") // where it cannot be, tests take longer
	code := m.Run()
	if made != "" {
		_ = os.RemoveAll(made)
	}
	return code
}

var made string // the folder of the binary that was built

// Tests give pawl a cache of their own; go keeps what it has compiled in the user's.
var userCache, _ = os.UserCacheDir()

// program stands in for pawl: this test binary, or one without the race detector.
var program = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil || !race {
		return self, err
	}
	folder, err := os.MkdirTemp("", "pawl-puppet-")
	if err != nil {
		return "", err
	}
	made = folder
	path := filepath.Join(folder, "puppet")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, // as `make build` does, whose packages are compiled then
		"pawl/internal/worker/puppet/alone")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "XDG_CACHE_HOME="+userCache)
	if build.Run() != nil { // no go here: it works as well, only slower
		return self, nil
	}
	return path, nil
})

// Worker returns the command of a worker that shares its devices with nobody, so that
// tests need not wait for each other.
func Worker(locks string) ([]string, error) {
	path, err := program()
	return []string{"env", "PAWL_LOCK_DIR=" + locks, "GORACE=atexit_sleep_ms=0", path, "worker"}, err
}
