package cell

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"pawl/internal/native/cuda"
	"pawl/internal/native/dl"
	"pawl/internal/result"
)

// cudaCode is the code that a side has loaded.
type cudaCode struct {
	module   *cuda.Module
	launcher dl.Func // instead of module: host code that launches by itself
	image    []byte  // of the module

	globals []global
	lost    error // why the module's variables cannot be restored; it is then reloaded for every request
}

// global is a piece of a module's own memory and a copy of its contents after loading.
type global struct {
	live     cuda.Span
	pristine cuda.DevicePtr
}

// keepGlobals copies a module's variables before any launch. A kernel that could remember something
// from one launch to the next would have an answer ready.
func (c *cudaCell) keepGlobals(code *cudaCode) error {
	segments, err := cuda.Segments(code.image)
	if err != nil {
		code.lost = err
		return nil
	}
	for _, s := range segments {
		if len(s.Managed) > 0 {
			return result.Faultf(result.CauseUnsupported, "__managed__ variables are refused: %s", strings.Join(s.Managed, ", ")).
				WithHint("pass shared data as an argument, with role: scratch if nothing else uses it")
		}
	}
	for _, s := range segments {
		spans, err := s.Locate(code.module.Global)
		for _, span := range spans {
			if err == nil {
				err = c.keepGlobal(code, span)
			}
		}
		var failed *cuda.Error
		switch {
		case err == nil:
		case errors.As(err, &failed) && failed.Sticky():
			return err
		case errors.Is(err, cuda.OutOfMemory):
			return fmt.Errorf("keep a copy of the module's variables (%d bytes): %w", s.Size, err)
		default:
			c.forgetGlobals(code)
			code.lost = err
			return nil
		}
	}
	return nil
}

func (c *cudaCell) keepGlobal(code *cudaCode, span cuda.Span) error {
	pristine, err := c.driver.Alloc(span.Bytes)
	if err != nil {
		return err
	}
	code.globals = append(code.globals, global{span, pristine})
	if err := c.driver.Copy(pristine, span.At, span.Bytes, c.stream); err != nil {
		return err
	}
	return c.stream.Synchronize()
}

func (c *cudaCell) forgetGlobals(code *cudaCode) {
	for _, g := range code.globals {
		_ = c.driver.Free(g.pristine)
	}
	code.globals = nil
}

func (c *cudaCell) restoreGlobals(code *cudaCode) error {
	for _, g := range code.globals {
		if err := c.driver.Copy(g.live.At, g.pristine, g.live.Bytes, c.stream); err != nil {
			return err
		}
	}
	return nil
}

// retained reports whether a launch has left something in its module's variables, other than those
// that are its arguments.
func (c *cudaCell) retained(side *cudaSide) (bool, error) {
	const part = 4 << 20
	for _, g := range side.globals {
		was, is := make([]byte, min(part, g.live.Bytes)), make([]byte, min(part, g.live.Bytes))
		for at := uint64(0); at < g.live.Bytes; at += part {
			size, offset := min(part, g.live.Bytes-at), cuda.DevicePtr(at)
			if err := c.driver.CopyToHost(was[:size], g.pristine+offset, c.stream); err != nil {
				return false, err
			}
			if err := c.driver.CopyToHost(is[:size], g.live.At+offset, c.stream); err != nil {
				return false, err
			}
			for _, s := range side.symbols {
				s.blank(g.live.At+offset, was[:size])
				s.blank(g.live.At+offset, is[:size])
			}
			if !bytes.Equal(was[:size], is[:size]) {
				return true, nil
			}
		}
	}
	return false, nil
}

// limits lists what pawl cannot detect in a side's code here.
func (code *cudaCode) limits() []string {
	if code.lost == nil {
		return nil
	}
	return []string{"data in __device__ variables is reset between requests, but not between samples: " + code.lost.Error()}
}

// renew reloads a module whose variables cannot be restored.
func (c *cudaCell) renew(side *cudaSide) error {
	if side.lost == nil || side.module == nil || side.problem == nil {
		return nil
	}
	err := c.stream.Synchronize()
	if err == nil {
		side.several.drop()
		side.several, side.repeat, side.settled, side.calls = section{}, 0, false, nil
		err = side.module.Unload()
		side.module = nil
	}
	if err == nil {
		side.module, err = c.driver.LoadModule(side.image)
	}
	if err == nil {
		err = c.findSymbols(side)
	}
	for i := 0; err == nil && i < len(side.problem.sets); i++ {
		_, err = c.addCalls(side, side.problem.sets[i])
	}
	if err != nil {
		c.release(side) // the next request is told to prepare it
	}
	return err
}

// addCalls prepares a side's launches on one more set of arguments, and returns what they need.
func (c *cudaCell) addCalls(side *cudaSide, set *argSet) (needs []result.Resources, err error) {
	calls := make([]*cuda.Call, len(side.launches))
	needs = make([]result.Resources, len(side.launches))
	for i, l := range side.launches {
		if calls[i], needs[i], err = c.newCall(side.module, l, set.params); err != nil {
			return nil, err
		}
	}
	side.calls = append(side.calls, calls)
	return needs, nil
}
