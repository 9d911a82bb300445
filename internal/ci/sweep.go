package ci

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
)

// Swept is what a sweep found.
type Swept struct {
	Ended    []string // processes
	Removed  []string // files and folders that a job left
	Restored []string // files of the home folder that it changed or removed
	Left     []string // what could not be put right

	before bool // an earlier sweep had emptied the work folder, and nothing was found to run
}

// remove deletes one file or folder below a root, without following links out of it.
func (s *Swept) remove(root *folder, name string, dry bool) {
	shown := path.Join(root.path, name)
	if !dry {
		err := root.RemoveAll(name)
		if errors.Is(err, syscall.EMFILE) { // folders in folders, more than files can be open at once
			err = errors.Join(root.flatten(name), root.RemoveAll(name))
		}
		if err != nil {
			s.Left = append(s.Left, fmt.Sprintf("%s: %v", shown, err))
			return
		}
	}
	s.Removed = append(s.Removed, shown)
}

// record is what guard remembers of a job, for its sweep.
type record struct {
	Lane   Lane      `json:"lane"`
	Commit string    `json:"commit,omitempty"`
	RunID  string    `json:"run_id"`
	Began  time.Time `json:"began"`
	Start  uint64    `json:"start"` // of guard itself, in ticks since the machine's start
	Boot   string    `json:"boot"`  // which start of the machine
	Swept  bool      `json:"swept"`
	Worker *worker   `json:"worker,omitempty"`
}

// worker is the runner's process that runs one job and ends with it.
type worker struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// began returns when the process started.
func (w *worker) began() time.Time {
	const ticks = 100 // a second; Linux counts so on every architecture
	var since unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &since); err != nil {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(w.Start)*(time.Second/ticks) - time.Duration(since.Nano()))
}

func (w *worker) lives() bool {
	if w == nil {
		return false
	}
	p, err := readProcess(w.PID)
	return err == nil && p.start == w.Start
}

// currentWorker finds the runner's worker among the ancestors of this process.
func currentWorker() *worker {
	for _, p := range lineage(os.Getpid()) {
		if p.name == "Runner.Worker" {
			return &worker{p.pid, p.start}
		}
	}
	return nil
}

func bootID() string {
	text, _ := readSome("/proc/sys/kernel/random/boot_id", 64)
	return strings.TrimSpace(string(text))
}

func (p *Policy) recordFile() string   { return filepath.Join(p.State, "job.json") }
func (p *Policy) manifestFile() string { return filepath.Join(p.State, "home.json") }

// maxState is the most that guard's own files may hold.
const maxState = 512 << 20

