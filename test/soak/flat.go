package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// What may be added between two looks: garbage that is not collected yet, and threads
// that the runtimes of Go and Python start when they like.
const (
	moreBytes   = 12 << 20
	moreThreads = 4
)

// holding is what a process has.
type holding struct {
	resident             int64 // bytes
	descriptors, threads int
}

func holdingOf(pid int) (holding, error) {
	folder := fmt.Sprintf("/proc/%d/", pid)
	memory, unread := os.ReadFile(folder + "statm")
	var size, resident int64 // pages
	_, unscanned := fmt.Sscan(string(memory), &size, &resident)
	descriptors, unlisted := os.ReadDir(folder + "fd")
	threads, uncounted := os.ReadDir(folder + "task")
	h := holding{resident * int64(os.Getpagesize()), len(descriptors), len(threads)}
	return h, errors.Join(unread, unscanned, unlisted, uncounted)
}

// growth says which process holds more than before; nil: none does.
func growth(before, now map[string]holding, log func(format string, args ...any)) error {
	for _, who := range []string{"cell", "worker", "parent"} {
		before, now := before[who], now[who]
		log("%s: %+v, then %+v", who, before, now)
		switch {
		case now.resident > before.resident+moreBytes:
			return fmt.Errorf("the %s grew from %d to %d MiB", who, before.resident>>20, now.resident>>20)
		case now.descriptors > before.descriptors:
			return fmt.Errorf("the %s had %d descriptors open and now has %d", who, before.descriptors, now.descriptors)
		case now.threads > before.threads+moreThreads:
			return fmt.Errorf("%w: the %s had %d threads and now has %d", errThreads, who, before.threads, now.threads)
		}
	}
	return nil
}

// holdings returns those of a cell, its worker and this process, the parent.
func holdings(client *worker.Client, cell *worker.Cell) (map[string]holding, error) {
	debug.FreeOSMemory() // what the parent has not collected yet is not held
	found := map[string]holding{}
	for who, pid := range map[string]int{"cell": cell.Info.PID, "worker": client.Hello().PID, "parent": os.Getpid()} {
		var err error
		if found[who], err = holdingOf(pid); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// A step of work takes this many samples, or answers one request.
type step func(ctx context.Context, first int) (samples int, err error)

// Flat works until this many samples are taken, and is an error where cell, worker or
// parent then holds more than it did after the first tenth. log is told what they hold.
// On a busy machine the runtimes start more threads, and keep them. A leak goes on: it
// shows again in as many samples more.
func Flat(ctx context.Context, client *worker.Client, cell *worker.Cell, samples int, work step, log func(format string, args ...any)) error {
	err := flat(ctx, client, cell, samples, work, log)
	if errors.Is(err, errThreads) {
		err = flat(ctx, client, cell, samples, work, log)
	}
	return err
}

// errThreads means that there are more threads than before.
var errThreads = errors.New("threads were left behind")

func flat(ctx context.Context, client *worker.Client, cell *worker.Cell, samples int, work step, log func(format string, args ...any)) error {
	var before map[string]holding
	for taken := 0; taken < samples; {
		if before == nil && taken >= samples/10 {
			var err error
			if before, err = holdings(client, cell); err != nil {
				return err
			}
		}
		n, err := work(ctx, taken)
		if err != nil {
			return fmt.Errorf("after %d samples: %w", taken, err)
		}
		taken += n
	}
	var more error
	for range 5 { // a look may fall into a moment in which something is open
		now, err := holdings(client, cell)
		if err != nil {
			return err
		}
		if more = growth(before, now, log); more == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("in %d samples %w", samples, more)
}

// Sampling asks for samples as a row that is measured does: a few elements of every
// input are others in each.
func Sampling(cell *worker.Cell, perRequest int) step {
	return func(ctx context.Context, first int) (int, error) {
		got, err := cell.Sample(ctx, wire.Sample{Count: perRequest, Repeat: 1, Cache: "hot", Step: first + 1, DeadlineS: 120})
		if err != nil {
			return 0, err
		}
		return got.Count, nil
	}
}
