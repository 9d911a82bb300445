package report

import (
	"testing"

	"pawl/internal/result"
	"pawl/internal/term"
)

func TestFuzzText(t *testing.T) {
	golden(t, "fuzz_text", checkedText(t, trials(), term.Style{}))
	golden(t, "fuzz_color", checkedText(t, trials(), term.Style{Color: true}))
	golden(t, "fuzz_matrix", checkedText(t, fuzzOf(matrix()), term.Style{}))
}

var _ = result.Clean
