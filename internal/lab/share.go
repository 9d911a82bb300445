package lab

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"pawl/internal/result"
)

// Work is what a run has to do, in pieces that do not depend on each other.
type Work struct {
	Pieces   int
	Devices  []int          // GPUs of this machine that share it; nil: all there are
	Anywhere func(int) bool // reports whether any GPU's lane may do a piece; nil: all may
}

// Piece is a piece of a run's work.
type Piece struct {
	N     int  // from 0
	Again bool // its first worker was lost: nothing of that is to be kept
}

// Explain returns the fault of what a piece has come to on a lane. A second worker that was lost says
// more than that it has ended: the piece may be what ends it.
func (p Piece) Explain(lane *Lab, fault *result.Fault) *result.Fault {
	if fault == nil || !p.Again || !lane.crewed || lane.absent != nil || lane.Lost() == nil {
		return fault
	}
	out := *fault
	out.Message = "two workers were lost with it; the second: " + out.Message
	out.Hint = "find out whether it ends its worker: run it alone, on a machine whose memory you can watch"
	return &out
}

// Share lets a crew do pieces of work, each worker as soon as it is free: do is called for every lane,
// with the pieces for that lane. A piece whose worker is lost before do asks for the next is done
// again elsewhere, once: what comes of it then counts, even if that worker is lost, too. When there
// is no worker left, pieces come to the first lane, where they fail for that reason.
//
// A worker keeps the devices it has used until it ends, and GPUs of one machine share its CPU: work
// that needs the CPU therefore stays with the first lane, except among the workers of a pool.
func (l *Lab) Share(ctx context.Context, w Work, do func(lane *Lab, pieces iter.Seq[Piece])) error {
	if w.Pieces == 0 {
		return nil
	}
	q, most := &queue{}, w.Pieces
	for n := range w.Pieces {
		if w.Anywhere != nil && !l.pooled() && !w.Anywhere(n) {
			q.first = append(q.first, Piece{N: n})
		} else {
			q.shared = append(q.shared, Piece{N: n})
		}
	}
	if len(q.first) > 0 {
		most = len(q.shared) + 1
	}
	opts := CrewOptions{Most: most, Devices: w.Devices, left: q.left}
	err := l.Crew(ctx, opts, func(_ context.Context, lane *Lab) error {
		do(lane, q.pieces(lane))
		if lane.crewed && q.left() {
			return lane.Lost()
		}
		return nil
	})
	switch {
	case !l.pooled():
		return err
	case !q.left(): // all of it is done, or was interrupted
		return nil
	}
	l.crewed, l.absent = true, noWorker(err)
	defer func() { l.crewed, l.absent = false, nil }()
	do(l, q.pieces(l))
	return nil
}

// noWorker says why there is no worker for what is left to do.
func noWorker(err error) error {
	if fault, ok := errors.AsType[*result.Fault](err); ok {
		out := *fault
		out.Message = "no worker of the pool is left; the last: " + out.Message
		return &out
	}
	return err
}

// queue holds the pieces that wait.
type queue struct {
	mu     sync.Mutex
	first  []Piece // for the first lane
	shared []Piece
}

// left reports whether a piece waits.
func (q *queue) left() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.first)+len(q.shared) > 0
}

// take returns the next piece for a lane.
func (q *queue) take(lane *Lab) (p Piece, there bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, list := range []*[]Piece{&q.first, &q.shared}[min(lane.lane, 1):] {
		if len(*list) > 0 {
			p = (*list)[0]
			*list = slices.Delete(*list, 0, 1)
			return p, true
		}
	}
	return Piece{}, false
}

// pieces yields pieces for a lane until there are none, or its worker is lost.
func (q *queue) pieces(lane *Lab) iter.Seq[Piece] {
	return func(yield func(Piece) bool) {
		for {
			p, there := q.take(lane)
			if !there || !yield(p) {
				return
			}
			if lane.crewed && lane.absent == nil && lane.Lost() != nil {
				if !p.Again {
					q.mu.Lock()
					q.shared = append(q.shared, Piece{N: p.N, Again: true})
					q.mu.Unlock()
				}
				return
			}
		}
	}
}
