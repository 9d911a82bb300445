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
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"pawl/internal/dtype"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

// outputFolder is where a cell leaves its outputs, inside its scratch.
func (c *child) outputFolder() (string, error) {
	folder := filepath.Join(c.scratch, "outputs")
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make a folder for outputs: %w", err)
	}
	return folder, nil
}

func (s *server) produce(ctx context.Context, m wire.Produce) (*wire.ProduceReply, error) {
	c, err := s.cell(m.Cell)
	if err != nil {
		return nil, err
	}
	m.Cell = 0
	if m.Outputs, err = c.outputFolder(); err != nil {
		return nil, err
	}
	reply := &wire.ProduceReply{}
	if _, _, err := s.ask(ctx, c.id, wire.OpProduce, m, deadline(m.DeadlineS), reply); err != nil {
		return nil, err
	}
	reply.Outputs, err = s.collect(c, reply.Outputs)
	return reply, err
}

// collect takes the outputs that a cell says it has left. The cell is believed
// nothing: each must be there, a plain file, and as long as its argument.
func (s *server) collect(c *child, claimed []wire.Buffer) ([]wire.Buffer, error) {
	c.mu.Lock()
	args := c.args
	c.mu.Unlock()
	var kept []wire.Buffer
	for number, arg := range args {
		if arg.Role != string(spec.RoleOut) && arg.Role != string(spec.RoleInOut) {
			continue
		}
		if !slices.ContainsFunc(claimed, func(b wire.Buffer) bool { return b.Arg == number }) {
			return nil, c.fail(c.forged(fmt.Sprintf("left no output of argument %s", arg.Name)))
		}
		sha, err := s.store.keep(filepath.Join(c.scratch, "outputs", strconv.Itoa(number)+".bin"), arg.Count*int64(dtype.Type(arg.DType).Size()))
		if err != nil {
			return nil, c.fail(c.forged(fmt.Sprintf("left an output of argument %s that cannot be: %v", arg.Name, err)))
		}
		kept = append(kept, wire.Buffer{Arg: number, SHA256: sha})
	}
	return kept, nil
}

// keptBytes is how much of what cells have produced is kept; the newest few are,
// however large they are.
const (
	keptBytes  = 4 << 30
	keptAlways = 8
)

// keep copies a cell's output: the cell may still write to its own.
func (s *store) keep(path string, size int64) (string, error) {
	from, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer from.Close()
	if info, err := from.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return "", errors.New("it is no file of the argument's size")
	}
	to, err := os.CreateTemp(s.outputs(), "copy-")
	if err != nil {
		return "", err
	}
	defer os.Remove(to.Name())
	sum := sha256.New()
	_, err = io.CopyN(io.MultiWriter(to, sum), from, size)
	if closeErr := to.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return "", err
	}
	_ = os.Remove(path)
	sha := hex.EncodeToString(sum.Sum(nil))
	if err := os.Rename(to.Name(), s.output(sha)); err != nil {
		return "", err
	}
	s.remember(sha, size)
	return sha, nil
}

func (s *store) output(sha string) string { return filepath.Join(s.outputs(), sha) }

// remember notes an output as the newest, and forgets old ones.
func (s *store) remember(sha string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(slices.DeleteFunc(s.kept, func(k keptOutput) bool { return k.sha == sha }), keptOutput{sha, size})
	total := int64(0)
	for _, k := range s.kept {
		total += k.size
	}
	for total > keptBytes && len(s.kept) > keptAlways {
		_ = os.Remove(s.output(s.kept[0].sha))
		total -= s.kept[0].size
		s.kept = s.kept[1:]
	}
}

type keptOutput struct {
	sha  string
	size int64
}

// judge lets an oracle cell compare what other cells have produced.
func (s *server) judge(ctx context.Context, m wire.Judge) (*wire.JudgeReply, error) {
	c, err := s.cell(m.Cell)
	if err != nil {
		return nil, err
	}
	if c.kind != "oracle" {
		return nil, &result.Fault{Cause: result.CauseProtocol, Message: "only an oracle cell judges"}
	}
	if err := fits(m.Args); err != nil {
		return nil, err
	}
	m.Cell = 0
	for _, list := range []*[]wire.Buffer{&m.Got, &m.Want} {
		found := slices.Clone(*list)
		for i, b := range found {
			if _, err := os.Stat(s.store.output(b.SHA256)); !validHash(b.SHA256) || err != nil {
				return nil, &result.Fault{Cause: result.CauseProtocol, Message: "the worker no longer has the output " + b.SHA256}
			}
			found[i].Path = s.store.output(b.SHA256)
		}
		*list = found
	}
	reply := &wire.JudgeReply{}
	_, _, err = s.ask(ctx, c.id, wire.OpJudge, m, deadline(m.DeadlineS), reply)
	return reply, err
}
