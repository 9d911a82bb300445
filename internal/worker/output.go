package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/dtype"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

// outputFolder returns the folder for a cell's next outputs: in memory where that is allowed and
// they are small compared with the free space, else inside its scratch.
func (c *child) outputFolder(of problem) (string, error) {
	size := int64(0)
	for _, arg := range of.args {
		if arg.Role == string(spec.RoleOut) || arg.Role == string(spec.RoleInOut) {
			each := dtype.Type(arg.DType).Size()
			if of.reference {
				each = dtype.F64.Size() // at most
			}
			size += arg.Count * int64(each)
		}
	}
	c.leaves = filepath.Join(c.scratch, "outputs")
	if c.quick != "" && roomIn(c.quick)/4 > size {
		c.leaves = c.quick
	}
	err := os.Mkdir(c.leaves, 0o700)
	if err != nil && !errors.Is(err, os.ErrExist) && !errors.Is(err, os.ErrNotExist) { // the cell has just ended: the next request to it says how
		return "", fmt.Errorf("make a folder for outputs: %w", err)
	}
	return c.leaves, nil
}

func (s *server) produce(ctx context.Context, c *child, m wire.Produce) (*wire.ProduceReply, error) {
	var err error
	if m.Outputs, err = c.outputFolder(c.problems[m.Side]); err != nil {
		return nil, err
	}
	var said wire.Produced
	if _, _, err := s.ask(ctx, c, wire.OpProduce, m, m.DeadlineS, &said); err != nil {
		return nil, err
	}
	outputs, err := s.collect(c, c.problems[m.Side], said.Outputs)
	return &wire.ProduceReply{Outputs: outputs, Launched: said.Launched}, err
}

// collect takes the outputs that a cell claims to have left. It does not trust the cell: each must
// be there, a plain file, and as long as its argument.
func (s *server) collect(c *child, of problem, claimed []wire.Left) ([]wire.Buffer, error) {
	var kept []wire.Buffer
	for number, arg := range of.args {
		if arg.Role != string(spec.RoleOut) && arg.Role != string(spec.RoleInOut) {
			continue
		}
		at := slices.IndexFunc(claimed, func(l wire.Left) bool { return l.Arg == number })
		if at < 0 {
			return nil, c.fail(c.forged(fmt.Sprintf("left no output of argument %s", arg.Name)))
		}
		kind := dtype.Type(arg.DType)
		if wider := dtype.Type(claimed[at].DType); of.reference && wider.Holds(kind) {
			kind = wider
		}
		sha, err := s.store.keep(filepath.Join(c.leaves, strconv.Itoa(number)+".bin"), arg.Count*int64(kind.Size()), c.alone)
		if errors.Is(err, errNoOutput) && c.hasVanished() {
			return nil, c.fail(nil)
		} else if errors.Is(err, errNoOutput) {
			return nil, c.fail(c.forged(fmt.Sprintf("left an invalid output of argument %s: %v", arg.Name, err)))
		}
		if err != nil {
			return nil, fmt.Errorf("keep the output of argument %s: %w", arg.Name, err)
		}
		one := wire.Buffer{Arg: number, SHA256: sha, Returned: of.reference && claimed[at].Returned}
		if string(kind) != arg.DType {
			one.DType = string(kind)
		}
		kept = append(kept, one)
	}
	return kept, nil
}

// vanishMost is how long it takes at most until a cell whose folders are removed is known to have ended.
const vanishMost = 2 * time.Second

// hasVanished reports whether a cell's outputs are gone because it has ended, for whatever reason: its
// folders go with it.
func (c *child) hasVanished() bool {
	if _, err := os.Stat(c.leaves); !errors.Is(err, os.ErrNotExist) {
		return false
	}
	select {
	case <-c.exited:
		return true
	case <-time.After(vanishMost):
		return false
	}
}

// keptBytes bounds the outputs of cells that are kept; the newest few are kept whatever their size.
const (
	keptBytes  = 4 << 30
	keptAlways = 16
)

// errNoOutput means that a cell has left something other than the requested output.
var errNoOutput = errors.New("it is not a file of the argument's size")

