package search_test

import (
	"context"
	"testing"

	"pawl/internal/search/recorded"
	"pawl/internal/search/score"
)

func BenchmarkAuto(b *testing.B) {
	s, err := recorded.ReadFile("/work/shared/data/spaces/gemm-RTX_3090.json.gz")
	if err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		score.Play(context.Background(), s, "auto", uint64(i), 200)
	}
}
