package cell

import (
	"embed"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"pawl/internal/dtype"
	"pawl/internal/native/cuda"
	"pawl/internal/oracle"
)

// helperPTX is kernels/helpers.cu, compiled by `make helpers`.
//
//go:embed kernels/helpers.ptx
var helperPTX []byte

// helperCubins are the same kernels for the known generations of devices. The driver compiles PTX
// again for every cell, which takes longer than everything else that a cell needs to start.
//
//go:embed kernels/helpers.sm_*.zst
var helperCubins embed.FS

// helperCubin returns the code for a device of a compute capability: code for the same generation
// that is not newer runs on it. It is nil where there is none.
func helperCubin(major, minor int) []byte {
	for ; minor >= 0; minor-- {
		packed, err := helperCubins.ReadFile(fmt.Sprintf("kernels/helpers.sm_%d%d.zst", major, minor))
		if err != nil {
			continue
		}
		reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil
		}
		defer reader.Close()
		if code, err := reader.DecodeAll(packed, nil); err == nil {
			return code
		}
	}
	return nil
}

// helpers are the cell's own kernels.
type helpers struct {
	generate, mutation, pattern, read, block, stamp, empty, hash cuda.Function

	blocks uint32 // a grid that fills the device
}

const helperThreads = 256

// loadHelpers loads the code for a device or, where there is none or the driver is too old for it,
// its PTX.
func loadHelpers(d *cuda.Driver, device cuda.Device) (*helpers, error) {
	major, err := device.Attribute(cuda.CapabilityMajor)
	if err != nil {
		return nil, err
	}
	minor, err := device.Attribute(cuda.CapabilityMinor)
	if err != nil {
		return nil, err
	}
	var module *cuda.Module
	code := helperCubin(major, minor)
	if code != nil {
		module, err = d.LoadModule(code)
	}
	if code == nil || err != nil {
		module, err = d.LoadModule(append(helperPTX, 0))
	}
	if err != nil {
		return nil, fmt.Errorf("load pawl's own kernels: %w", err)
	}
	return newHelpers(module, device)
}

func newHelpers(module *cuda.Module, device cuda.Device) (*helpers, error) {
	sms, err := device.Attribute(cuda.SMCount)
	if err != nil {
		return nil, err
	}
	h := &helpers{blocks: uint32(8 * sms)}
	for name, into := range map[string]*cuda.Function{
		"pawl_generate": &h.generate, "pawl_mutate": &h.mutation, "pawl_pattern": &h.pattern, "pawl_read": &h.read, "pawl_block": &h.block,
		"pawl_stamp": &h.stamp, "pawl_empty": &h.empty, "pawl_hash": &h.hash,
	} {
		if *into, err = module.Function(name); err != nil {
			return nil, fmt.Errorf("load pawl's own kernels: %w", err)
		}
	}
	return h, nil
}

func (h *helpers) wide() cuda.LaunchConfig {
	return cuda.LaunchConfig{Grid: [3]uint32{h.blocks}, Block: [3]uint32{helperThreads}}
}

// deviceTypes numbers the element types as helpers.cu does.
var deviceTypes = map[dtype.Type]int32{
	dtype.F64: 0, dtype.F32: 1, dtype.F16: 2, dtype.BF16: 3, dtype.E4M3: 4, dtype.E5M2: 5,
	dtype.I8: 6, dtype.I16: 7, dtype.I32: 8, dtype.I64: 9, dtype.U8: 10, dtype.U16: 11, dtype.U32: 12, dtype.U64: 13,
}

var deviceFills = map[string]int32{
	oracle.Normal: 0, oracle.Uniform: 1, oracle.Integers: 2, oracle.Constant: 3, oracle.Iota: 4,
	oracle.Rows: 5, oracle.Outliers: 6, oracle.Specials: 7,
}

// fillParam is helpers.cu's Fill.
func fillParam(t dtype.Type, fill oracle.Fill, key uint64) []byte {
	var args [4]float64
	copy(args[:], fill.Args)
	low := int64(args[0])
	count := uint64(int64(args[1])-low) + 1
	switch fill.Kind {
	case oracle.Rows, oracle.Outliers, oracle.Specials:
		count = uint64(args[2])
	}
	raw, _ := binary.Append(nil, binary.NativeEndian, struct { // of fixed size
		Kind         int32
		_            int32
		Key          uint64
		A, B, Factor float64
		Low          int64
		Range, Mask  uint64
	}{Kind: deviceFills[fill.Kind], Key: key, A: args[0], B: args[1], Factor: args[3], Low: low, Range: count, Mask: ^uint64(0) >> (64 - t.Integers())})
	return raw
}

// fill generates count elements on the device, the same bits as oracle.Generate.
func (h *helpers) fill(d *cuda.Driver, s cuda.Stream, to cuda.DevicePtr, count int64, t dtype.Type, fill oracle.Fill, key uint64) error {
	if fill.Kind == oracle.Zero {
		return d.MemsetD8(to, 0, uint64(count)*uint64(t.Size()), s)
	}
	return h.generate.Launch(s, h.wide(), cuda.Param(to), cuda.Param(uint64(count)), cuda.Param(deviceTypes[t]), fillParam(t, fill, key))
}

// mutate applies steps of oracle.Mutate on the device, the last included.
func (h *helpers) mutate(s cuda.Stream, at cuda.DevicePtr, count int64, t dtype.Type, fill oracle.Fill, key uint64, from, to int) error {
	fill, changing := oracle.Changing(fill)
	if !changing || from > to {
		return nil
	}
	config := cuda.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{oracle.Changes}}
	return h.mutation.Launch(s, config, cuda.Param(at), cuda.Param(uint64(count)), cuda.Param(deviceTypes[t]), fillParam(t, fill, key),
		cuda.Param(uint64(from)), cuda.Param(uint64(to)))
}

// poisonWord returns oracle.Poison's pattern, repeated to eight bytes.
func poisonWord(t dtype.Type) uint64 {
	var raw [8]byte
	oracle.Poison(raw[:], t)
	return binary.LittleEndian.Uint64(raw[:])
}
