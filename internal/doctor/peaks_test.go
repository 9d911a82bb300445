package doctor

import (
	"os"
	"strings"
	"testing"
	"time"

	"pawl/internal/roof"
)

func TestPeaks(t *testing.T) {
	folder := t.TempDir()
	look := func() Check {
		var c Check
		lookPeaks(&c, folder, "nvidia-h200")
		return c
	}
	if c := look(); c.Status != Missing || c.Fix != "pawl calibrate --roofline" || !strings.Contains(c.Note, "nvidia-h200") {
		t.Errorf("without peaks: %+v", c)
	}
	path, err := roof.Save(folder, &roof.Peaks{
		Schema: roof.Schema, DeviceClass: "nvidia-h200", Measured: time.Date(2026, 11, 10, 1, 2, 3, 0, time.UTC),
		Peaks: []roof.Peak{{Name: roof.DRAM, Rate: 4000, Unit: roof.GBps}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := look(); c.Status != OK || c.Value != "nvidia-h200, measured 2026-11-10" || c.Path != path || c.Fix != "" {
		t.Errorf("with peaks: %+v", c)
	}
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if c := look(); c.Status != Limited || c.Fix == "" || !strings.Contains(c.Note, path) {
		t.Errorf("broken: %+v", c)
	}
}

// The class is that of the GPU where there is one.
func TestPeaksOfGPU(t *testing.T) {
	root, cache := t.TempDir(), t.TempDir()
	ask := func() string {
		return (&system{root: root}).peaks(cache, "host-x").ask(t.Context(), time.Minute)[0].Note
	}
	if got := ask(); got != "not measured yet: host-x" {
		t.Errorf("without a GPU: %q", got)
	}
	writeFile(t, root+"/proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 1\n")
	if got := ask(); got != "not measured yet: nvidia-h200" {
		t.Errorf("with a GPU: %q", got)
	}
}
