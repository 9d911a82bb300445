package bench

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// goBenchOutput writes what go test -bench -count 100 would of 10,000 benchmarks, one
// in five of them changed by a factor.
func goBenchOutput(b *testing.B, path string, factor float64, seed uint64) {
	b.Helper()
	const benchmarks, samples = 10_000, 100
	random := rand.New(rand.NewPCG(seed, 42))
	var text bytes.Buffer
	text.WriteString("goos: linux\ngoarch: amd64\npkg: example.com/kernels\ncpu: Example CPU\n")
	for i := range benchmarks {
		median := float64(1000 * (1 + i%97))
		if i%5 == 0 {
			median *= factor
		}
		for range samples {
			fmt.Fprintf(&text, "BenchmarkKernel%05d-8   \t    1000\t  %8.1f ns/op\n", i, median*(1+0.01*random.NormFloat64()))
		}
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
}

// benchstat returns the path of benchstat, on PATH or fetched; "" if there is none.
func benchstat(b *testing.B) string {
	b.Helper()
	if path, err := exec.LookPath("benchstat"); err == nil {
		return path
	}
	dir := b.TempDir()
	install := exec.Command("go", "install", "golang.org/x/perf/cmd/benchstat@latest")
	install.Dir, install.Env = dir, append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-mod=mod")
	if out, err := install.CombinedOutput(); err != nil {
		b.Logf("no benchstat: %v\n%s", err, out)
		return ""
	}
	return filepath.Join(dir, "benchstat")
}

// BenchmarkCompare is `pawl compare` of 10,000 benchmarks with 100 samples each,
// process start, reading and printing included; beside it benchstat on the same
// files.
func BenchmarkCompare(b *testing.B) {
	bin := pawl(b)
	dir := b.TempDir()
	before, after := filepath.Join(dir, "before.txt"), filepath.Join(dir, "after.txt")
	goBenchOutput(b, before, 1, 1)
	goBenchOutput(b, after, 1.05, 2)
	for _, tool := range []struct {
		name    string
		command []string
		code    int
	}{
		{"pawl", []string{bin, "compare"}, 1}, // it finds the regressions
		{"benchstat", []string{benchstat(b)}, 0},
	} {
		if tool.command[0] == "" {
			continue
		}
		b.Run(tool.name, func(b *testing.B) {
			for b.Loop() {
				out, err := exec.Command(tool.command[0], append(tool.command[1:], before, after)...).Output()
				var exit *exec.ExitError
				code := 0
				if errors.As(err, &exit) {
					code = exit.ExitCode()
				} else if err != nil {
					b.Fatal(err)
				}
				if code != tool.code {
					b.Fatalf("exit code %d, want %d", code, tool.code)
				}
				if n := bytes.Count(out, []byte("Kernel")); n < 10_000 {
					b.Fatalf("%d benchmarks in the output", n)
				}
			}
		})
	}
}
