package tune

import (
	"context"
	"errors"
	"testing"

	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

// A finalist does not fall out because the worker has made room for the outputs of others; a wrong
// sample among those that are left is still found.
func TestKeptOutputsThatAreGone(t *testing.T) {
	gone := errors.New("the worker no longer has the output")
	for _, c := range []struct {
		name            string
		samples         []measure.Kept
		wrong           bool
		skipped, looked int
	}{
		{name: "none is gone", samples: []measure.Kept{{Batch: 1}, {Batch: 1}}, looked: 2},
		{name: "some are", samples: []measure.Kept{{Batch: 2}, {Batch: 1}, {Batch: 2}}, skipped: 2, looked: 3},
		{name: "all are", samples: []measure.Kept{{Batch: 2}, {Batch: 2}}, skipped: 2, looked: 2},
		{name: "one is wrong", samples: []measure.Kept{{Batch: 3}}, wrong: true, looked: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			search := &tune{run: &run.Run{}}
			found := &result.Verification{}
			wrong := search.verifyKept(t.Context(), c.samples, found, &spec.Config{Name: "c"}, func(_ context.Context, one *result.Case, _ []wire.Buffer, _ int) ([]result.Finding, error) {
				switch one.Batch {
				case 2:
					return nil, gone
				case 3:
					one.Reason = "wrong"
				}
				return nil, nil
			})
			if wrong != c.wrong || found.Skipped != c.skipped || len(found.Cases) != c.looked {
				t.Errorf("wrong %v, %d skipped of %d, expected %v, %d of %d", wrong, found.Skipped, len(found.Cases), c.wrong, c.skipped, c.looked)
			}
			for _, one := range found.Cases {
				if (one.Batch == 2) != (one.Skipped != "") {
					t.Errorf("the case of batch %d is skipped for %q", one.Batch, one.Skipped)
				}
			}
		})
	}
}
