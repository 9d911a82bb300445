package gpu

import (
	"errors"
	"os"
	"strconv"
	"testing"

	"pawl/internal/dtype"
	"pawl/internal/result"
	"pawl/internal/worker"
	"pawl/test/soak"
)

// What cells of GPU kernels hold stays flat. PAWL_SOAK_SAMPLES says over how many
// samples of each kind and type; every element type is tried where they are many.
func TestSoak(t *testing.T) {
	need(t)
	text := os.Getenv("PAWL_SOAK_SAMPLES")
	if text == "" {
		t.Skip("PAWL_SOAK_SAMPLES says how many samples to take")
	}
	samples, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	const many = 100_000
	types := []dtype.Type{dtype.F32, dtype.I8}
	if samples >= many {
		types = dtype.All
	}
	client, err := worker.Start(t.Context(), worker.Options{Command: []string{pawl, "worker"}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, kind := range []string{"cuda", "launcher", "torch", "cupy", "jax"} {
		for _, typ := range types {
			t.Run(kind+"/"+string(typ), func(t *testing.T) {
				cell, err := soak.Subject{Kind: kind, DType: typ, Elements: 1 << 18}.Open(t.Context(), client, t.TempDir())
				var fault *result.Fault
				if errors.As(err, &fault) && fault.Cause == result.CauseUnsupported {
					t.Skip(fault.Message) // a framework, or a type that it does not have
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := soak.Flat(t.Context(), client, cell, samples, soak.Sampling(cell, 512), t.Logf); err != nil {
					t.Error(err)
				}
				_, _ = cell.Close(t.Context())
			})
		}
	}
}
