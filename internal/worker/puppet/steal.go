package puppet

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"pawl/internal/machine"
	"pawl/internal/worker"
)

// Stolen is the environment variable that names the share of its time that a puppet's
// worker believes to be stolen by a hypervisor; without it, that is what really is: a
// puppet that sleeps for as long as it claims would be accused otherwise. 0 is for tests
// that want something to be found, which stolen time would excuse. Beyond 1 it is more
// than has passed, as counting in ticks makes it of short requests.
const Stolen = "PAWL_PUPPET_STOLEN"

// stealing has a folder in place of /proc, on a machine whose cores are stolen: nobody
// can make a hypervisor do so, or not do so.
func stealing() (opts worker.ServeOptions, clear func()) {
	text, asked := os.LookupEnv(Stolen)
	if !asked {
		return worker.ServeOptions{}, func() {}
	}
	share := must(strconv.ParseFloat(text, 64))
	if share == 0 {
		return worker.ServeOptions{Stat: os.DevNull}, func() {}
	}
	folder := must(os.MkdirTemp("", "pawl-proc-"))
	core := machine.QuietCore() // that the worker keeps a cell of one thread on
	began := time.Now()
	write := func() {
		ticks := int(share * time.Since(began).Seconds() * 100)
		beside := filepath.Join(folder, "stat.new")
		_ = os.WriteFile(beside, fmt.Appendf(nil, "cpu%d 0 0 0 0 0 0 0 %d 0 0\n", core, ticks), 0o600)
		_ = os.Rename(beside, filepath.Join(folder, "stat"))
	}
	write()
	go func() {
		for range time.Tick(time.Millisecond) {
			write()
		}
	}()
	return worker.ServeOptions{Proc: folder}, func() { _ = os.RemoveAll(folder) }
}
