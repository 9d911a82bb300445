package wire

import (
	"encoding/json"
	"time"

	"pawl/internal/result"
)

// Operations. The first group is spoken between pawl and its worker only, the
// second between pawl and worker and, without the Cell field, between worker and
// cell.
const (
	OpHello  = "hello"
	OpPing   = "ping"
	OpCancel = "cancel"
	OpHave   = "have"
	OpPut    = "put"
	OpGet    = "get"
	OpOpen   = "open"
	OpClose  = "close"

	OpLoad    = "load"
	OpPrepare = "prepare"
	OpSample  = "sample"
	OpRun     = "run"
	OpProduce = "produce"
	OpJudge   = "judge"
	OpProfile = "profile"

	OpOK    = "ok"
	OpError = "error"
	OpNote  = "note" // unasked, about the request whose id it carries
)

// Hello is the first frame of a worker.
type Hello struct {
	Protocol    string             `json:"protocol"` // "major.minor"
	Tool        result.Tool        `json:"tool"`
	PID         int                `json:"pid"`
	Cells       []string           `json:"cells"` // kinds it can open
	DeviceClass string             `json:"device_class"`
	Machine     result.Fingerprint `json:"machine"`
	Devices     []result.GPU       `json:"devices,omitempty"`
	NoDevices   string             `json:"no_devices,omitempty"` // why there are none
	NoState     string             `json:"no_state,omitempty"`   // why the devices' state cannot be read
}

// Have asks whether the worker holds a blob.
type Have struct {
	SHA256 string `json:"sha256"`
}

// HaveReply answers Have.
type HaveReply struct {
	Have bool `json:"have"`
}

// Put sends a part of a blob, in order; the last part completes it.
type Put struct {
	SHA256 string `json:"sha256"` // of the whole
	Offset int64  `json:"offset"`
	Total  int64  `json:"total"`
}

// Cancel ends the work on an earlier request by ending its cell.
type Cancel struct {
	ID uint64 `json:"id"`
}

// Open starts a cell.
type Open struct {
	Cell    string `json:"cell"`               // kind
	Sandbox string `json:"sandbox"`            // auto, require, off
	Memory  int64  `json:"memory"`             // bytes the cell may use
	Threads int    `json:"threads"`            // threads the candidate may start besides the cell's own
	Device  int    `json:"device,omitempty"`   // of a cuda or python cell: index into the hello's devices
	LockMHz int    `json:"lock_mhz,omitempty"` // hold the GPU's clock there until the worker ends

	// Runs that measure at the same place wait for each other. Those that use the
	// processor and a GPU take the processor first, so that no two wait for ever.
	Processor bool `json:"processor,omitempty"` // on a GPU: the run needs the processor to itself, too
	Untimed   bool `json:"untimed,omitempty"`   // on a processor: nothing is measured in this cell, nobody waits for it

	// A tool of compute-sanitizer to run the cell under: memcheck, racecheck, initcheck
	// or synccheck. Only what prepare and produce do is then worth anything.
	Sanitizer string `json:"sanitizer,omitempty"`

	// Nsight Compute to run the cell under. Only what prepare and profile do is then worth
	// anything.
	Profiler *Profiler `json:"profiler,omitempty"`

	// Of a python cell.
	Framework string   `json:"framework,omitempty"` // torch, cupy, jax or numpy; numpy needs no GPU
	Dirs      []string `json:"dirs,omitempty"`      // folders to import from, where the worker's machine has them
	Apart     string   `json:"apart,omitempty"`     // a folder of which nothing is imported but what dirs has: another version is there
	Parallel  int      `json:"parallel,omitempty"`  // threads that its libraries compute with
}

// OpenReply names the new cell.
type OpenReply struct {
	Cell    uint64         `json:"cell"`
	PID     int            `json:"pid"`
	Trust   string         `json:"trust"`
	Sandbox result.Sandbox `json:"sandbox"`
	HeldS   float64        `json:"held_s,omitempty"` // how long the worker has held the lock of a device; absent: it holds none
}

// Close ends a cell; the reply says what is known of it.
type Close struct {
	Cell uint64 `json:"cell"`
}

// CloseReply is the end of a cell's story.
type CloseReply struct {
	Log        string         `json:"log,omitempty"`
	Sandbox    result.Sandbox `json:"sandbox"`
	PeakMemory int64          `json:"peak_memory"`
	Sanitizer  string         `json:"sanitizer,omitempty"` // what compute-sanitizer wrote, bounded
	Profile    *Profile       `json:"profile,omitempty"`   // what Nsight Compute wrote
}

