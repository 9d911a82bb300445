package cell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// snapshot holds the outputs of a launch, by argument.
type snapshot map[int][]byte

// leave writes the outputs where the worker will take them from. Unreadable memory is not a file
// error: the kernel has unmapped it.
func (s snapshot) leave(folder string, args []wire.Arg) ([]wire.Left, error) {
	var out []wire.Left
	for arg, data := range s {
		left, err := leave(folder, arg, func(path string) error { return os.WriteFile(path, data, 0o600) })
		if errors.Is(err, unix.EFAULT) {
			return nil, unreachable(args[arg])
		}
		if err != nil {
			return nil, err
		}
		out = append(out, left)
	}
	return out, nil
}

// leave writes an output's file.
func leave(folder string, arg int, write func(path string) error) (wire.Left, error) {
	name := strconv.Itoa(arg) + ".bin"
	if err := write(filepath.Join(folder, name)); err != nil {
		return wire.Left{}, fmt.Errorf("leave the output of argument %d: %w", arg, err)
	}
	return wire.Left{Arg: arg, Path: name}, nil
}

// mapped are memory-mapped files.
type mapped [][]byte

func (m *mapped) read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return nil, err
	}
	pages, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err == nil {
		*m = append(*m, pages)
	}
	return pages, err
}

func (m *mapped) free() {
	for _, pages := range *m {
		_ = unix.Munmap(pages)
	}
}

// written reports whether a launch writes an argument that its caller sees.
func written(arg wire.Arg) bool { return arg.Buffer && (arg.Role == "out" || arg.Role == "inout") }

// keyOf returns the key of an argument's data.
func keyOf(seed uint64, number int, arg wire.Arg, batch int) uint64 {
	if arg.Draws > 0 {
		number = arg.Draws - 1
	}
	if arg.Shared {
		batch &= 1<<oracle.BatchBits - 1
	}
	return oracle.Key(seed, number, batch)
}

// Input generates the data that a launch finds in an argument, after steps of oracle.Mutate.
func Input(arg wire.Arg, number int, seed uint64, batch, steps int) []byte {
	t, fill, key := dtype.Type(arg.DType), fillOf(arg), keyOf(seed, number, arg, batch)
	data := make([]byte, arg.Count*int64(t.Size()))
	oracle.Generate(data, t, fill, key)
	for step := range steps {
		oracle.Mutate(data, t, fill, key, step+1)
	}
	return data
}

// changed returns the fault of a kernel that wrote to memory it may only read.
func changed(arg wire.Arg) error {
	return result.Faultf(result.CauseOutput, "the kernel changed its input %s", arg.Name).
		WithHint("give an argument that the kernel writes role: out or inout in pawl.yaml")
}
