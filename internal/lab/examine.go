package lab

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/verify"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// Examiner holds the cells in which one kernel's answers are verified: its own, those of its oracle
// and rival, and the one that compares. It opens them when they are first needed, and again after
// one has ended.
type Examiner struct {
	answers   *Answers
	seed      uint64
	lab       *Lab
	sides     [3]*Job // candidate, reference, rival: any config of theirs
	seats     [3]*Lease
	judge     *worker.Cell
	client    *worker.Client
	footprint int64  // of the largest problem
	borrowed  *Lease // the candidate's cell, which its owner closes
	last      *verify.Bench
	used      [3]*Lease // cells of an earlier examiner, into which the sides can be loaded
}

// The sides of an examination.
const (
	examined = iota
	reference
	rival
)

// NewExaminer makes an Examiner for a candidate (nil: for outputs that exist already) and an exam
// whose jobs are built. Footprint is that of the largest problem to come.
func (l *Lab) NewExaminer(x Exam, candidate *Job, footprint int64, seed uint64) *Examiner {
	return &Examiner{answers: x.Answers, seed: seed, lab: l, sides: [3]*Job{candidate, x.Reference, x.Rival}, footprint: footprint}
}

// Bench returns the bench that verifies one problem: the candidate's instance, and those of
// reference and rival where there are any.
func (e *Examiner) Bench(ctx context.Context, instances [3]*spec.Instance) (*verify.Bench, error) {
	client, err := e.lab.Client(ctx)
	if err != nil {
		return nil, err
	}
	if client != e.client { // the cells ended with the last worker
		e.client, e.seats, e.used, e.judge = client, [3]*Lease{}, [3]*Lease{}, nil
	}
	b := &verify.Bench{Seed: e.seed, Tolerance: e.answers.Tolerance, Usual: e.answers.Usual, Factor: e.answers.Factor, Timeout: e.lab.Timeout}
	if err := e.seat(ctx); err != nil {
		return nil, err
	}
	sides := [3]*verify.Side{}
	for i, job := range e.sides {
		if job != nil {
			sides[i] = &verify.Side{Cell: e.seats[i].Cell, Instance: instances[i], Symbols: job.Artifact.Symbols}
		}
	}
	if e.judge == nil {
		if e.judge, err = e.openJudge(ctx); err != nil {
			return nil, &verify.OracleError{Err: err}
		}
	}
	if sides[examined] != nil {
		b.Candidate = *sides[examined]
	}
	b.Oracle, b.Rival, b.Judge = e.answers.oracle(sides[reference]), sides[rival], e.judge
	if e.last != nil {
		b.Follow(e.last)
	}
	e.last = b
	return b, nil
}

// seat opens the cells that are not open, all at once: importing a framework takes seconds. Without
// a candidate only outputs that it produced before are verified.
func (e *Examiner) seat(ctx context.Context) error {
	var errs [3]error
	atOnce(len(e.sides), func(i int) {
		if e.sides[i] != nil && e.seats[i] == nil {
			e.seats[i], errs[i] = e.open(ctx, i)
		}
	})
	if errs[examined] != nil {
		return errs[examined]
	}
	if err := cmp.Or(errs[reference], errs[rival]); err != nil {
		return &verify.OracleError{Err: err}
	}
	for i, job := range e.sides {
		if seat := e.seats[i]; job != nil && seat.last == nil {
			e.lab.describe(job, seat)
		}
	}
	return nil
}

// open opens a side's cell, or loads the side into a used one.
func (e *Examiner) open(ctx context.Context, side int) (*Lease, error) {
	job := e.sides[side]
	if used := e.used[side]; used != nil {
		e.used[side] = nil
		lease, err := e.lab.Lease(ctx, job, Purpose{Beside: used})
		if err == nil {
			return lease, nil
		}
		_ = endCell(ctx, used.Cell, err) // the kernel before may be the reason
	}
	purpose := Purpose{client: e.client}
	if job.Cell() != spec.CellCUDA {
		purpose.Memory = 5*e.footprint + spareMemory
	}
	if job.Untimed && job.Cell() == spec.CellPython { // references compute in wider types
		purpose.Memory = max(purpose.Memory, wideMemory*e.footprint+2*spareMemory)
	}
	return e.lab.Lease(ctx, job, purpose)
}

// wideMemory is how many times a problem's own memory a reference in wider types may take.
const wideMemory = 24

// openJudge opens the cell that compares outputs. A reference in double precision takes several
// times the memory of the problem.
func (e *Examiner) openJudge(ctx context.Context) (*worker.Cell, error) {
	return e.client.Open(ctx, wire.Open{
		Cell: "oracle", Sandbox: e.lab.Sandbox, Memory: wideMemory*e.footprint + 2*spareMemory, Threads: spareThreads + 2*runtime.NumCPU(),
	})
}

// Inherit takes over the cells of an examiner that has done its work, where the same side of this
// one can be loaded: device code cannot reach the process that launches it, and is unloaded. A
// candidate never gets the cell of a reference. The other examiner keeps the remaining cells. It
// reports whether it took a candidate's or a reference's cell.
func (e *Examiner) Inherit(from *Examiner) bool {
	e.client = from.client
	if from.judge != nil && from.footprint >= e.footprint {
		e.judge, from.judge = from.judge, nil
	}
	took := false
	for i, job := range e.sides {
		if seat := from.seats[i]; seat != nil && seat != from.borrowed && job != nil && job.Variant.Kernel.DeviceCode() && from.sides[i].Variant.Kernel.DeviceCode() {
			e.used[i], from.seats[i] = seat, nil
			took = true
		}
	}
	return took
}