// Load gives a cell its artifact. The worker fills Path for the cell.
type Load struct {
	Cell      uint64  `json:"cell,omitempty"`
	Side      int     `json:"side,omitempty"` // cuda: which of the versions that the cell holds
	SHA256    string  `json:"sha256"`
	Path      string  `json:"path,omitempty"`
	Device    string  `json:"device,omitempty"` // UUID; filled by the worker
	DeadlineS float64 `json:"deadline_s,omitempty"`

	// Of a python cell.
	Entry     string                     `json:"entry,omitempty"`     // module:function
	Params    map[string]json.RawMessage `json:"params,omitempty"`    // keyword arguments: numbers, booleans and words
	Framework string                     `json:"framework,omitempty"` // as in Open; filled by the worker
	Dirs      []string                   `json:"dirs,omitempty"`      // likewise, those that are there
	L2Bytes   int64                      `json:"l2_bytes,omitempty"`  // of the device; filled by the worker
}

// LoadReply is what the artifact can do. OnDevice also means that the cell was given a GPU.
type LoadReply Loaded

// Prepare gives a cell a problem: its arguments are allocated and filled.
type Prepare struct {
	Cell      uint64   `json:"cell,omitempty"`
	Side      int      `json:"side,omitempty"` // cuda; side 0 begins a new problem, and what the others held is freed
	Args      []Arg    `json:"args"`
	Launches  []Launch `json:"launches,omitempty"` // of a cuda cell; a host artifact launches itself
	Threads   int      `json:"threads"`
	Pin       bool     `json:"pin,omitempty"`       // keep the candidate on a few cores
	Cores     []int    `json:"cores,omitempty"`     // which: those of another side it takes turns with; none: the worker chooses
	CoresFor  int      `json:"cores_for,omitempty"` // threads that they are chosen for: the most of any side; 0: its own
	Seed      uint64   `json:"seed"`
	Batch     int      `json:"batch"`
	Copies    int      `json:"copies,omitempty"`    // cuda: of the arguments, at most; 0: as many as no cache holds
	Spare     bool     `json:"spare,omitempty"`     // author cells: on the processor a second copy of the arguments, for Sample.Fresh; of a launcher as many as a turn has samples
	Reference bool     `json:"reference,omitempty"` // python: it is asked for right answers alone, and may return wider types
	DeadlineS float64  `json:"deadline_s,omitempty"`
}

// Launch is one kernel launch of a cuda cell.
type Launch struct {
	Entry                 string    `json:"entry"` // symbol in the artifact
	Args                  []int     `json:"args"`  // indexes into the problem's arguments
	Grid                  [3]uint32 `json:"grid"`
	Block                 [3]uint32 `json:"block"`
	Cluster               [3]uint32 `json:"cluster"` // all zero: none
	Shared                uint32    `json:"shared,omitempty"`
	Cooperative           bool      `json:"cooperative,omitempty"`
	ProgrammaticDependent bool      `json:"programmatic_dependent,omitempty"`
}

// Arg is one argument of a problem: a buffer, a scalar or a tensor map.
type Arg struct {
	Name   string    `json:"name"`
	DType  string    `json:"dtype"`
	Buffer bool      `json:"buffer,omitempty"`
	Count  int64     `json:"count,omitempty"` // elements of a buffer
	Shape  []int64   `json:"shape,omitempty"` // of a buffer; python
	Role   string    `json:"role,omitempty"`
	Init   string    `json:"init,omitempty"`
	Params []float64 `json:"params,omitempty"` // of Init
	Value  string    `json:"value,omitempty"`  // of a scalar, in decimal
	Draws  int       `json:"draws,omitempty"`  // its data is that of argument number Draws−1; 0: of its own number

	Symbol string `json:"symbol,omitempty"` // variable of the module that holds it; no launch passes it; cuda
	Shared bool   `json:"shared,omitempty"` // its data is the same in all copies of the arguments

	TensorMap *TensorMap `json:"tensor_map,omitempty"` // instead of a buffer or scalar; cuda
}

