package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
)

// newTestCache has a folder of its own and believes in a boot.
func newTestCache(t *testing.T, tool result.Tool, boot string) *deviceCache {
	t.Helper()
	proc := t.TempDir()
	folder := filepath.Join(proc, "sys/kernel/random")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if boot != "" {
		if err := os.WriteFile(filepath.Join(folder, "boot_id"), []byte(boot+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return newDeviceCache(tool, proc)
}

func TestDeviceCache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	tool := result.Tool{Version: "1", Commit: "a"}
	now := &inventory{Driver: "580", GPUs: []inventoryItem{{UUID: "GPU-0"}, {UUID: "GPU-1"}}}
	devices := []result.GPU{{UUID: "GPU-1", SMs: 7}}
	first := newTestCache(t, tool, "boot")
	if first.has() || first.find(now) != nil {
		t.Error("an empty cache knows devices")
	}
	if own := first.before.Files; len(own) == 0 || !strings.HasPrefix(own[0], os.Args[0]+" ") {
		t.Errorf("this program is not among the files: %q", own)
	}
	if first.keep(devices, now); !first.has() || len(first.find(now)) != 1 || first.find(now)[0] != devices[0] {
		t.Errorf("kept %+v", first.find(now))
	}
	for what, other := range map[string]*deviceCache{
		"version": newTestCache(t, result.Tool{Version: "2", Commit: "a"}, "boot"), "commit": newTestCache(t, result.Tool{Version: "1", Commit: "b"}, "boot"),
		"boot": newTestCache(t, tool, "later"), "no boot": newTestCache(t, tool, ""),
	} {
		if other.has() || other.find(now) != nil {
			t.Errorf("another %s knows the devices", what)
		}
	}
	nobody := newTestCache(t, tool, "")
	if nobody.keep(devices, now); nobody.has() {
		t.Error("kept without a boot")
	}
	for what, test := range map[string]struct {
		devices []result.GPU
		now     *inventory
	}{"none": {nil, now}, "no NVML": {devices, nil}, "unknown": {[]result.GPU{{UUID: "GPU-1"}, {UUID: "MIG-1"}}, now}} {
		cache := newTestCache(t, tool, what)
		if cache.keep(test.devices, test.now); cache.has() {
			t.Errorf("kept: %s", what)
		}
	}
}

// The process that asks the driver may itself create device nodes: what it says is kept once nothing
// changes any more.
func TestDeviceCacheOfChangingMachine(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	now := &inventory{GPUs: []inventoryItem{{UUID: "GPU-0"}}}
	cache := newTestCache(t, result.Tool{}, "boot")
	t.Setenv("CUDA_VISIBLE_DEVICES", "0")
	if cache.keep([]result.GPU{{UUID: "GPU-0"}}, now); cache.has() {
		t.Error("kept though a setting changed meanwhile")
	}
}

func TestDeviceCacheIsSwept(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	now, devices := &inventory{GPUs: []inventoryItem{{UUID: "GPU-0"}}}, []result.GPU{{UUID: "GPU-0"}}
	old, recent, last := newTestCache(t, result.Tool{}, "1"), newTestCache(t, result.Tool{}, "2"), newTestCache(t, result.Tool{}, "3")
	for age, cache := range map[time.Duration]*deviceCache{2 * keepFor: old, keepFor / 2: recent} {
		cache.keep(devices, now)
		then := time.Now().Add(-age)
		if err := os.Chtimes(cache.path(), then, then); err != nil {
			t.Fatal(err)
		}
	}
	if last.keep(devices, now); old.has() || !recent.has() || !last.has() {
		t.Errorf("there are: old %v, recent %v, last %v", old.has(), recent.has(), last.has())
	}
}
