package calibrate

import (
	"os/exec"
	"strings"
	"testing"

	"pawl/internal/build"
	"pawl/internal/result"
)

// buildAll compiles every kernel that a place can run and returns the outcomes.
func buildAll(t *testing.T, p *place) []build.Outcome {
	t.Helper()
	s, err := p.spec(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	options := build.Options{CacheDir: t.TempDir(), NoCcache: true}
	if p.gpu != nil {
		options.Arch = p.gpu.Arch
	}
	b, err := build.New(options)
	if err != nil {
		t.Fatal(err)
	}
	selections, err := s.Select(names(p.targets()))
	if err != nil {
		t.Fatal(err)
	}
	var requests []build.Request
	for _, sel := range selections {
		requests = append(requests, build.Request{Dir: s.Dir, Variant: sel.Kernel.Default()})
	}
	return b.Build(t.Context(), requests)
}

// Peaks are only peaks when nothing is spilled and the compiler does not serialise what should
// overlap; it warns of that.
func TestKernelsCompileForGPUs(t *testing.T) {
	if _, err := exec.LookPath(build.CompilerCommand("NVCC", "nvcc")[0]); err != nil {
		t.Skip("no nvcc (NVCC names one)")
	}
	for _, name := range []string{"A100", "H200"} {
		for _, o := range buildAll(t, &place{gpu: gpus[name]}) {
			kernel := o.Request.Variant.Kernel.Name
			if o.Fault != nil {
				t.Errorf("%s, %s: %s\n%s", name, kernel, o.Fault.Message, o.Output)
				continue
			}
			if r := o.Artifact.Resources[0]; r.SpillStores+r.SpillLoads+r.Stack > 0 || r.Registers == 0 {
				t.Errorf("%s, %s: %+v", name, kernel, r)
			}
			if said := strings.TrimSpace(o.Output + o.Artifact.Output); said != "" {
				t.Errorf("%s, %s: %s", name, kernel, said)
			}
		}
	}
}

func TestKernelsCompileForHosts(t *testing.T) {
	for _, o := range buildAll(t, &place{}) {
		switch {
		case o.Fault != nil && o.Fault.Cause == result.CauseUnsupported:
			t.Skip(o.Fault.Message)
		case o.Fault != nil:
			t.Errorf("%s: %s\n%s", o.Request.Variant.Kernel.Name, o.Fault.Message, o.Output)
		}
	}
}
