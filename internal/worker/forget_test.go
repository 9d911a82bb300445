package worker

import (
	"testing"

	"pawl/internal/result"
)

func TestSweep(t *testing.T) {
	const mib = 1 << 20
	caches := func(largest int64) []result.Cache {
		return []result.Cache{{Level: 1, Bytes: 32 << 10}, {Level: 3, Bytes: largest}}
	}
	for name, test := range map[string]struct {
		caches                     []result.Cache
		limit, resident, available int64
		want                       int64
	}{
		"twice the largest cache":      {caches(96 * mib), 1024 * mib, 20 * mib, 8192 * mib, 192 * mib},
		"caches that nobody knows":     {nil, 1024 * mib, 20 * mib, 8192 * mib, 64 * mib},
		"a small one":                  {caches(8 * mib), 1024 * mib, 20 * mib, 8192 * mib, 64 * mib},
		"a huge one":                   {caches(2048 * mib), 1024 * mib, 20 * mib, 8192 * mib, 512 * mib},
		"a cell near its limit":        {caches(96 * mib), 1024 * mib, 900 * mib, 8192 * mib, 0},
		"a cell without one":           {caches(96 * mib), 0, 900 * mib, 8192 * mib, 192 * mib},
		"a machine that has no memory": {caches(96 * mib), 1024 * mib, 20 * mib, 300 * mib, 0},
	} {
		if got := sweep(test.caches, test.limit, test.resident, test.available); got != test.want {
			t.Errorf("%s: %d MiB, want %d", name, got/mib, test.want/mib)
		}
	}
}
