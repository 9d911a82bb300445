package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/pattern"
	"pawl/internal/result"
	"pawl/internal/run"
)

// Pool is where a run's workers come from, unless that is this machine.
type Pool struct {
	Name    string
	Cleanup []string // ends what the workers of a run may have left elsewhere; nil: there is none
}

// cleanupTime bounds a pool's cleanup.
const cleanupTime = 30 * time.Second

// recordFile is in the folder of a run whose pool is not cleaned up yet, and locked while the run goes
// on: what a killed run has left is found by a record that nobody locks.
const recordFile = "pool"

// poolUse is what a run has begun in a pool.
type poolUse struct {
	Pool
	launch []string
	run    *run.Run

	mu   sync.Mutex
	used bool
	lock *os.File // of the record; nil: there is none
}

// tag is the run's id as schedulers accept it in names and labels.
func tag(id string) string { return strings.ToLower(id) }

var runVariable = pattern.New(`\$(?:RUN\b|\{RUN\})`)

// expand puts a run's tag in the place of $RUN and ${RUN} in the words of a command.
func expand(words []string, id string) []string {
	var out []string
	for _, word := range words {
		out = append(out, runVariable.Regexp().ReplaceAllLiteralString(word, tag(id)))
	}
	return out
}

// environment is what a pool's commands get besides the user's own.
func environment(id string) []string { return []string{"PAWL_RUN=" + tag(id)} }

// enter prepares a pool for the run's first worker: what earlier runs have left there is ended. It
// returns what went wrong.
func (p *poolUse) enter(ctx context.Context) (warnings []result.Warning) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used {
		return nil
	}
	p.used = true
	if holdsBack(p.launch) {
		warnings = append(warnings, result.Warning{
			Code: "pool", Message: fmt.Sprintf("the launch command of pool %s is slow: without -u, srun passes on whole lines only, and every answer may take 5 s", p.Name),
			Hint: "write srun -u",
		})
	}
	if len(p.Cleanup) == 0 {
		return warnings
	}
	dir, err := p.run.Folder()
	if err != nil {
		return warnings // saving the report will say so
	}
	for _, path := range leftovers(filepath.Dir(dir)) {
		warnings = append(warnings, p.sweep(ctx, path)...)
	}
	if p.lock, err = record(dir, p.Name); err != nil {
		warnings = append(warnings, result.Warning{
			Code: "pool", Message: fmt.Sprintf("if this run is killed, the next one does not know of it and leaves pool %s as it is: %v", p.Name, err),
			Hint: "run its cleanup yourself then",
		})
	}
	return warnings
}

// record writes the record of a run that begins to use a pool.
func record(dir, pool string) (*os.File, error) {
	path := filepath.Join(dir, recordFile)
	file, err := os.CreateTemp(dir, "."+recordFile+".*")
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		_, err = file.WriteString(pool + "\n")
	}
	if err == nil {
		err = os.Rename(file.Name(), path) // locked from its first moment
	}
	if err != nil {
		file.Close()
		_ = os.Remove(file.Name())
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	return file, nil
}

var runFolder = pattern.New(`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{12}$`)

// leftovers returns the records below a folder of runs.
func leftovers(runs string) []string {
	found, _ := filepath.Glob(filepath.Join(runs, "*", recordFile))
	var out []string
	for _, path := range found {
		if runFolder.MatchString(filepath.Base(filepath.Dir(path))) {
			out = append(out, path)
		}
	}
	return out
}

// sweep cleans up after the run of a record, unless that run goes on or used another pool. The command
// is that of pawl.yaml as it is now: a record names no command.
func (p *poolUse) sweep(ctx context.Context, path string) []result.Warning {
	const longest = 256
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil
	}
	name := make([]byte, longest)
	n, _ := file.Read(name)
	if strings.TrimSpace(string(name[:n])) != p.Name {
		return nil
	}
	id := filepath.Base(filepath.Dir(path))
	if warning := p.clean(ctx, id); warning != nil {
		warning.Hint += "; or remove " + path
		return []result.Warning{*warning}
	}
	_ = os.Remove(path)
	return nil
}

// leave cleans up after the run, also when it was interrupted.
func (p *poolUse) leave(ctx context.Context) *result.Warning {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.used {
		return nil
	}
	p.used = false
	if len(p.Cleanup) == 0 {
		return nil
	}
	warning := p.clean(context.WithoutCancel(ctx), p.run.ID)
	if p.lock != nil {
		if warning == nil {
			_ = os.Remove(filepath.Join(p.run.Dir, recordFile))
		}
		p.lock.Close()
		p.lock = nil
	}
	return warning
}

// clean ends what the workers of a run have left.
func (p *poolUse) clean(ctx context.Context, id string) *result.Warning {
	words := expand(p.Cleanup, id)
	ctx, cancel := context.WithTimeout(ctx, cleanupTime)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), environment(id)...)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C does not end it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if err == nil {
		return nil
	}
	why := err.Error()
	if ctx.Err() != nil {
		why = fmt.Sprintf("it was ended after %v", cleanupTime)
	}
	if text := lastOf(said.String()); text != "" {
		why += ": " + text
	}
	return &result.Warning{
		Code: "pool", Message: fmt.Sprintf("the cleanup of pool %s failed, and jobs of run %s may live on: %s (its command: %s)", p.Name, tag(id), why, strings.Join(words, " ")),
		Hint: "run the command yourself; the next run with this pool tries it again",
	}
}

// holdsBack reports whether a launch command lets srun hold a worker's answers back: it passes on whole
// lines, and the bytes that follow a frame are none.
func holdsBack(launch []string) bool {
	if len(launch) == 0 || filepath.Base(launch[0]) != "srun" {
		return false
	}
	return !slices.ContainsFunc(launch, func(word string) bool { return word == "-u" || word == "--unbuffered" })
}

// lastOf returns the end of a command's output, in one line.
func lastOf(text string) string {
	const most = 400
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " "))
	if len(runes) > most {
		return "…" + string(runes[len(runes)-most:])
	}
	return string(runes)
}