// TensorMap describes a buffer and its tiles to a GPU's copy engine, as
// cuTensorMapEncodeTiled takes it, but in the order of a shape: the innermost
// dimension is the last.
type TensorMap struct {
	Of             int     `json:"of"`              // index of the buffer's argument
	Dims           []int64 `json:"dims"`            // elements
	Strides        []int64 `json:"strides"`         // bytes, of all dimensions but the last
	Box            []int64 `json:"box"`             // elements of a tile
	ElementStrides []int64 `json:"element_strides"` //
	Swizzle        string  `json:"swizzle"`         // none, 32B, 64B, 128B
	Interleave     string  `json:"interleave"`      // none, 16B, 32B
	L2             string  `json:"l2"`              // none, 64B, 128B, 256B
	Fill           string  `json:"fill"`            // zero, nan
}

// PrepareReply is what a cell has prepared.
type PrepareReply struct {
	Prepared
	State *result.State `json:"state,omitempty"` // of the device, before a cell's first problem
}

// Sample asks for timed launches.
type Sample struct {
	Cell   uint64  `json:"cell,omitempty"`
	Side   int     `json:"side,omitempty"`
	Order  []int   `json:"order,omitempty"` // cuda: sides that take turns, again and again; instead of Side
	Batch  int     `json:"batch,omitempty"` // of the data; another than the last is generated first
	Count  int     `json:"count"`           // of all sides together, whole rounds of Order
	Repeat int     `json:"repeat"`          // launches per sample
	Cache  string  `json:"cache"`           // cold or hot
	MaxS   float64 `json:"max_s,omitempty"` // stop early after this long; at least one sample is taken
	Step   int     `json:"step,omitempty"`  // of the first sample: author cells change their inputs a little before each (oracle.Mutate)
	Dry    bool    `json:"dry,omitempty"`   // all of it but the launches: what a request takes besides them

	// Author cells: number of the sample, from 1, that is the first on data of another batch;
	// Step is 1 there. They have it ready before the first sample, so that nothing tells
	// beforehand which one it is; with FreshBatch alone, for a later request.
	Fresh      int `json:"fresh,omitempty"`
	FreshBatch int `json:"fresh_batch,omitempty"`

	// On the processor: number of the sample, from 1, before which lines of the arguments are
	// read, once after all has been flushed and once after just they have been; then all is
	// flushed again.
	Probe int `json:"probe,omitempty"`

	// On the processor: it forgets what it has seen of memory and of branches before each sample.
	Forget      bool  `json:"forget,omitempty"`
	ForgetBytes int64 `json:"forget_bytes,omitempty"` // that are read for it, 0: there is no memory; filled by the worker

	// On the processor: counters to read meanwhile, by their names in package machine; for the
	// worker. The cell is told that it is counted: what it does besides the launches is then the
	// same with and without them, to be subtracted.
	Counters []string `json:"counters,omitempty"`
	Counted  bool     `json:"counted,omitempty"` // filled by the worker

	// On a GPU: nothing hides what the host does for a launch, which is in the times.
	Unhidden  bool    `json:"unhidden,omitempty"`
	Keep      int     `json:"keep,omitempty"`    // number of the sample, from 1, whose outputs are kept
	Outputs   string  `json:"outputs,omitempty"` // folder to keep them in; filled by the worker
	DeadlineS float64 `json:"deadline_s,omitempty"`
}

// SampleReply is the samples of a cell and what its worker has seen meanwhile. The
// samples themselves are in the frame's blob.
type SampleReply struct {
	Samples
	Kept []Buffer `json:"kept,omitempty"` // outputs of the sample that was to be kept

	WorkerS float64 `json:"worker_s,omitempty"`
	BusyS   float64 `json:"busy_s,omitempty"` // processor time of the whole cell
	Toll
	PeakBytes int64          `json:"peak_bytes,omitempty"`
	State     *result.State  `json:"state,omitempty"`    // of the device, now and then
	Counters  *result.Counts `json:"counters,omitempty"` // that were asked for, over the whole request
}

// Produce asks for the outputs of one launch on data of its own. They do not
// travel: the worker keeps them, under their hash, for a cell that judges them.
type Produce struct {
	Cell      uint64  `json:"cell,omitempty"`
	Side      int     `json:"side,omitempty"`
	Batch     int     `json:"batch"`             // of the data; another than the last is generated first, at the same addresses
	Steps     int     `json:"steps,omitempty"`   // of oracle.Mutate that the inputs go through then
	Outputs   string  `json:"outputs,omitempty"` // folder to write them to; filled by the worker
	Trace     bool    `json:"trace,omitempty"`   // list the device's kernels: python (of one more launch), cuda (of a launcher)
	DeadlineS float64 `json:"deadline_s,omitempty"`
}

