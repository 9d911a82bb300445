package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// Cell is the parent's end of one cell.
type Cell struct {
	client *Client
	id     uint64
	Info   wire.OpenReply
	seed   uint64 // of the run, which the cell does not get

	OnDevice bool // its loaded code runs on a GPU

	// Signature is how a launcher's entry is called, in C: a crash in the first call shows it.
	Signature string
	launched  bool // a launch has returned

	// Timeout is how long a launch may take. A request may take longer, because it also prepares data:
	// a launch that does not end is told the limit that its author knows.
	Timeout   time.Duration
	reference bool // it gives right answers, for which it has longer
	profiled  bool // it runs under Nsight Compute, which takes a while to end
}

// told adds what the parent knows to a failed launch: the limit that it exceeded, and the signature
// to a crash in the cell's first launches, where an entry that expects other parameters crashes.
func (c *Cell) told(err error) error {
	failed, ok := errors.AsType[*Failed](err)
	if ok && failed.Cause == result.CauseTimeout && failed.CellEnded && c.Timeout > 0 && !c.reference {
		failed.Message = fmt.Sprintf("no answer after %v, the longest that a launch may take: the cell was ended", c.Timeout)
	}
	if ok && failed.Cause == result.CauseCrash && !c.launched && c.Signature != "" {
		failed.Hint = strings.TrimPrefix(failed.Hint+"; ", "; ") + "pawl called " + c.Signature + ": compare it with the source"
	}
	c.launched = c.launched || err == nil
	return err
}

// Upload makes sure that the worker holds data and returns its hash.
func (c *Client) Upload(ctx context.Context, data []byte) (string, error) {
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	return sha, c.Provide(ctx, sha, func() ([]byte, error) { return data, nil })
}

