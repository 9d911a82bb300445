package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// LaunchConfig is the shape of a launch.
type LaunchConfig struct {
	// Grid counts blocks, Block threads. A zero y or z counts as 1.
	Grid, Block [3]uint32
	// Cluster counts blocks; all zero is a launch without clusters.
	Cluster [3]uint32
	// Shared is the dynamic shared memory of a block in bytes.
	Shared uint32
	// Cooperative asks that all blocks run at once.
	Cooperative bool
	// ProgrammaticDependent lets the kernel start before the one ahead of it in
	// the stream has ended.
	ProgrammaticDependent bool
}

// launchAttribute is a CUlaunchAttribute; value is a union.
type launchAttribute struct {
	id    uint32
	_     uint32
	value [16]uint32
}

// CUlaunchAttributeID numbers.
const (
	attributeCooperative  = 2
	attributeCluster      = 4
	attributeProgrammatic = 6

	maxAttributes = 3
)

// paramAlign suits the most demanding parameter, a tensor map.
const paramAlign = 128

// launchConfig is a CUlaunchConfig.
type launchConfig struct {
	grid, block    [3]uint32
	shared         uint32
	stream         uintptr
	attributes     *launchAttribute
	attributeCount uint32
}

// launch is a configuration together with the attributes it points to.
type launch struct {
	config     launchConfig
	attributes [maxAttributes]launchAttribute
}

func newLaunch(c LaunchConfig) *launch {
	l := &launch{config: launchConfig{grid: c.Grid, block: c.Block, shared: c.Shared}}
	for i := 1; i < 3; i++ {
		l.config.grid[i] = max(c.Grid[i], 1)
		l.config.block[i] = max(c.Block[i], 1)
	}
	add := func(id uint32, value ...uint32) {
		attribute := &l.attributes[l.config.attributeCount]
		attribute.id = id
		copy(attribute.value[:], value)
		l.config.attributeCount++
	}
	if c.Cluster != [3]uint32{} {
		add(attributeCluster, max(c.Cluster[0], 1), max(c.Cluster[1], 1), max(c.Cluster[2], 1))
	}
	if c.Cooperative {
		add(attributeCooperative, 1)
	}
	if c.ProgrammaticDependent {
		add(attributeProgrammatic, 1)
	}
	l.config.attributes = &l.attributes[0]
	return l
}

// Call is a launch with all its parameters, ready to be made many times without
// allocating. It lies on the heap, where nothing moves.
type Call struct {
	function Function
	launch   *launch
	values   [][]byte
	params   []unsafe.Pointer // to the values
	args     []uintptr        // of the driver's function: all of the above
}

// Prepare makes a launch ready. Each parameter is the bytes of its value, as
// from [Param]; they are copied. Their number and sizes are compared with what
// the kernel takes where the driver can say (from CUDA 12.4); an older driver
// reads past the end of a parameter that is too short.
//
//go:noinline
func (f Function) Prepare(config LaunchConfig, params ...[]byte) (*Call, error) {
	if err := f.checkParams(params); err != nil {
		return nil, err
	}
	// Not inlined, the Call is on the heap whatever the caller does with it.
	c := &Call{function: f, launch: newLaunch(config)}
	for _, param := range params {
		value := alignedBytes(len(param), paramAlign)
		copy(value, param)
		c.values = append(c.values, value)
		c.params = append(c.params, unsafe.Pointer(unsafe.SliceData(value)))
	}
	if len(params) == 0 {
		c.params = make([]unsafe.Pointer, 1) // an address is wanted all the same
	}
	c.args = []uintptr{uintptr(unsafe.Pointer(&c.launch.config)), f.handle, uintptr(unsafe.Pointer(&c.params[0])), 0}
	return c, nil
}

func (f Function) checkParams(params [][]byte) error {
	sizes, err := f.ParamSizes()
	if old := (*TooOld)(nil); errors.As(err, &old) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(params) != len(sizes) {
		return fmt.Errorf("launch with %d parameters: the kernel takes %d", len(params), len(sizes))
	}
	for i, param := range params {
		if len(param) != sizes[i] {
			return fmt.Errorf("launch with %d bytes for parameter %d: the kernel takes %d", len(param), i, sizes[i])
		}
	}
	return nil
}

// Set replaces the value of parameter i by another of the same size.
func (c *Call) Set(i int, value []byte) error {
	if i < 0 || i >= len(c.values) || len(value) != len(c.values[i]) {
		return fmt.Errorf("set parameter %d to %d bytes: the launch was prepared with others", i, len(value))
	}
	copy(c.values[i], value)
	return nil
}

// Launch puts the kernel into the stream.
func (c *Call) Launch(s Stream) error {
	c.launch.config.stream = s.handle
	d := c.function.d
	err := d.call(cuLaunchKernelEx, c.args...)
	runtime.KeepAlive(c) // args does not keep what it points to
	return err
}

// Launch puts the kernel into the stream once. [Function.Prepare] serves repeated
// launches.
func (f Function) Launch(s Stream, config LaunchConfig, params ...[]byte) error {
	call, err := f.Prepare(config, params...)
	if err != nil {
		return err
	}
	return call.Launch(s)
}

// Param returns the bytes of a value, as a kernel takes it.
func Param[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64](value T) []byte {
	raw, _ := binary.Append(nil, binary.NativeEndian, value) // of fixed size
	return raw
}

// alignedBytes is n zero bytes at an address that is a multiple of align.
func alignedBytes(n, align int) []byte {
	room := make([]byte, n+align)
	skip := int(-uintptr(unsafe.Pointer(&room[0])) & uintptr(align-1))
	return room[skip : skip+n : skip+n]
}