// ProduceReply names the outputs that the worker has taken over.
type ProduceReply struct {
	Outputs []Buffer `json:"outputs"` // of the arguments with role out and inout, in order
	Launched
}

// Buffer is an output that the worker keeps.
type Buffer struct {
	Arg    int    `json:"arg"`
	SHA256 string `json:"sha256,omitempty"`
	Path   string `json:"path,omitempty"`  // in Judge; filled by the worker
	DType  string `json:"dtype,omitempty"` // in Judge.Want, and of what a reference returned

	Returned bool `json:"returned,omitempty"` // by a reference, which has not written it in place
}

// Judge asks an oracle cell to compare outputs with what they must be: the buffers
// of Want, or what a built-in reference computes from the arguments.
type Judge struct {
	Cell        uint64   `json:"cell,omitempty"`
	Oracle      string   `json:"oracle,omitempty"`      // a built-in reference
	Elementwise string   `json:"elementwise,omitempty"` // or a formula over the arguments' names; neither: Want has the answers
	Args        []Arg    `json:"args"`                  // of the problem, as in Prepare
	Seed        uint64   `json:"seed"`
	Batch       int      `json:"batch"`
	Steps       int      `json:"steps,omitempty"` // of oracle.Mutate that the inputs have been through
	Got         []Buffer `json:"got"`
	Want        []Buffer `json:"want,omitempty"`
	Other       *int     `json:"other,omitempty"`     // a batch whose right answers, in Got where they are in Want, are compared in place of outputs
	Unchanged   bool     `json:"unchanged,omitempty"` // say also which inout arguments Want leaves as they were
	Atol        float64  `json:"atol"`
	Rtol        float64  `json:"rtol"`
	Usual       float64  `json:"usual,omitempty"` // what Atol is for the type and numbers about as large as 1, where sums of many terms may exceed it
	DeadlineS   float64  `json:"deadline_s,omitempty"`
}

// Run asks for launches back to back, without flushing, timed by whoever asks.
type Run struct {
	Cell      uint64  `json:"cell,omitempty"`
	Side      int     `json:"side,omitempty"`
	Launches  int64   `json:"launches"`
	State     bool    `json:"state,omitempty"` // read the device's state when they are done; for the worker
	DeadlineS float64 `json:"deadline_s,omitempty"`
}

// Toll is what other work of the machine has taken from a cell during a request, as the
// worker reads it.
type Toll struct {
	Preempted int64   `json:"preempted,omitempty"` // involuntary context switches
	WaitedS   float64 `json:"waited_s,omitempty"`  // that a thread was ready to run while other processes ran
	StolenS   float64 `json:"stolen_s,omitempty"`  // by the hypervisor, of as many cores as the cell has threads; in ticks
}

// StealTick is the unit in which the kernel counts stolen time.
const StealTick = 10 * time.Millisecond

// OfProcessor returns what of a toll may be in the processor time of a request. Waiting
// is not, and stolen time only on kernels that do not tell it apart. On those the two
// clocks differ by the waiting alone: what else the wall's has more is not in the
// processor's, and must not be taken off it again.
func (t Toll) OfProcessor(wallS, busyS float64) Toll {
	beside := max(0, wallS-busyS-t.WaitedS)
	t.StolenS, t.WaitedS = max(0, t.StolenS-beside), 0
	return t
}

// RunReply has both clocks beside each other.
type RunReply struct {
	Ran
	WorkerS float64 `json:"worker_s,omitempty"`
	Toll
	EnergyJ *float64      `json:"energy_j,omitempty"` // of the whole machine
	State   *result.State `json:"state,omitempty"`    // of the device, where it was asked for
}

// Failure is the body of a worker's error reply; a cell's is a result.Fault.
type Failure struct {
	result.Fault
	Log        string          `json:"log,omitempty"`
	Sandbox    *result.Sandbox `json:"sandbox,omitempty"`
	PeakMemory int64           `json:"peak_memory,omitempty"`
	CellEnded  bool            `json:"cell_ended,omitempty"` // the cell is gone; open another
	Sanitizer  string          `json:"sanitizer,omitempty"`  // as in CloseReply
	Profile    *Profile        `json:"profile,omitempty"`    // likewise
}

// Note is a remark about a request under way, such as waiting for a lock.
type Note struct {
	Text string `json:"text"`
}