// keep takes over a cell's output. It copies the file, since the cell may still write to its own;
// alone says that no code runs there that would.
func (s *store) keep(path string, size int64, alone bool) (string, error) {
	from, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoOutput, err)
	}
	defer from.Close()
	if info, err := from.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return "", errNoOutput
	}
	folder := s.outputs()[0]
	if s.quick != "" && strings.HasPrefix(path, s.quick) {
		folder = s.outputs()[1]
	}
	mine := path
	var to *os.File
	if !alone {
		if to, err = os.CreateTemp(folder, "copy-"); err != nil {
			return "", err
		}
		mine = to.Name()
	}
	sha, err := hashParts(from, to, size)
	if to != nil {
		if closeErr := to.Close(); err == nil {
			err = closeErr
		}
		_ = os.Remove(path)
	}
	if err == nil {
		err = os.Rename(mine, filepath.Join(folder, sha))
	}
	if err != nil {
		_ = os.Remove(mine)
		return "", err
	}
	s.remember(sha, size)
	return sha, nil
}

// hashedPart is the size of the parts in which an output is hashed.
const hashedPart = 1 << 20

// hashParts hashes a file, and copies it unless to is nil. All CPUs hash the parts of a large file;
// the result is the SHA-256 of the parts' hashes.
func hashParts(from io.ReaderAt, to *os.File, size int64) (string, error) {
	count := int((size + hashedPart - 1) / hashedPart)
	sums := make([]byte, count*sha256.Size)
	errs := make([]error, count)
	var next atomic.Int64
	var hands sync.WaitGroup
	for range min(count, runtime.GOMAXPROCS(0)) {
		hands.Go(func() {
			part := make([]byte, min(hashedPart, size))
			for n := next.Add(1) - 1; n < int64(count); n = next.Add(1) - 1 {
				piece := part[:min(hashedPart, size-n*hashedPart)]
				if _, errs[n] = from.ReadAt(piece, n*hashedPart); errs[n] != nil {
					return
				}
				sum := sha256.Sum256(piece)
				copy(sums[n*sha256.Size:], sum[:])
				if to != nil {
					_, errs[n] = to.WriteAt(piece, n*hashedPart)
				}
			}
		})
	}
	hands.Wait()
	if count > 1 {
		sum := sha256.Sum256(sums)
		sums = sum[:]
	}
	return hex.EncodeToString(sums), errors.Join(errs...)
}

// output returns the path of an output, if it is stored.
func (s *store) output(sha string) string {
	path := ""
	for _, folder := range s.outputs() {
		path = filepath.Join(folder, sha)
		if _, err := os.Stat(path); err == nil {
			break
		}
	}
	return path
}

// remember records an output as the newest, and removes old ones.
func (s *store) remember(sha string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(slices.DeleteFunc(s.kept, func(k keptOutput) bool { return k.sha == sha }), keptOutput{sha, size})
	total := int64(0)
	for _, k := range s.kept {
		total += k.size
	}
	most := int64(keptBytes)
	if s.quick != "" {
		most = min(most, max(keptBytes/8, roomIn(s.quick)/2))
	}
	for total > most && len(s.kept) > keptAlways {
		for _, folder := range s.outputs() {
			_ = os.Remove(filepath.Join(folder, s.kept[0].sha))
		}
		total -= s.kept[0].size
		s.kept = s.kept[1:]
	}
}

type keptOutput struct {
	sha  string
	size int64
}

// judge lets an oracle cell compare the outputs of other cells.
func (s *server) judge(ctx context.Context, c *child, m wire.Judge) (*wire.Judged, error) {
	if c.kind != "oracle" {
		return nil, result.Faultf(result.CauseProtocol, "only an oracle cell judges")
	}
	if err := fits(m.Args); err != nil {
		return nil, err
	}
	for _, list := range []*[]wire.Buffer{&m.Got, &m.Want} {
		found := slices.Clone(*list)
		for i, b := range found {
			if _, err := os.Stat(s.store.output(b.SHA256)); !validHash(b.SHA256) || err != nil {
				return nil, result.Faultf(result.CauseProtocol, "the worker no longer has the output %s", b.SHA256)
			}
			found[i].Path = s.store.output(b.SHA256)
		}
		*list = found
	}
	reply := &wire.Judged{}
	_, _, err := s.ask(ctx, c, wire.OpJudge, m, m.DeadlineS, reply)
	return reply, err
}
