package cell

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// leave writes an output where the worker will take it from.
func leave(folder string, arg int, data []byte) (wire.Buffer, error) {
	name := strconv.Itoa(arg) + ".bin"
	if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
		return wire.Buffer{}, fmt.Errorf("leave the output of argument %d: %w", arg, err)
	}
	return wire.Buffer{Arg: arg, Path: name}, nil
}

// written tells whether a launch writes an argument that its caller sees.
func written(arg wire.Arg) bool { return arg.Buffer && (arg.Role == "out" || arg.Role == "inout") }

// keyOf is the key of an argument's data.
func keyOf(seed uint64, number int, arg wire.Arg, batch int) uint64 {
	if arg.Draws > 0 {
		number = arg.Draws - 1
	}
	return oracle.Key(seed, number, batch)
}

// changed is the fault of a kernel that wrote to what it may only read.
func changed(arg wire.Arg) error {
	return &result.Fault{
		Cause: result.CauseOutput, Message: fmt.Sprintf("the kernel changed its input %s", arg.Name),
		Hint: "an argument that a kernel writes has role: out or inout in pawl.yaml",
	}
}
