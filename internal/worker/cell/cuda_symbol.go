package cell

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"pawl/internal/dtype"
	"pawl/internal/native/cuda"
	"pawl/internal/result"
	"pawl/internal/unit"
	"pawl/internal/worker/wire"
)

// symbol is an argument that a side's launches find in a variable of their module. The problem has
// its data in a buffer like any other argument's, which is copied to the variable before launches.
type symbol struct {
	arg  wire.Arg
	at   cuda.DevicePtr
	size uint64

	number int     // of the argument
	from   *argSet // whose data it holds, of
	batch  int     // this batch
	steps  int     // after these steps
}

// findSymbols finds the variables of a side's module that are arguments, and sets the scalars.
func (c *cudaCell) findSymbols(side *cudaSide) error {
	side.symbols = nil
	for i, arg := range side.problem.args {
		if arg.Symbol == "" {
			continue
		}
		if side.module == nil {
			return result.Faultf(result.CauseProtocol, "argument %s: a launcher's symbols are its own", arg.Name)
		}
		at, size, err := side.module.Global(arg.Symbol)
		if errors.Is(err, cuda.NotFound) {
			return noSymbol(arg, side.image)
		}
		if err != nil {
			return err
		}
		want := uint64(max(1, arg.Count)) * uint64(dtype.Type(arg.DType).Size())
		if size != want {
			return result.Faultf(result.CauseLaunch, "the symbol %s has %s in the module, and argument %s has %s (%d of %s)",
				arg.Symbol, sizeText(size), arg.Name, sizeText(want), max(1, arg.Count), arg.DType).
				WithHint("give the argument the dtype and the shape that the variable has in the source")
		}
		if !arg.Buffer {
			if err := c.setVariable(side, at, side.problem.sets[0].params[i]); err != nil {
				return err
			}
			continue
		}
		side.symbols = append(side.symbols, symbol{arg: arg, at: at, size: size, number: i})
	}
	return nil
}

func sizeText(n uint64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d bytes (%s)", n, unit.Bytes(int64(n)))
}

// noSymbol returns the fault of a module without an argument's variable.
func noSymbol(arg wire.Arg, image []byte) error {
	fault := result.Faultf(result.CauseNoEntry, "argument %s: the module has no symbol %s", arg.Name, arg.Symbol)
	names, err := cuda.Symbols(image)
	switch {
	case err != nil:
		return fault
	case len(names) == 0:
		return fault.WithHint("it has none; a variable that no kernel uses, or that is static, may be left out by the compiler")
	}
	return fault.WithHint("it has: " + strings.Join(names, ", "))
}

// setVariable gives a variable its value for as long as the module is loaded: restoring the
// module's variables restores it.
func (c *cudaCell) setVariable(side *cudaSide, at cuda.DevicePtr, value []byte) error {
	for _, g := range side.globals {
		if end := g.live.At + cuda.DevicePtr(g.live.Bytes); at >= g.live.At && at < end {
			if err := c.driver.CopyToDevice(g.pristine+(at-g.live.At), value, c.stream); err != nil {
				return err
			}
		}
	}
	return c.driver.CopyToDevice(at, value, c.stream)
}

// fillSymbols copies a set's data to the variables that hold it. All sets of a batch have the same.
func (c *cudaCell) fillSymbols(side *cudaSide, set *argSet) error {
	for i := range side.symbols {
		s := &side.symbols[i]
		b := set.buffers[s.number]
		if b.poison != nil && c.sanitizer == "initcheck" {
			continue // nothing has written it
		}
		if err := c.driver.Copy(s.at, b.data(), s.size, c.stream); err != nil {
			return err
		}
		s.from, s.batch, s.steps = set, set.batch, set.steps
	}
	return nil
}

// collectSymbols copies what launches have written to variables to where outputs are taken from.
func (c *cudaCell) collectSymbols(side *cudaSide, set *argSet) error {
	for _, s := range side.symbols {
		if !written(s.arg) {
			continue
		}
		if err := c.driver.Copy(set.buffers[s.number].data(), s.at, s.size, c.stream); err != nil {
			return err
		}
	}
	return nil
}

// changedSymbol finds out whether a launch wrote to a variable that it may only read.
func (c *cudaCell) changedSymbol(side *cudaSide) error {
	for _, s := range side.symbols {
		if s.arg.Role != "in" || s.from == nil || s.from.batch != s.batch || s.from.steps != s.steps {
			continue // other data has been generated since
		}
		if err := c.driver.Copy(side.problem.shadow, s.at, s.size, c.stream); err != nil {
			return err
		}
		if err := c.driver.MemsetD8(c.sink, 0, 16, c.stream); err != nil {
			return err
		}
		for i, at := range []cuda.DevicePtr{s.from.buffers[s.number].data(), side.problem.shadow} {
			if err := c.helpers.hash.Launch(c.stream, c.helpers.wide(), cuda.Param(at), cuda.Param(s.size), cuda.Param(c.sink+cuda.DevicePtr(8*i))); err != nil {
				return err
			}
		}
		var sums [16]byte
		if err := c.driver.CopyToHost(sums[:], c.sink, c.stream); err != nil {
			return err
		}
		if binary.LittleEndian.Uint64(sums[:]) != binary.LittleEndian.Uint64(sums[8:]) {
			return changed(s.arg)
		}
	}
	return nil
}

// blank clears the part of a copy of memory, which begins at an address, that is the symbol's.
func (s symbol) blank(at cuda.DevicePtr, data []byte) {
	first, last := max(at, s.at), min(at+cuda.DevicePtr(len(data)), s.at+cuda.DevicePtr(s.size))
	if first < last {
		clear(data[first-at : last-at])
	}
}
