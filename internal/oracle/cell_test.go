package oracle

import (
	"testing"

	"pgregory.net/rapid"
)

// What a cell gets of one batch does not tell it another: numbers of neighbouring batches have no
// difference in common, and nothing in them is the run's seed.
func TestBatchesOfACell(t *testing.T) {
	differences := map[int]bool{}
	for seed := range uint64(4) {
		cellSeed, last := ForCell(seed, 0)
		if cellSeed == seed {
			t.Errorf("a cell gets the seed %d", seed)
		}
		for batch := 1; batch < 1000; batch++ {
			same, number := ForCell(seed, batch)
			if same != cellSeed {
				t.Fatalf("batch %d has the seed %d, the first %d", batch, same, cellSeed)
			}
			differences[number-last] = true
			last = number
		}
	}
	if len(differences) < 3990 {
		t.Errorf("%d differences between neighbours", len(differences))
	}
}

// The copies of the arguments are counted above a batch's number.
func TestBatchesOfCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, batch, set := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 1<<BatchBits-1).Draw(t, "batch"), rapid.IntRange(0, 1000).Draw(t, "set")
		_, first := ForCell(seed, batch)
		_, copied := ForCell(seed, batch+set<<BatchBits)
		if first < 1 || first >= 1<<BatchBits || copied != first+set<<BatchBits {
			t.Fatalf("%d, and its copy %d is %d", first, set, copied)
		}
	})
}
