package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"pawl/internal/native/cuda"
	"pawl/internal/result"
	"pawl/internal/sandbox"
	"pawl/internal/spec"
)

// DefaultMaxBytes bounds the cache where nothing else is said.
const DefaultMaxBytes = 4 << 30

// Options say how to build. The zero value works.
type Options struct {
	CacheDir   string         // "": $PAWL_CACHE, else $XDG_CACHE_HOME/pawl/artifacts
	MaxBytes   int64          // of the cache; 0: DefaultMaxBytes
	Jobs       int            // compilers at once; 0: one for each usable core
	OnProgress func(Progress) // called when a compilation starts and when a variant is done, one call at a time
	NoCcache   bool           // compile without ccache even where it is installed; a sandbox has none
	Sandbox    string         // auto, require or off: how compilers are sandboxed
	Checkout   string         // the user's own folder of pawl.yaml, if versions in other folders are built, too; those builds read nothing of its repository
	Arch       string         // GPU architecture to compile CUDA for, such as sm_90a; "": $PAWL_CUDA_ARCH
}

// Progress is how far a Build has come, in variants.
type Progress struct {
	Done, Total    int
	Cached, Failed int    // of those done
	Current        string // the kernel and variant of this call
}

// Request asks for one variant of a kernel.
type Request struct {
	Dir     string // the spec's folder: sources and flags are relative to it
	Variant spec.Variant
	Module  []byte // text of a Python kernel's module, where it is not a file in Dir
}

// Artifact is a variant compiled to a shared object that exports the symbols
// described at the top of this package. The cache stores it as JSON beside the object.
type Artifact struct {
	Key      string  `json:"key"`              // hash of the inputs
	Code     string  `json:"code"`             // hash of the output, as far as it runs
	Former   string  `json:"former,omitempty"` // Code as pawl computed it before it told the kernels of a cubin apart
	SHA256   string  `json:"sha256"`           // of the shared object
	Compiler string  `json:"compiler"`         // the first line of its version
	Output   string  `json:"output,omitempty"` // warnings, as the compiler wrote them
	Cached   bool    `json:"-"`                // found, not compiled
	Seconds  float64 `json:"seconds"`          // compile time, now or when it was cached

	Symbols   []string           `json:"symbols"`             // of the launches' entries
	Resources []result.Resources `json:"resources,omitempty"` // of each launch's kernel; CUDA only

	WholeFile string `json:"whole_file,omitempty"` // why Code covers a whole cubin, and not just the launched kernels

	Framework string `json:"-"` // whose tensors a Python kernel takes

	bytes []byte // of an artifact that is not in the cache
	cache *cache // the cache that has it
}

// NewArtifact returns an artifact that was built elsewhere.
func NewArtifact(object []byte, symbols ...string) *Artifact {
	return &Artifact{SHA256: sha256Hex(object), Symbols: symbols, bytes: object}
}

// Read returns the shared object. It is read from the cache only when needed: a run may have ten
// thousand of them.
func (a *Artifact) Read() ([]byte, error) {
	if a.cache == nil {
		return a.bytes, nil
	}
	_, object, err := a.cache.load(a.Key)
	if err == nil && sha256Hex(object) != a.SHA256 {
		err = errors.New("it was rebuilt in the meantime")
	}
	if err != nil {
		return nil, result.Faultf(result.CauseInternal, "the artifact %.12s can no longer be read from the cache: %v", a.Key, err).
			WithHint("run it again; set PAWL_CACHE to a folder that no other program empties")
	}
	return object, nil
}

// Kernels returns the names of the kernels in a CUDA artifact.
func (a *Artifact) Kernels() ([]string, error) {
	object, err := a.Read()
	if err != nil {
		return nil, err
	}
	return cuda.KernelNames(object)
}

// Outcome is the outcome of a request: an artifact or a fault.
type Outcome struct {
	Request  Request
	Artifact *Artifact
	Fault    *result.Fault
	Output   string          // of the compiler, as it wrote it
	Flags    []string        // of the compiler: pawl's own, then the kernel's; without the variant's macros
	Sandbox  *result.Sandbox // sandbox of the compiler; nil when nothing was compiled
	Notes    []string        // oddities that did not prevent the artifact
}

// Builder compiles variants. It may be used by several goroutines at once.
type Builder struct {
	cc, cxx  *tool
	nvcc     *tool
	runtime  func() (*runtimeCompiler, error) // looks for NVRTC, which is used instead of nvcc, once
	python   *pythonTool
	arch     string
	ccache   string // path, or "" to do without
	cache    *cache
	jobs     int
	progress func(Progress)
	deadline time.Duration
	sandbox  sandbox.Mode
	checkout string // see Options
	limits   func() limits
}