// SwitchTo continues with another config of the candidate. If the candidate's cell is open, it is used
// again; call Renew first where it must not be.
func (e *Examiner) SwitchTo(candidate *Job) {
	e.sides[examined] = candidate
	if seat := e.seats[examined]; seat != nil {
		e.lab.describe(candidate, seat)
	}
}

// Borrow uses a cell that is open already, and stays open, as the candidate's. Return ends that.
func (e *Examiner) Borrow(candidate *Job, seat *Lease) {
	if e.client != seat.client { // the cells ended with the last worker
		e.client, e.seats, e.judge = seat.client, [3]*Lease{}, nil
	}
	e.sides[examined], e.seats[examined], e.borrowed = candidate, seat, seat
}

// Return gives a borrowed cell back.
func (e *Examiner) Return() {
	if e.seats[examined] == e.borrowed {
		e.seats[examined] = nil
	}
	e.sides[examined], e.borrowed = nil, nil
}

// Fits reports whether the examiner has the cells for a candidate and its exam.
func (e *Examiner) Fits(x Exam, candidate *Job) bool {
	for i, job := range [3]*Job{candidate, x.Reference, x.Rival} {
		mine := e.sides[i]
		if (mine == nil) != (job == nil) || mine != nil && (mine.Artifact.Key != job.Artifact.Key || mine.Variant.Kernel != job.Variant.Kernel) {
			return false
		}
	}
	return e.answers.Oracle == x.Oracle && e.answers.Tolerance == x.Tolerance && e.answers.Usual == x.Usual && e.answers.Factor == x.Factor
}

// Renew closes the candidate's cell, so that the next problem gets a fresh one. It returns the
// error that only closing reveals.
func (e *Examiner) Renew(ctx context.Context, err error) error {
	seat := e.seats[examined]
	e.seats[examined] = nil
	if seat == nil {
		return nil
	}
	return e.sides[examined].closed(endCell(ctx, seat.Cell, err))
}

// Close ends the cells, all at once: a cell that has used a GPU takes a while to end. It returns
// the error that only closing the candidate's cell reveals: forged answers, for example.
func (e *Examiner) Close(ctx context.Context) error {
	var closing sync.WaitGroup
	if e.judge != nil {
		closing.Go(func() { _, _ = e.judge.Close(ctx) })
	}
	ends := endAll(ctx, slices.Concat(e.seats[:], e.used[:]))
	closing.Wait()
	var own error
	for i, seat := range e.seats {
		if seat == nil {
			continue
		}
		if err := e.sides[i].closed(ends[i]); i == examined {
			own = err
		}
	}
	e.seats, e.used, e.judge, e.last = [3]*Lease{}, [3]*Lease{}, nil, nil
	return own
}

// Limits of examinations at a time.
const (
	mostExaminers    = 4
	coresPerExaminer = 4       // for cells, frameworks that are imported there, and the comparison
	copiesOnDevice   = 64      // of a problem, at most: inputs and answers of all sides, and copies of them
	perProcess       = 1 << 30 // bytes of a GPU that a process takes before it has any data
)

// Examiners returns how many examinations of GPU kernels can go on at a time, where the largest
// problem has the given size: starting cells and importing frameworks takes longer than they
// compute.
func (l *Lab) Examiners(footprint int64) int {
	devices := l.Devices()
	if l.Device >= len(devices) {
		return 1
	}
	fit := devices[l.Device].MemoryBytes / 2 / (copiesOnDevice*footprint + perProcess)
	return max(1, min(mostExaminers, l.hello().Machine.CPU.Cores/coresPerExaminer, int(fit)))
}

// SharedDevice is a GPU that several examinations use. Launches whose time matters have it alone.
type SharedDevice struct{ busy sync.RWMutex }

// Share waits until the device may be used beside others; Leave ends that.
func (d *SharedDevice) Share() { d.busy.RLock() }

// Leave ends the use of the device.
func (d *SharedDevice) Leave() { d.busy.RUnlock() }

// Alone calls do while nobody else uses the device. The caller shares it before and afterwards.
func (d *SharedDevice) Alone(do func()) {
	d.Leave()
	d.busy.Lock()
	do()
	d.busy.Unlock()
	d.Share()
}

// AtATime calls do for every number below n, at most this many at a time, and waits for them.
func AtATime(most, n int, do func(i int)) {
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	atOnce(min(most, n), func(int) {
		for i := range next {
			do(i)
		}
	})
}

// VerifyBatch is the batch of data that answers are verified on. It is far from those that are timed.
const VerifyBatch = 1 << 20

// NewCase returns a case of a config before anything is known of it.
func NewCase(lane string, config *spec.Config, seed uint64, batch int) *result.Case {
	c := &result.Case{Lane: lane, Seed: seed, Batch: batch, Vars: vars(config)}
	for _, v := range config.Vars {
		c.Names = append(c.Names, v.Name)
	}
	return c
}
