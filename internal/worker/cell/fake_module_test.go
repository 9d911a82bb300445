package cell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/worker/wire"
)

// What a side has loaded is given back with it: its module and the copy of the module's variables.
func TestFakeModulesLeaveNothing(t *testing.T) {
	f := newFakeCell(t)
	f.unload(0)
	before, _, err := f.driver.MemInfo()
	if err != nil {
		t.Fatal(err)
	}
	f.fake.Calls()
	for range 3 { // each takes the place of the one before it
		if _, err := f.load(&wire.Load{Path: f.cubin}); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.sides[0].globals) == 0 {
		t.Fatal("the module has no variables")
	}
	f.unload(0)
	calls := strings.Join(f.fake.Calls(), " ")
	if loaded, unloaded := strings.Count(calls, "cuModuleLoadDataEx"), strings.Count(calls, "cuModuleUnload"); loaded != 3 || unloaded != loaded {
		t.Errorf("%d modules were loaded, %d unloaded; want 3 and 3", loaded, unloaded)
	}
	if after, _, err := f.driver.MemInfo(); err != nil || after != before {
		t.Errorf("%d bytes are free, %d were before; %v", after, before, err)
	}
}

// Variables of any size are compared to their last byte, and no further.
func TestFakeLargeVariables(t *testing.T) {
	f := newFakeCell(t)
	path := filepath.Join(t.TempDir(), "large.cubin")
	image := cudafake.Cubin(t, `
		#include "kernel.h"
		DEVICE char large[(9 << 20) + 3];
		KERNEL(reads, 8) { *ARG(float *, 0) = large[0]; return 0; }
		KERNEL(begins, 8) { *ARG(float *, 0) = 1; large[0]++; return 0; }
		KERNEL(ends, 8) { *ARG(float *, 0) = 1; large[sizeof large - 1]++; return 0; }`)
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.load(&wire.Load{Path: path}); err != nil {
		t.Fatal(err)
	}
	args := []wire.Arg{{Name: "y", DType: "f32", Buffer: true, Count: 1, Role: "out"}}
	for entry, want := range map[string]bool{"reads": false, "begins": true, "ends": true} {
		if _, err := f.prepare(&wire.Prepare{Args: args, Launches: launchOf(entry, 0)}); err != nil {
			t.Fatal(err)
		}
		reply, err := f.produce(&wire.Produce{Outputs: t.TempDir()})
		if err != nil || reply.Retained != want {
			t.Errorf("%s: %+v, %v; want retained %v", entry, reply, err, want)
		}
	}
}