func (p *Policy) load(name string, into any) error {
	text, err := readOwned(name, p.owner, maxState)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (p *Policy) save(name string, v any) error {
	text, err := disk.JSON(v)
	if err != nil {
		return err
	}
	return disk.Write(name, text)
}

// lastJob returns the record of the last job; nil where there was none.
func (p *Policy) lastJob() (*record, error) {
	var last record
	err := p.load(p.recordFile(), &last)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &last, err
}

// TakeManifest remembers the runner's home folder as it is now: every sweep puts it back. It is taken
// before the first job, and again only when the administrator asks.
func (p *Policy) TakeManifest() (int, error) {
	if err := os.MkdirAll(p.State, 0o700); err != nil {
		return 0, err
	}
	made, err := takeManifest(p.Home, p.uid, p.outside)
	if err != nil {
		return 0, err
	}
	return len(made.Entries), p.save(p.manifestFile(), made)
}

// outside says how a path below home relates to the folders there that are none of the manifest's.
func (p *Policy) outside(name string) relation {
	folders := slices.Concat([]string{p.Work, p.State}, p.Temp)
	for _, below := range slices.Concat(p.Keep, p.Ignore) {
		folders = append(folders, filepath.Join(p.Home, below))
	}
	at := filepath.Join(p.Home, name)
	for _, folder := range folders {
		switch {
		case at == folder:
			return skipped
		case strings.HasPrefix(folder, at+"/"):
			return above
		}
	}
	return inside
}

type relation int

const (
	inside  relation = iota
	above            // it holds such a folder
	skipped          // it is one
)

// Sweep ends what the last job left running and removes what it left behind. With dry it only says
// what it would do.
func (p *Policy) Sweep(dry bool) (*Swept, error) {
	last, err := p.lastJob()
	if err != nil {
		return nil, err
	}
	if last == nil {
		return &Swept{}, nil
	}
	last.Swept = false
	return p.sweep(last, dry)
}

// sweep is Sweep, for a job that may have been swept already: then its work folder stays, unless
// something of the job still ran.
func (p *Policy) sweep(last *record, dry bool) (*Swept, error) {
	tell := &Swept{}
	since := last.Start
	if last.Boot != bootID() { // processes of that job ended with the machine's last run
		since = 1 << 63
	}
	if err := p.sweepProcesses(since, dry, tell); err != nil {
		return tell, err
	}
	var home manifest
	if err := p.load(p.manifestFile(), &home); err != nil {
		return tell, err
	}
	if home.Home != p.Home {
		return tell, fmt.Errorf("the manifest is of %s, the policy of %s: run pawl ci guard --manifest", home.Home, p.Home)
	}
	if err := home.restore(p.uid, p.outside, dry, tell); err != nil {
		return tell, err
	}
	for _, temp := range p.Temp {
		if err := p.sweepSince(temp, anybody, last.Began, dry, tell); err != nil {
			return tell, err
		}
	}
	for _, spool := range p.spools {
		// Only root can put a link there, and what it leads to is in the list, too.
		if info, err := os.Lstat(spool); err != nil || !info.IsDir() {
			continue
		}
		if err := p.sweepSince(spool, anybody, last.Began, dry, tell); err != nil {
			return tell, err
		}
	}
	if err := p.sweepLinks(dry, tell); err != nil {
		return tell, err
	}
	if last.Lane != OwnLane { // the repository's own jobs may keep their checkout and caches
		for _, cache := range p.Keep {
			if err := p.sweepSince(filepath.Join(p.Home, cache), p.uid, last.Began, dry, tell); err != nil {
				return tell, err
			}
		}
		if tell.before = last.Swept && len(tell.Ended) == 0; !tell.before {
			if err := p.sweepWork(dry, tell); err != nil {
				return tell, err
			}
		}
	}
	if dry || len(tell.Left) > 0 {
		return tell, nil
	}
	last.Swept = true
	return tell, p.save(p.recordFile(), last)
}

func (p *Policy) sweepProcesses(since uint64, dry bool, tell *Swept) error {
	if dry {
		found, err := leftovers(p.owns, since)
		for _, process := range found {
			tell.Ended = append(tell.Ended, process.String())
		}
		return err
	}
	ended, left, err := endLeftovers(p.owns, since)
	for _, process := range ended {
		tell.Ended = append(tell.Ended, process.String())
	}
	for _, process := range left {
		tell.Left = append(tell.Left, fmt.Sprintf("process %s does not end", process))
	}
	return err
}

const anybody = -1

// sweepLinks removes links in place of caches.
func (p *Policy) sweepLinks(dry bool, tell *Swept) error {
	home, err := openFolder(p.Home, p.uid)
	if err != nil {
		return err
	}
	defer home.Close()
	for _, cache := range p.Keep {
		if info, err := home.Lstat(cache); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			tell.remove(home, cache, dry)
		}
	}
	return nil
}

// sweepSince removes what the runner's user wrote below a folder since a time. A folder that is
// older stays.
func (p *Policy) sweepSince(at string, owner int, began time.Time, dry bool, tell *Swept) error {
	root, err := openFolder(at, owner)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	visited := 0
	return walk(root, func(name string, info fs.FileInfo) error {
		if visited++; visited > 10*maxEntries {
			return fmt.Errorf("%s: more than %d files", at, 10*maxEntries)
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || !p.owns(int(stat.Uid)) {
			if info.IsDir() { // nothing of the user's can be new in what others own, unless all may write there
				if info.Mode().Perm()&0o002 != 0 {
					return nil
				}
				return fs.SkipDir
			}
			return nil
		}
		// A time that the file's owner cannot set. A second earlier, since coarse clocks lag.
		isNew := stat.Ctim.Nano() >= began.Add(-time.Second).UnixNano()
		if !isNew {
			return nil
		}
		if info.IsDir() && root.bornBefore(name, began) {
			return nil
		}
		tell.remove(root, name, dry)
		return fs.SkipDir
	})
}

// sweepWork empties a work folder. The runner still reads the files that connect it with the hook.
func (p *Policy) sweepWork(dry bool, tell *Swept) error {
	root, err := openFolder(p.Work, p.uid)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return walk(root, func(name string, info fs.FileInfo) error {
		if info.IsDir() && name == "_temp" {
			return nil
		}
		if name == "_temp/_runner_file_commands" || name == "_temp/_github_workflow" {
			return fs.SkipDir
		}
		tell.remove(root, name, dry)
		return fs.SkipDir
	})
}