// Arch returns the architecture that CUDA kernels are compiled for: the device's where that
// is known, else what PAWL_CUDA_ARCH names; "" when neither says.
func Arch(device string) string { return cmp.Or(device, os.Getenv("PAWL_CUDA_ARCH")) }

// ValidArch reports whether a name is that of a GPU architecture, such as sm_90a.
func ValidArch(name string) bool { return archName.MatchString(name) }

// New makes a Builder. An unusable cache is no error: builds then say so in their notes.
func New(options Options) (*Builder, error) {
	if options.MaxBytes < 0 || options.Jobs < 0 {
		return nil, errors.New("the size of the cache and the number of jobs cannot be negative")
	}
	mode, err := sandbox.ParseMode(options.Sandbox)
	if err != nil {
		return nil, err
	}
	if options.Checkout != "" {
		if options.Checkout, err = filepath.Abs(options.Checkout); err != nil {
			return nil, fmt.Errorf("find the user's checkout: %w", err)
		}
	}
	c := &cache{dir: options.CacheDir, max: cmp.Or(options.MaxBytes, DefaultMaxBytes)}
	c.open()
	b := &Builder{
		cc:       newTool("cc", "CC", "C", "gcc", c),
		cxx:      newTool("c++", "CXX", "C++", "g++", c),
		nvcc:     newTool("nvcc", "NVCC", "CUDA", "nvidia-cuda-toolkit", c),
		runtime:  sync.OnceValues(findRuntimeCompiler),
		python:   newPythonTool(c),
		arch:     Arch(options.Arch),
		cache:    c,
		jobs:     cmp.Or(options.Jobs, runtime.GOMAXPROCS(0)), // which takes affinity and CPU quota into account
		progress: options.OnProgress,
		deadline: deadline,
		sandbox:  mode,
		checkout: options.Checkout,
		limits:   func() limits { return limits{memory: mostMemory(), processes: mostProcesses} },
	}
	// ccache would write to a folder that other builds trust, in the compiler's sandbox.
	if !options.NoCcache && mode == sandbox.Off {
		b.ccache, _ = exec.LookPath("ccache")
	}
	return b, nil
}

// Build makes the artifact of every request and returns the outcomes in the
// same order.
func (b *Builder) Build(ctx context.Context, requests []Request) []Outcome {
	outcomes := make([]Outcome, len(requests))
	b.Each(ctx, requests, func(i int, o Outcome) { outcomes[i] = o })
	return outcomes
}

// Each makes the artifact of every request, and calls done for each outcome as soon as it is ready,
// one call at a time; compilers run on meanwhile. Equal requests are compiled once, and a failing
// request does not prevent others from being built. Cancelling ctx ends running compilers.
func (b *Builder) Each(ctx context.Context, requests []Request, done func(i int, o Outcome)) {
	run := b.newBatch(ctx)
	run.status.Total = len(requests)
	defer run.cleanUp()
	var handing sync.Mutex
	hand := func(o Outcome, indexes ...int) {
		run.finished(o, requests[indexes[0]].Variant, len(indexes))
		handing.Lock()
		defer handing.Unlock()
		for _, i := range indexes {
			one := o
			if one.Request = requests[i]; i == 0 && b.sandbox != sandbox.Off { // once, for all of them
				one.Notes = append(slices.Clone(o.Notes), idle()...)
			}
			done(i, one)
		}
	}

	// Requests with the same recipe in the same folder are one piece of work.
	var workers sync.WaitGroup
	type work struct {
		recipe  *recipe
		indexes []int
	}
	var all []*work
	same := map[string]*work{}
	for i, request := range requests {
		r, fault := b.recipe(ctx, request)
		if fault != nil {
			workers.Go(func() { hand(Outcome{Fault: fault}, i) })
			continue
		}
		r.hash = permitted(r.hash, b.sandbox)
		id := r.dir + "\x00" + r.hash
		if same[id] == nil {
			same[id] = &work{recipe: r}
			all = append(all, same[id])
		}
		same[id].indexes = append(same[id].indexes, i)
	}

	// The last go first: along a param's list tile sizes and unroll factors grow, and with them the
	// compile time. Short work at the end keeps all cores busy until then.
	running := make(chan struct{}, b.jobs)
	for _, w := range slices.Backward(all) {
		running <- struct{}{}
		workers.Go(func() {
			o := run.build(ctx, w.recipe)
			o.Flags = w.recipe.shared()
			<-running
			hand(o, w.indexes...)
		})
	}
	workers.Wait()
}