// Provide makes sure that the worker holds the data of a hash; it reads the data only if the worker
// does not. It uploads one blob at a time: the parts of a blob must arrive in order.
func (c *Client) Provide(ctx context.Context, sha string, read func() ([]byte, error)) error {
	select {
	case c.uploading <- struct{}{}:
		defer func() { <-c.uploading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var have wire.HaveReply
	if _, err := c.call(ctx, wire.OpHave, wire.Have{SHA256: sha}, nil, defaultDeadline, &have); err != nil || have.Have {
		return err
	}
	data, err := read()
	if err != nil {
		return err
	}
	for offset := 0; offset < len(data); offset += wire.MaxBlob {
		part := data[offset:min(len(data), offset+wire.MaxBlob)]
		m := wire.Put{SHA256: sha, Offset: int64(offset), Total: int64(len(data))}
		if _, err := c.call(ctx, wire.OpPut, m, part, defaultDeadline, nil); err != nil {
			return err
		}
	}
	return nil
}

// lockWait is how long a run may wait for another run to release the device.
const lockWait = 24 * time.Hour

// Open starts a cell.
func (c *Client) Open(ctx context.Context, m wire.Open) (*Cell, error) {
	cell := &Cell{client: c}
	if _, err := c.call(ctx, wire.OpOpen, m, nil, lockWait, &cell.Info); err != nil {
		return nil, err
	}
	cell.id, cell.profiled = cell.Info.Cell, m.Profiler != nil
	c.holds(cell.Info.HeldS)
	return cell, nil
}

// Load gives the cell the artifact with the given hash.
func (c *Cell) Load(ctx context.Context, m wire.Load) (*wire.LoadReply, error) {
	m.Cell = c.id
	reply, err := ask[wire.LoadReply](ctx, c, wire.OpLoad, m, m.DeadlineS)
	c.OnDevice = reply.OnDevice
	return reply, err
}

// Prepare allocates and fills a problem's arguments. The seed and the batch are the run's; in this
// and in the following requests the cell gets what oracle.ForCell makes of them.
func (c *Cell) Prepare(ctx context.Context, m wire.Prepare) (*wire.PrepareReply, error) {
	m.Cell, c.seed, c.reference = c.id, m.Seed, m.Reference
	m.Seed, m.Batch = oracle.ForCell(m.Seed, m.Batch)
	return ask[wire.PrepareReply](ctx, c, wire.OpPrepare, m, m.DeadlineS)
}

// Sample times launches.
func (c *Cell) Sample(ctx context.Context, m wire.Sample) (*wire.SampleReply, error) {
	m.Cell = c.id
	batch := m.Batch
	_, m.Batch = oracle.ForCell(c.seed, batch)
	if m.FreshBatch > 0 {
		_, m.FreshBatch = oracle.ForCell(c.seed, m.FreshBatch)
	}
	reply := &wire.SampleReply{}
	frame, err := c.client.call(ctx, wire.OpSample, m, nil, deadline(m.DeadlineS), reply)
	if c.told(err) != nil {
		return nil, err
	}
	if reply.Batch != 0 {
		if (reply.Batch^m.Batch)&(1<<oracle.BatchBits-1) != 0 {
			return nil, result.Faultf(result.CauseForged, "the outputs are of batch %d, but it was asked for batch %d", reply.Batch, m.Batch)
		}
		reply.Batch += batch - m.Batch
	}
	return reply, reply.Unpack(frame.Data)
}

// Run launches back to back; the reply has the worker's own time of it.
func (c *Cell) Run(ctx context.Context, m wire.Run) (*wire.RunReply, error) {
	m.Cell = c.id
	reply, err := ask[wire.RunReply](ctx, c, wire.OpRun, m, m.DeadlineS)
	return reply, c.told(err)
}

// Produce launches once on the data of a batch; the worker keeps the outputs.
func (c *Cell) Produce(ctx context.Context, m wire.Produce) (*wire.ProduceReply, error) {
	m.Cell = c.id
	_, m.Batch = oracle.ForCell(c.seed, m.Batch)
	reply, err := ask[wire.ProduceReply](ctx, c, wire.OpProduce, m, m.DeadlineS)
	return reply, c.told(err)
}

// Profile launches where the profiler looks that the cell was opened with.
func (c *Cell) Profile(ctx context.Context, m wire.ProfileLaunches) (*wire.Profiled, error) {
	m.Cell = c.id
	reply, err := ask[wire.Profiled](ctx, c, wire.OpProfile, m, m.DeadlineS)
	if err == nil && (reply.Launches < -1 || reply.Launches > math.MaxInt32) {
		err = result.Faultf(result.CauseForged, "the cell counts %d launches", reply.Launches)
	}
	return reply, err
}

// Judge compares outputs that the worker keeps; the cell is an oracle's.
func (c *Cell) Judge(ctx context.Context, m wire.Judge) (*wire.Judged, error) {
	m.Cell = c.id
	if m.Other != nil {
		_, other := oracle.ForCell(m.Seed, *m.Other)
		m.Other = &other
	}
	m.Seed, m.Batch = oracle.ForCell(m.Seed, m.Batch)
	return ask[wire.Judged](ctx, c, wire.OpJudge, m, m.DeadlineS)
}

// Close ends the cell and returns the rest of its story. A *Failed error means that the cell's
// earlier answers cannot be trusted.
func (c *Cell) Close(ctx context.Context) (*wire.CloseReply, error) {
	if c.profiled { // whose end takes minutes, and leaves nothing when it is cut short
		return ask[wire.CloseReply](ctx, c, wire.OpClose, wire.Close{Cell: c.id}, (repeatedEnd + 3*importTime).Seconds())
	}
	return ask[wire.CloseReply](context.WithoutCancel(ctx), c, wire.OpClose, wire.Close{Cell: c.id}, 0)
}

// ask sends a request to a cell and decodes the reply.
func ask[R any](ctx context.Context, c *Cell, op string, m any, seconds float64) (*R, error) {
	reply := new(R)
	_, err := c.client.call(ctx, op, m, nil, deadline(seconds), reply)
	return reply, err
}
