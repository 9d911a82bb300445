package roof

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/result"
)

// h200 has one of each peak.
func h200() *Peaks {
	p := &Peaks{
		Schema: Schema, DeviceClass: "nvidia-h200", Device: "NVIDIA H200", Cell: "cuda", Arch: "sm_90a", Driver: "580.65", CUDA: "13.0",
		Tool: result.Tool{Version: "0.1.0"}, Measured: time.Date(2026, 11, 10, 14, 22, 33, 0, time.UTC),
	}
	for name, rate := range map[Name]float64{DRAM: 4000, L2: 6000} {
		p.Peaks = append(p.Peaks, Peak{Name: name, Rate: rate, Unit: GBps})
	}
	for name, rate := range map[Name]float64{F32: 60e3, F64: 30e3, F64Tensor: 60e3, TF32: 400e3, F16: 900e3, BF16: 900e3, E4M3: 1800e3} {
		p.Peaks = append(p.Peaks, Peak{Name: name, Rate: rate, Unit: GFLOPS})
	}
	return p
}

func TestSaveAndLoad(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "not", "yet")
	if got, err := Load(folder, "nvidia-h200"); got != nil || err != nil {
		t.Fatalf("before: %v, %v", got, err)
	}
	want := h200()
	want.Peaks[0].Of = "copy <4>"
	want.Peaks[0].Tried = []Try{{Kernel: "dram_copy/once", Of: "copy", Rate: 4000, MedianS: 5e-4, HalfWidth: 0.001, GHz: 1.9}, {Kernel: "dram_read/once", Fault: "it crashed"}}
	want.Failed = []Peak{{Name: "other", Unit: GFLOPS}}
	for range 2 { // the second replaces the first
		path, err := Save(folder, want)
		if err != nil || path != filepath.Join(folder, "nvidia-h200.json") {
			t.Fatalf("%s, %v", path, err)
		}
	}
	got, err := Load(folder, "nvidia-h200")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changed by a round trip (-want +got):\n%s", diff)
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestSaveRefuses(t *testing.T) {
	if _, err := Save("", h200()); err == nil || !strings.Contains(err.Error(), "XDG_CACHE_HOME") {
		t.Errorf("without a folder: %v", err)
	}
	empty := h200()
	empty.Peaks = nil
	if _, err := Save(t.TempDir(), empty); err == nil {
		t.Error("no peaks were saved")
	}
}

// A class may come from a worker elsewhere and must not lead out of the folder.
func TestPathStaysInside(t *testing.T) {
	for class, want := range map[string]string{
		"nvidia-h200": "peaks/nvidia-h200.json", "../../etc/passwd": "peaks/etc-passwd.json", "/a/b": "peaks/a-b.json", "": "peaks/.json",
	} {
		if got := Path("peaks", class); got != want {
			t.Errorf("%q: %s, want %s", class, got, want)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":          {"", "unexpected end"},
		"half a file":    {`{"schema": 1, "device_class": "c", "peaks": [{"name": "dr`, "unexpected end"},
		"not JSON":       {"peaks: 1", "invalid character"},
		"another schema": {`{"schema": 2, "device_class": "c"}`, "expected schema 1, got 2"},
		"no peaks":       {`{"schema": 1, "device_class": "c"}`, "no peaks"},
		"a zero rate":    {`{"schema": 1, "device_class": "c", "peaks": [{"name": "dram", "rate": 0, "unit": "GB/s"}]}`, "dram is 0"},
		"below zero":     {`{"schema": 1, "device_class": "c", "peaks": [{"name": "dram", "rate": -1, "unit": "GB/s"}]}`, "dram is -1"},
		"another unit":   {`{"schema": 1, "device_class": "c", "peaks": [{"name": "dram", "rate": 1, "unit": "MB/s"}]}`, `in "MB/s"`},
		"twice":          {`{"schema": 1, "device_class": "c", "peaks": [{"name": "l2", "rate": 1, "unit": "GB/s"}, {"name": "l2", "rate": 1, "unit": "GB/s"}]}`, "twice"},
		"another class":  {`{"schema": 1, "device_class": "d", "peaks": [{"name": "dram", "rate": 1, "unit": "GB/s"}]}`, `those of "d"`},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.WriteFile(Path(folder, "c"), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			p, err := Load(folder, "c")
			if p != nil || err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), folder) {
				t.Errorf("%v, %v", p, err)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	raw, err := h200().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"schema": 1, "peaks": [{"name": "dram", "rate": 1e308, "unit": "GB/s"}]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := Decode(raw)
		if err != nil {
			return
		}
		again, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(again); err != nil {
			t.Errorf("does not read what it wrote: %v\n%s", err, again)
		}
	})
}