func (b *Builder) newBatch(ctx context.Context) *batch {
	run := &batch{Builder: b, files: newFiles(), includes: newIncludeScanner(), children: map[*fence][]*runtimeChild{}}
	if b.checkout != "" {
		run.exempt = untrackedIn(ctx, sandbox.ProjectRoot(b.checkout))
	}
	return run
}

// batch is one call of Build, with the state that its variants share.
type batch struct {
	*Builder
	files    *files
	includes *includeScanner

	shims   onceMap[shimObject]
	fences  onceMap[*fence]          // of compilers in folders
	sources onceMap[sandbox.Sources] // of projects

	mu   sync.Mutex
	temp string // created when something is compiled

	exempt []string // parts of the user's checkout that other versions may read

	children map[*fence][]*runtimeChild // idle NVRTC children
	status   Progress

	reporting sync.Mutex
}

func (run *batch) started(v spec.Variant) { run.report(v, func(*Progress) {}) }

func (run *batch) finished(o Outcome, v spec.Variant, count int) {
	run.report(v, func(p *Progress) {
		p.Done += count
		switch {
		case o.Fault != nil:
			p.Failed += count
		case o.Artifact.Cached:
			p.Cached += count
		}
	})
}

func (run *batch) report(v spec.Variant, change func(*Progress)) {
	run.reporting.Lock()
	defer run.reporting.Unlock()
	change(&run.status)
	run.status.Current = v.Kernel.Name + " " + v.Name()
	if run.progress != nil {
		run.progress(run.status)
	}
}

// tempDir makes a folder for one compilation.
func (run *batch) tempDir() (string, *result.Fault) {
	run.mu.Lock()
	defer run.mu.Unlock()
	var err error
	if run.temp == "" {
		sweepTemp(os.TempDir(), time.Now())
		run.temp, err = os.MkdirTemp("", fmt.Sprintf("%s%d-", tempName, os.Getpid()))
	}
	var dir string
	if err == nil {
		dir, err = os.MkdirTemp(run.temp, "")
	}
	if err != nil {
		return "", noTemp(err)
	}
	return dir, nil
}

func (run *batch) cleanUp() {
	run.endChildren()
	if run.temp != "" {
		_ = os.RemoveAll(run.temp)
	}
}

// internal returns the fault for a failure of the machine, not of the user's source.
func internal(attempt string, err error) *result.Fault {
	if errors.Is(err, syscall.ENOSPC) {
		return noSpace()
	}
	return newFault(result.CauseInternal, "", "%s: %v", attempt, err)
}

// build finds or compiles one variant.
func (run *batch) build(ctx context.Context, r *recipe) Outcome {
	o := Outcome{}
	if ctx.Err() != nil {
		o.Fault = interrupted()
		return o
	}
	if r.python {
		o.Artifact, o.Fault = run.readModule(r)
		return o
	}
	for _, list := range run.reads(r) {
		if run.fenceOf(r).stray(r.dir, list) != "" {
			continue // of another version's build
		}
		deps, ok := run.files.dependencies(r.dir, list)
		if !ok {
			continue
		}
		found, _, err := run.cache.load(keyOf(r.hash, deps))
		if err == nil {
			o.Artifact, o.Output = found, found.Output
			return o
		}
		if !errors.Is(err, errMissing) {
			o.Notes = append(o.Notes, fmt.Sprintf("the cached artifact was damaged and is rebuilt: %v", err))
		}
	}
	run.started(r.variant)
	made, fault := run.make(ctx, r)
	o.Sandbox = run.fenceOf(r).report()
	if made != nil {
		o.Output = made.output
	}
	if fault != nil {
		o.Fault = fault
		return o
	}
	a := &Artifact{
		Key: keyOf(r.hash, made.deps), bytes: made.so,
		Compiler: r.compiler.versionLine(), Output: made.output, Seconds: made.seconds, Symbols: made.symbols, Resources: made.resources,
	}
	var err error
	switch {
	case r.cuda != nil:
		err = a.hashDevice(a.bytes)
	case r.launcher:
		a.Code, err = codeHash(a.bytes)
	default:
		a.bytes, err = loadedPart(a.bytes)
		a.Code = hostCode(a.bytes)
	}
	if err != nil {
		o.Fault = internal("hash the code", err)
		return o
	}
	a.SHA256 = sha256Hex(a.bytes)
	a.Code = withLibraries(a.Code, made) // a cubin loads none
	o.Artifact = a
	if made.untracked != "" {
		o.Notes = append(o.Notes, made.untracked)
		return o
	}
	added, err := run.cache.store(r.hash, made.deps, a, a.bytes)
	if err != nil {
		o.Notes = append(o.Notes, fmt.Sprintf("the artifact could not be cached: %v", err))
	} else if added {
		a.bytes, a.cache = nil, run.cache
	}
	return o
}
