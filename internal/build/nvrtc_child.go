package build

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"pawl/internal/native/nvrtc"
	"pawl/internal/result"
	"pawl/internal/sandbox"
)

// NVRTC is a library. It compiles in a child of pawl that is sandboxed like compilers, one for each
// compilation that runs at the same time in a project.

func init() { sandbox.Register("nvrtc", serveRuntime) }

// runtimeAnswer is the outcome of a program, encoded by gob.
type runtimeAnswer struct {
	Result  nvrtc.Result
	Refused *nvrtc.Error
	Err     string
}

// The descriptors of a child besides the usual three.
const (
	requestFd = 3
	answerFd  = 4
)

// serveRuntime is the child's main function: it receives the library's file, then programs.
func serveRuntime() {
	runtime.LockOSThread()
	in, out := gob.NewDecoder(os.NewFile(requestFd, "requests")), gob.NewEncoder(os.NewFile(answerFd, "answers"))
	var file string
	if in.Decode(&file) != nil {
		return
	}
	library, failed := nvrtc.Open(file)
	for {
		var program nvrtc.Program
		if in.Decode(&program) != nil {
			return // nobody has more
		}
		var answer runtimeAnswer
		err := failed
		if err == nil {
			answer.Result, err = library.Compile(program)
		}
		if err != nil && !errors.As(err, &answer.Refused) {
			answer.Err = err.Error()
		}
		if out.Encode(answer) != nil {
			return
		}
	}
}

// runtimeChild is a child that compiles one program after the other.
type runtimeChild struct {
	process *sandbox.Process
	watch   *watched
	in      *os.File
	out     *os.File
	encoder *gob.Encoder
	decoder *gob.Decoder
}

// startRuntime starts a child, which has loaded the library when it gives its first answer.
func (run *batch) startRuntime(f *fence, file string) (*runtimeChild, error) {
	temp, fault := run.tempDir()
	if fault != nil {
		return nil, fault
	}
	requests, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer requests.Close()
	out, answers, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer answers.Close()
	command := sandbox.Command{
		Dir: temp, Env: append([]string{"TMPDIR=" + temp}, f.env...), ExtraFiles: []*os.File{requests, answers}, Policy: f.policy(temp), Mode: f.mode,
	}
	command.Self("nvrtc")
	c := &runtimeChild{in: in, out: out, encoder: gob.NewEncoder(in), decoder: gob.NewDecoder(out)}
	if c.process, err = sandbox.Start(command); err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	f.note(c.process.Level())
	c.watch = &watched{limits: run.limits(), kill: c.process.Kill}
	watching.add(c.process.Pid(), c.watch)
	if err := c.encoder.Encode(file); err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

// end kills the child.
func (c *runtimeChild) end() {
	c.in.Close()
	_ = c.process.Kill() // fails when it has ended by itself
	_, _ = c.process.Wait()
	watching.remove(c.process.Pid())
	c.out.Close()
}

// compileHeld compiles in an idle child, or a new one. A cancelled caller ends the child.
func (run *batch) compileHeld(ctx context.Context, r *recipe, program nvrtc.Program) (nvrtc.Result, error) {
	f := run.fenceOf(r)
	run.mu.Lock()
	var c *runtimeChild
	if idle := run.children[f]; len(idle) > 0 {
		c, run.children[f] = idle[len(idle)-1], idle[:len(idle)-1]
	}
	run.mu.Unlock()
	if c == nil {
		var err error
		if c, err = run.startRuntime(f, r.cuda.runtime.file); err != nil {
			return nvrtc.Result{}, fmt.Errorf("start NVRTC: %w", err)
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = c.process.Kill() })
	defer stop()
	var answer runtimeAnswer
	err := c.encoder.Encode(program)
	if err == nil {
		err = c.decoder.Decode(&answer)
	}
	if err == nil && stop() {
		run.mu.Lock()
		run.children[f] = append(run.children[f], c)
		run.mu.Unlock()
		switch {
		case answer.Refused != nil:
			err = answer.Refused
		case answer.Err != "":
			err = errors.New(answer.Err)
		}
		return answer.Result, err
	}
	c.end()
	switch {
	case ctx.Err() != nil:
		return nvrtc.Result{}, ctx.Err()
	case c.watch.over != nil:
		return nvrtc.Result{}, c.watch.over
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, os.ErrClosed):
		state, _ := c.process.Wait()
		return nvrtc.Result{}, newFault(result.CauseCompile, "", "NVRTC ended without an answer: %v", state)
	}
	return nvrtc.Result{}, err
}

// endChildren ends the remaining children.
func (run *batch) endChildren() {
	for _, idle := range run.children {
		for _, c := range idle {
			c.end()
		}
	}
}
