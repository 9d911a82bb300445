package system

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/native/nvml/nvmltest"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// driverUser starts workers that share a cache, and counts how often they ask the driver.
type driverUser struct {
	t            *testing.T
	cache, asked string
	nvml         string // its folder, where a libcuda may lie too
}

func newDriverUser(t *testing.T) *driverUser {
	return &driverUser{t, t.TempDir(), filepath.Join(t.TempDir(), "asked"), filepath.Dir(nvmltest.Build(t))}
}

func (u *driverUser) env(more ...string) []string {
	return append([]string{"XDG_CACHE_HOME=" + u.cache, "FAKEGPU_ASKED=" + u.asked, "LD_LIBRARY_PATH=" + u.nvml, "PAWL_LOCK_DIR=" + u.cache}, more...)
}

// children returns the processes that have asked the driver.
func (u *driverUser) children() []int {
	u.t.Helper()
	raw, err := os.ReadFile(u.asked)
	if err != nil && !os.IsNotExist(err) {
		u.t.Fatal(err)
	}
	var all []int
	for _, word := range strings.Fields(string(raw)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			u.t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

// asks returns the devices that a new worker finds, and how often it has asked the driver.
func (u *driverUser) asks(env ...string) (int, []result.GPU) {
	u.t.Helper()
	before := len(u.children())
	client := cudaWorker(u.t, nil, u.env(env...)...)
	client.Close()
	return len(u.children()) - before, client.Hello().Devices
}

// mustAsk starts one worker for each number, which asks the driver that often.
func (u *driverUser) mustAsk(when string, want []int, env ...string) {
	u.t.Helper()
	for i, times := range want {
		if got, devices := u.asks(env...); got != times || len(devices) != 2 {
			u.t.Errorf("%s: worker %d asks %d times, want %d, and finds %d GPUs", when, i, got, times, len(devices))
		}
	}
}

// file returns the only file of the cache.
func (u *driverUser) file() string {
	u.t.Helper()
	files, err := filepath.Glob(filepath.Join(u.cache, "pawl/devices/*"))
	if err != nil || len(files) != 1 {
		u.t.Fatalf("files of the cache: %q, %v", files, err)
	}
	return files[0]
}

// A worker asks the driver only once, until anything changes that may change the answer.
func TestCUDADevicesAreCached(t *testing.T) {
	t.Parallel()
	u := newDriverUser(t)
	_, asked := u.asks()
	again, cached := u.asks()
	if diff := cmp.Diff(asked, cached); diff != "" || again != 0 || len(asked) != 2 || asked[1].UUID != cudafake.UUID1 || asked[0].Driver != "580.65.06" {
		t.Fatalf("the second worker asks %d times (-first +second):\n%s", again, diff)
	}
	for _, variable := range []string{"CUDA_VISIBLE_DEVICES=1", "CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "NVIDIA_VISIBLE_DEVICES=all", "LD_PRELOAD="} {
		u.mustAsk(variable, []int{1, 0}, variable)
	}
	u.mustAsk("another variable", []int{0}, "UNRELATED=1")
	for _, fact := range []string{"driver=581.00", "bus=C", "memory=17179869185", "ecc=0"} {
		u.mustAsk(fact, []int{1, 0}, nvmltest.FactsVariable+"="+fact)
		u.mustAsk("no longer "+fact, []int{1, 0})
	}
	for _, fact := range []string{"mig=1", "denied=1", "count=1"} {
		u.mustAsk(fact, []int{1, 1}, nvmltest.FactsVariable+"="+fact)
	}
	u.mustAsk("NVML fails", []int{1, 1}, nvmltest.InitVariable+"=9")
	u.mustAsk("NVML does not name the GPUs", []int{1, 1}, nvmltest.UnsupportedVariable+"=nvmlDeviceGetUUID")
	u.mustAsk("a cache that cannot be written", []int{1, 1}, "XDG_CACHE_HOME="+u.asked)
	if err := os.WriteFile(filepath.Join(u.cache, "control"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	u.mustAsk("MPS", []int{1, 1}, "CUDA_MPS_PIPE_DIRECTORY="+u.cache)
	library := filepath.Join(u.nvml, "libcuda.so.1")
	for _, text := range []string{"", "replaced"} {
		if err := os.WriteFile(library, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		u.mustAsk("another libcuda", []int{1, 0})
	}
	if err := os.Chtimes(library, time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	u.mustAsk("a newer libcuda of the same size", []int{1, 0})
}

// A file that is damaged or not to be trusted is as good as none, and is replaced.
func TestCUDADevicesCacheIsDamaged(t *testing.T) {
	t.Parallel()
	u := newDriverUser(t)
	u.mustAsk("nothing is known", []int{1})
	whole, err := os.ReadFile(u.file())
	if err != nil {
		t.Fatal(err)
	}
	u.mustAsk("all is well", []int{0})
	devices := strings.Index(string(whole), `"devices"`)
	for name, text := range map[string]string{
		"empty": "", "cut": string(whole[:len(whole)-4]), "another form": "[]", "no facts": "{}",
		"no devices":      string(whole[:devices]) + `"devices": []}`,
		"another GPU":     string(whole[:devices]) + strings.ReplaceAll(string(whole[devices:]), "0001\"", "0002\""),
		"another boot":    strings.Replace(string(whole), `"boot": "`, `"boot": "f`, 1),
		"another schema":  strings.Replace(string(whole), `"schema": 1`, `"schema": 0`, 1),
		"another machine": strings.Replace(string(whole), "580.65.06", "580.65.07", 1),
	} {
		if text == string(whole) {
			t.Fatalf("%s: nothing is changed", name)
		}
		if err := os.WriteFile(u.file(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		u.mustAsk(name, []int{1, 0})
		if now, err := os.ReadFile(u.file()); err != nil || string(now) != string(whole) {
			t.Errorf("%s: the file is now %q, %v", name, now, err)
		}
	}
	if err := os.Chmod(u.file(), 0o666); err != nil {
		t.Fatal(err)
	}
	u.mustAsk("others may write", []int{1, 0})
	if os.Getuid() != 0 {
		return
	}
	if err := os.Chown(u.file(), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	u.mustAsk("it is somebody else's", []int{1, 0})
}

func TestCUDADevicesOfManyWorkers(t *testing.T) {
	t.Parallel()
	u := newDriverUser(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			client := cudaWorker(t, nil, u.env()...)
			if count := len(client.Hello().Devices); count != 2 {
				t.Errorf("a worker finds %d GPUs", count)
			}
			client.Close()
		})
	}
	all.Wait()
	u.file() // the only one
	u.mustAsk("afterwards", []int{0})
}

// A worker says hello as soon as the driver has answered, and NVML is opened meanwhile. Nothing is
// measured before the process that asked has ended.
func TestCUDADriverIsAskedBeside(t *testing.T) {
	t.Parallel()
	u := newDriverUser(t)
	opened, end := filepath.Join(t.TempDir(), "opened"), filepath.Join(t.TempDir(), "end")
	client := cudaWorker(t, nil, u.env(nvmltest.OpenedVariable+"="+opened, "FAKEGPU_ANSWER="+opened, "FAKEGPU_END="+end)...)
	if hello := client.Hello(); len(hello.Devices) != 2 || hello.NoState != "" {
		t.Fatalf("%+v", hello)
	}
	eventually(t, "the child answers", func() bool { return len(u.children()) == 1 })
	child := u.children()[0]
	if err := syscall.Kill(child, 0); err != nil {
		t.Fatalf("the child: %v", err)
	}
	var ends atomic.Bool
	time.AfterFunc(time.Second, func() { // a cell takes less
		ends.Store(true)
		if err := os.WriteFile(end, nil, 0o600); err != nil {
			t.Error(err)
		}
	})
	cudaCell(t, client, wire.Open{}, "scale")
	if err := syscall.Kill(child, 0); err == nil || !ends.Load() {
		t.Error("a cell is prepared while the driver is busy with another process")
	}
	client.Close()
	u.mustAsk("afterwards", []int{0})
}

// BenchmarkCUDAFirstSample measures from the start of a bench to its first sample, with the
// artifact cached, on a driver that takes as long as that of an H200.
func BenchmarkCUDAFirstSample(b *testing.B) {
	binary, err := buildFakeGPU("pawl-fakegpu-slow", "initMS=90", "contextMS=250", "endMS=50")
	if err != nil {
		b.Skip(err)
	}
	p := newCUDAProject(b, cudaKernel("one", "scale"))
	p.binary = binary
	p.bench()
	var first []float64
	for b.Loop() {
		start := time.Now()
		report, _ := p.bench("--budget", "1ms")
		first = append(first, rowOf(b, report, "one").Timing.FirstSample.Sub(start).Seconds()*1e3)
	}
	slices.Sort(first)
	b.ReportMetric(first[len(first)/2], "ms/first-sample")
	b.ReportMetric(first[0], "ms/first-sample-best")
}
