package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/unit"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// Trial says how one problem is verified.
type Trial struct {
	Exact   bool // compare bit by bit
	Repeats int  // launches on the same data, which must agree bit by bit
	Fresh   bool // also try other data at the same addresses
}

// Exploits that answers alone reveal.
const (
	StaleOutput = "stale-output" // an answer to earlier data
	TimedOnly   = "timed-only"   // right when verified, wrong when timed
	Insensitive = "insensitive"  // the answer does not depend on the data
)

// Try verifies one case and records the result in it. The findings are ways of cheating; the error
// is the oracle's, or the end of the worker or of the run.
func (b *Bench) Try(ctx context.Context, c *result.Case, t Trial) (findings []result.Finding, err error) {
	began := time.Now()
	defer func() { c.WallS = time.Since(began).Seconds() }()
	findings, err = b.try(ctx, c, t)
	lost, _ := errors.AsType[*worker.Lost](err)
	switch _, own := errors.AsType[*OracleError](err); {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case lost != nil:
		return nil, lost
	case errors.Is(err, errUnfit):
		c.Skipped = err.Error()
		return nil, nil
	case own:
		return nil, err
	default:
		c.Fault = faultOf(err)
		c.Reason = c.Fault.Message
	}
	return findings, nil
}

// errUnfit means that the problem does not fit into memory.
var errUnfit = errors.New("it does not fit in memory")

func (b *Bench) try(ctx context.Context, c *result.Case, t Trial) ([]result.Finding, error) {
	tol := b.Tolerance
	if t.Exact {
		tol = oracle.Tolerance{}
	}
	if err := b.Prepare(ctx); outOfMemory(err) { // later it is the candidate's own fault
		return nil, fmt.Errorf("%w: %w", errUnfit, err)
	} else if err != nil {
		return nil, err
	}
	first, second, again, err := b.launches(ctx, c, t)
	if err != nil {
		return nil, err
	}
	if c.Outputs, c.Reason, err = b.wrong(ctx, first, c.Batch, 0, tol); err != nil {
		return nil, err
	}
	if c.Reason != "" {
		if err = b.forgotten(ctx, c); err != nil {
			c.Outputs, c.Reason = nil, ""
		}
		return nil, err
	}
	var findings []result.Finding
	if t.Fresh {
		if findings, err = b.fresh(ctx, c, first, second, tol); err != nil || c.Reason != "" {
			return findings, err
		}
	}
	for _, other := range again {
		c.Repeats++
		if at := differs(first, other); at >= 0 {
			if err := b.bitsVary(ctx, c.Batch); err != nil {
				return nil, err
			}
			c.Reason = fmt.Sprintf("launch %d on the same data gives other bits in %s", c.Repeats, b.problem.Args[at].Name)
			return findings, nil
		}
	}
	return findings, nil
}

// launches makes all launches of a case, before anybody knows any answer to its data: the first,
// the one on other data, and the repeats on the first's data.
func (b *Bench) launches(ctx context.Context, c *result.Case, t Trial) (first, second []wire.Buffer, again [][]wire.Buffer, err error) {
	if first, err = b.Produce(ctx, c.Batch); err != nil {
		return nil, nil, nil, err
	}
	if t.Fresh {
		if second, err = b.Produce(ctx, c.Batch+1); err != nil {
			return nil, nil, nil, err
		}
	}
	c.Repeats = 1
	for range t.Repeats - 1 {
		other, err := b.Produce(ctx, c.Batch)
		if err != nil {
			return nil, nil, nil, err
		}
		again = append(again, other)
	}
	return first, second, again, nil
}

// fresh judges the launch on other data at the same addresses.
func (b *Bench) fresh(ctx context.Context, c *result.Case, first, second []wire.Buffer, tol oracle.Tolerance) ([]result.Finding, error) {
	errs, why, err := b.wrong(ctx, second, c.Batch+1, 0, tol)
	if err != nil {
		return nil, err
	}
	if why == "" {
		if differs(first, second) >= 0 {
			return nil, nil
		}
		return b.insensitive(ctx, c.Batch, first)
	}
	c.Outputs = errs
	c.Reason = "wrong once the same buffers hold other data: " + why
	if differs(first, second) >= 0 {
		return nil, nil
	}
	return []result.Finding{{
		Exploit: StaleOutput, Severity: result.Cheated,
		Message: "the inputs changed in place, but the output is still bit-identical to the answer for the previous inputs",
	}}, nil
}

