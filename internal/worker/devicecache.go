package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"pawl/internal/disk"
	"pawl/internal/native/cuda"
	"pawl/internal/native/nvml"
	"pawl/internal/result"
)

// deviceCache keeps the driver's answer about this machine's GPUs between workers. The answer stays
// the same while its circumstances do. Sandboxed cells cannot write to the cache: it is none of
// their folders.
type deviceCache struct {
	folder string // "": the user has no cache folder
	before circumstances
	read   func() circumstances
}

// circumstances decide, together with the GPUs, how the driver lists and describes them. Reading
// them takes less than a millisecond.
type circumstances struct {
	Schema    int         `json:"schema"` // of the file
	Tool      result.Tool `json:"tool"`
	Boot      string      `json:"boot"` // the kernel's number of it
	Variables []string    `json:"variables"`
	Files     []string    `json:"files"`
}

// deviceSchema is the version of the files' form.
const deviceSchema = 1

// cachedDevices is a file of the cache.
type cachedDevices struct {
	Circumstances circumstances `json:"circumstances"`
	NVML          inventory     `json:"nvml"`
	Devices       []result.GPU  `json:"devices"`
}

// inventory is what NVML quickly says of this machine's GPUs.
type inventory struct {
	Driver string          `json:"driver"`
	GPUs   []inventoryItem `json:"gpus"`
}

type inventoryItem struct {
	UUID   string `json:"uuid"`
	Bus    string `json:"bus"`
	Memory uint64 `json:"memory_bytes"`
	ECC    bool   `json:"ecc"`
}

func newDeviceCache(tool result.Tool, proc string) *deviceCache {
	read := func() circumstances { return readCircumstances(tool, proc) }
	return &deviceCache{folder: disk.Cache("devices"), before: read(), read: read}
}

func readCircumstances(tool result.Tool, proc string) circumstances {
	boot, _ := os.ReadFile(filepath.Join(proc, "sys/kernel/random/boot_id"))
	c := circumstances{Schema: deviceSchema, Tool: tool, Boot: strings.TrimSpace(string(boot))}
	for _, variable := range os.Environ() {
		for _, prefix := range []string{"CUDA_", "NVIDIA_", "LD_"} {
			if strings.HasPrefix(variable, prefix) {
				c.Variables = append(c.Variables, variable)
			}
		}
	}
	slices.Sort(c.Variables)
	nodes, _ := filepath.Glob("/dev/nvidia*") // a sandboxed cell cannot create those that are missing
	self, _ := os.Executable()                // a version under development does not change its number
	for _, path := range slices.Concat([]string{self}, cuda.Files(), nodes) {
		if info, err := os.Stat(path); err == nil {
			c.Files = append(c.Files, describeFile(path, info))
		}
	}
	return c
}

// describeFile names a file as long as nobody replaces it.
func describeFile(path string, info fs.FileInfo) string {
	if info.Mode()&fs.ModeDevice != 0 {
		return fmt.Sprintf("%s %v %x", path, info.Mode(), info.Sys().(*syscall.Stat_t).Rdev)
	}
	return fmt.Sprintf("%s %v %d %d", path, info.Mode(), info.Size(), info.ModTime().UnixNano())
}

// usable reports whether circumstances are known well enough to rely on them. A server that shares
// GPUs between processes (MPS) has settings that nobody sees from here.
func (c *deviceCache) usable() bool {
	if c.folder == "" || c.before.Boot == "" {
		return false
	}
	pipes := "/tmp/nvidia-mps"
	if named := os.Getenv("CUDA_MPS_PIPE_DIRECTORY"); named != "" {
		pipes = named
	}
	_, err := os.Stat(filepath.Join(pipes, "control"))
	return errors.Is(err, fs.ErrNotExist)
}

func (c *deviceCache) path() string {
	raw, _ := json.Marshal(c.before) // plain values: cannot fail
	sum := sha256.Sum256(raw)
	return filepath.Join(c.folder, hex.EncodeToString(sum[:16])+".json")
}

// has reports whether it may know the devices: NVML decides.
func (c *deviceCache) has() bool {
	_, err := os.Stat(c.path())
	return c.usable() && err == nil
}

// find returns the devices of an earlier worker; nil where there are none, or where anything is
// different now.
func (c *deviceCache) find(now *inventory) []result.GPU {
	if now == nil || !c.usable() {
		return nil
	}
	file, err := os.Open(c.path())
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Mode().Perm()&0o022 != 0 || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		return nil // somebody else can write to it
	}
	var kept cachedDevices
	if json.NewDecoder(file).Decode(&kept) != nil || !reflect.DeepEqual(kept.Circumstances, c.before) || !reflect.DeepEqual(&kept.NVML, now) || !now.has(kept.Devices) {
		return nil
	}
	return kept.Devices
}

// keepFor is how long a file stays that no worker has written anew. Another boot has another file.
const keepFor = 30 * 24 * time.Hour

// keep stores the driver's answer, unless the circumstances changed meanwhile: the first process
// that asks the driver may create device nodes. A cache that cannot be written costs only time.
func (c *deviceCache) keep(devices []result.GPU, now *inventory) {
	if now == nil || !c.usable() || !now.has(devices) || !reflect.DeepEqual(c.before, c.read()) {
		return
	}
	raw, err := disk.JSON(cachedDevices{c.before, *now, devices})
	if err != nil || os.MkdirAll(c.folder, 0o700) != nil || disk.Write(c.path(), raw) != nil {
		return
	}
	old, _ := filepath.Glob(filepath.Join(c.folder, "*.json"))
	for _, path := range old {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > keepFor {
			_ = os.Remove(path)
		}
	}
}

// has reports whether all devices are whole GPUs of the inventory, and there are some.
func (i *inventory) has(devices []result.GPU) bool {
	return len(devices) > 0 && !slices.ContainsFunc(devices, func(gpu result.GPU) bool {
		return !slices.ContainsFunc(i.GPUs, func(item inventoryItem) bool { return item.UUID == gpu.UUID })
	})
}

// inventory returns nil where NVML does not say all of it, or a GPU is divided: what CUDA then lists
// depends on more.
func (g *gauges) inventory() *inventory {
	if g == nil {
		return nil
	}
	driver, err := g.library.DriverVersion()
	if err != nil {
		return nil
	}
	devices, err := g.library.Devices()
	if err != nil {
		return nil
	}
	out := &inventory{Driver: driver}
	for _, device := range devices {
		item, err := itemOf(device)
		if divided, failed := device.MIG(); err != nil || failed != nil || divided {
			return nil
		}
		out.GPUs = append(out.GPUs, item)
	}
	return out
}

func itemOf(device nvml.Device) (item inventoryItem, err error) {
	if item.UUID, err = device.UUID(); err != nil {
		return item, err
	}
	if item.Bus, err = device.PCIBus(); err != nil {
		return item, err
	}
	if item.Memory, err = device.MemoryTotal(); err != nil {
		return item, err
	}
	item.ECC, err = device.ECC()
	return item, err
}
