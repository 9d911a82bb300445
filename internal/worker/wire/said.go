package wire

import (
	"cmp"
	"encoding/binary"
	"math"

	"pawl/internal/result"
)

// What a cell says has types of its own. A worker decodes them alone and builds its
// reply from them, so that a cell has no words for what only the worker can know.

// CellHello is the first frame of a cell.
type CellHello struct {
	Protocol string `json:"protocol"`
	Cell     string `json:"cell"` // its kind
	PID      int    `json:"pid"`
}

// Loaded answers Load.
type Loaded struct {
	Flush   string `json:"flush"`             // how caches are evicted, or "none"
	Runtime string `json:"runtime,omitempty"` // what runs the artifact, with versions; python

	OnDevice bool `json:"on_device,omitempty"` // it runs on a GPU; a python cell's framework decides that

	Limits []string `json:"limits,omitempty"` // what the cell cannot guarantee of it, and why; cuda
}

// Prepared answers Prepare. It says where the buffers are, so that a fault at an
// address can be named.
type Prepared struct {
	Buffers []Range `json:"buffers"`
	Pinned  []int   `json:"pinned,omitempty"`
	Own     []int   `json:"own,omitempty"` // threads of the cell itself that launch nothing, which counters leave out; host

	Resources []result.Resources `json:"resources,omitempty"` // of each launch; cuda
	Sets      int                `json:"sets,omitempty"`      // copies of the arguments that launches rotate over; cuda
}

// Range is a buffer in the cell's address space.
type Range struct {
	Name  string `json:"name"`
	Start uint64 `json:"start"`
	Bytes uint64 `json:"bytes"`
}

// Sampled answers Sample.
type Sampled struct {
	Samples
	Kept []Left `json:"kept,omitempty"` // outputs of the sample that was to be kept
}

// Samples are timed launches, and what is known of them.
type Samples struct {
	Count   int       `json:"count"`
	Seconds []float64 `json:"-"` // per launch; in the frame's blob
	GHz     []float64 `json:"-"` // clock of each sample, 0: unknown; in the frame's blob

	OverheadS float64 `json:"overhead_s"`       // of an empty call
	PairS     float64 `json:"pair_s,omitempty"` // cuda: between two events with nothing between them; already subtracted
	GapS      float64 `json:"gap_s,omitempty"`  // cuda, several launches a sample: between two empty ones

	OtherStreams bool  `json:"other_streams,omitempty"` // work was left on other streams; its time is counted
	SetAside     []int `json:"set_aside,omitempty"`     // sides that set a part of the L2 aside, where a flush does not reach; cuda
	Exposed      int   `json:"exposed,omitempty"`       // samples in which the device waited for the host; python
	DeviceBytes  int64 `json:"device_bytes,omitempty"`  // most memory taken on the device, arguments once

	Forgot bool `json:"forgot,omitempty"` // before every sample, as Forget asks
	Fresh  int  `json:"fresh,omitempty"`  // the sample that began another batch, if it was reached

	// What Probe asks for: seconds that reading lines took after the flush, and after one that
	// is known to work; both 0: nothing was read.
	FlushedS float64 `json:"flushed_s,omitempty"`
	ColdS    float64 `json:"cold_s,omitempty"`

	Batch int `json:"batch,omitempty"` // of the kept outputs' data, where it is not the request's; cuda

	GlobalS float64 `json:"global_s,omitempty"` // seconds of all samples together by the GPU's global timer; 0: unknown; cuda
}

// Produced answers Produce.
type Produced struct {
	Outputs []Left `json:"outputs"` // of the arguments with role out and inout
	Launched
}

// Launched is what is known of a launch besides its outputs.
type Launched struct {
	Kernels []string `json:"kernels,omitempty"` // that ran on the device, each once, in order; with Trace

	Outside   []string `json:"outside,omitempty"`    // of these, those that ran before the stream that is timed had begun, or after it was done; python
	NoKernels string   `json:"no_kernels,omitempty"` // why they are not known, though Trace asks for them; cuda

	Retained bool `json:"retained,omitempty"` // the module's variables hold something else than before the launch; cuda
}

// Left is an output that a cell has left in the folder it was given.
type Left struct {
	Arg   int    `json:"arg"`
	Path  string `json:"path,omitempty"`  // argument number and ".bin"
	DType string `json:"dtype,omitempty"` // of what a reference returned

	Returned bool `json:"returned,omitempty"` // by a reference, which has not written it in place
}

// Judged answers Judge: how the outputs differ, in the order of Judge.Got. A worker passes
// it on as it is, since in an oracle cell nobody's code runs but pawl's.
type Judged struct {
	Outputs   []result.OutputError `json:"outputs"`
	Unchanged []int                `json:"unchanged,omitempty"` // arguments
}

// Ran answers Run.
type Ran struct {
	CellS float64 `json:"cell_s"`
	GHz   float64 `json:"ghz,omitempty"` // mean clock; 0: unknown
}

// KeptSide returns the side of the sample whose outputs are kept.
func (m *Sample) KeptSide() int {
	if len(m.Order) == 0 {
		return m.Side
	}
	return m.Order[(m.Keep-1)%len(m.Order)]
}

// KeptOn returns the data that the kept sample of a request worked on: its batch, and the
// steps of oracle.Mutate that it had been through.
func (s *Samples) KeptOn(m Sample) (batch, steps int) {
	switch {
	case s.Fresh > 0 && m.Keep >= s.Fresh:
		return m.FreshBatch, m.Keep - s.Fresh + 1
	case m.Step > 0:
		steps = m.Step + m.Keep - 1
	}
	return cmp.Or(s.Batch, m.Batch), steps // of several copies of the arguments each has data of its own
}

// Pack lays the samples out as a blob: of each two little-endian float64, seconds per
// launch and GHz.
func (s *Samples) Pack() []byte {
	out := make([]byte, 0, 16*len(s.Seconds))
	for i := range s.Seconds {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(s.Seconds[i]))
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(s.GHz[i]))
	}
	return out
}

// Unpack reads the blob of Count samples and refuses values that are no times: a
// forged or broken cell must not reach the statistics.
func (s *Samples) Unpack(blob []byte) error {
	if s.Count < 0 || len(blob) != 16*s.Count {
		return Errorf("malformed", "%d bytes for %d samples; expected %d", len(blob), s.Count, 16*s.Count)
	}
	s.Seconds, s.GHz = make([]float64, s.Count), make([]float64, s.Count)
	for i := range s.Count {
		seconds := math.Float64frombits(binary.LittleEndian.Uint64(blob[16*i:]))
		ghz := math.Float64frombits(binary.LittleEndian.Uint64(blob[16*i+8:]))
		if !(seconds > 0) || math.IsInf(seconds, 0) {
			return Errorf("malformed", "sample %d is %v seconds", i, seconds)
		}
		if !(ghz >= 0 && ghz < 1000) {
			return Errorf("malformed", "sample %d ran at %v GHz", i, ghz)
		}
		s.Seconds[i], s.GHz[i] = seconds, ghz
	}
	return nil
}