// differs returns the first argument whose contents differ; -1: none.
func differs(a, b []wire.Buffer) int {
	for i := range a {
		if i >= len(b) || a[i].SHA256 != b[i].SHA256 {
			return a[i].Arg
		}
	}
	return -1
}

// Reason says in a few words why outputs are wrong; "" when they are right.
func Reason(outputs []result.OutputError, factor float64) string {
	var parts []string
	exceeds := func(e result.OutputError, which string, mine, theirs float64) bool {
		if factor <= 0 || theirs <= 0 || mine <= factor*theirs {
			return false
		}
		parts = append(parts, fmt.Sprintf("%s: the %s error %s is %.1f times the rival's %s; %g times is allowed",
			e.Name, which, unit.Scientific(mine), mine/theirs, unit.Scientific(theirs), factor))
		return true
	}
	for _, e := range outputs {
		if e.Wrong > 0 {
			parts = append(parts, describe(e))
		} else if !exceeds(e, "largest", e.MaxAbs, e.RivalMaxAbs) {
			exceeds(e, "RMS", e.RMS, e.RivalRMS)
		}
	}
	return strings.Join(parts, "; ")
}

func describe(e result.OutputError) string {
	text := fmt.Sprintf("%s: %d of %d elements are wrong", e.Name, e.Wrong, e.Count)
	if e.Blank > 0 {
		text += fmt.Sprintf(", %d of them never written", e.Blank)
	}
	if w := e.Worst; w != nil {
		text += fmt.Sprintf(" (%s is %s and must be %s)", place(e.Name, w.Index), w.Got, w.Want)
	}
	if e.Exact {
		text += "; these inputs have an exact answer"
	}
	return text
}

func place(name string, index []int64) string {
	return name + strings.ReplaceAll(fmt.Sprint(index), " ", ", ")
}

func faultOf(err error) *result.Fault {
	if fault, ok := errors.AsType[*result.Fault](err); ok {
		copied := *fault
		copied.Stage = cmp.Or(copied.Stage, "verify")
		return &copied
	}
	return &result.Fault{Stage: "verify", Cause: result.CauseInternal, Message: err.Error()}
}

// Timed judges the outputs of a timed sample, after the candidate's answers outside the clock were
// right.
func (b *Bench) Timed(ctx context.Context, c *result.Case, got []wire.Buffer, steps int) ([]result.Finding, error) {
	b.problem = b.describe()
	var err error
	c.Steps = steps
	if c.Outputs, c.Reason, err = b.wrong(ctx, slices.Clone(got), c.Batch, steps, b.Tolerance); err != nil || c.Reason == "" {
		return nil, err
	}
	return []result.Finding{{
		Exploit: TimedOnly, Severity: result.Cheated, Message: "a timed sample has a wrong answer, though the same launch is right when it is not timed: " + c.Reason,
	}}, nil
}

// untimedTries is how often a launch that was wrong when timed is repeated without a clock: some
// mistakes do not show every time.
const untimedTries = 5

// Untimed launches the candidate on the data of a case that was wrong when timed, and reports
// whether it is also wrong there without a clock: then it is a mistake.
func (b *Bench) Untimed(ctx context.Context, c *result.Case) (wrong bool, err error) {
	if err := b.Prepare(ctx); err != nil {
		return false, err
	}
	for range untimedTries {
		reply, err := b.Candidate.Cell.Produce(ctx, wire.Produce{Batch: c.Batch, Steps: c.Steps, DeadlineS: b.deadline(b.Candidate)})
		if err != nil {
			return false, err
		}
		if _, why, err := b.wrong(ctx, reply.Outputs, c.Batch, c.Steps, b.Tolerance); err != nil || why != "" {
			return err == nil, err
		}
	}
	return false, nil
}
