// Package rounds holds real rounds on a GPU for tests: see README.md.
package rounds

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"math"
	"testing"
)

//go:embed h200_noise.json
var noise []byte

//go:embed h200_blocks.json.gz
var blocks []byte

// Blocks returns the log-ratios of blocks of two versions of equal speed, by kernel and cell.
func Blocks(t *testing.T) (cells map[string][][]float64) {
	t.Helper()
	text, err := gzip.NewReader(bytes.NewReader(blocks))
	if err == nil {
		err = json.NewDecoder(text).Decode(&cells)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

// Rounds are all samples, round by round.
type Rounds struct {
	Small   []Series `json:"aa_sdpa_small"`
	Big     []Series `json:"aa_sdpa_big"`
	CopyA   []Series `json:"copy_A"`
	CopyB   []Series `json:"copy_B"`
	Copy    []Duet   `json:"duet_copy"`
	SameBig []Duet   `json:"duet_sdpa_big"`
}

// Series is a round of one kernel by itself, in milliseconds.
type Series struct{ MS []float64 }

// Duet is a round of two kernels in turns, in milliseconds.
type Duet struct{ A, B []float64 }

// Read returns the rounds.
func Read(t testing.TB) (r Rounds) {
	t.Helper()
	if err := json.Unmarshal(noise, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// LogRatios makes a cell of every round, without its first pairs, which are off by up
// to 26%.
func LogRatios(duets []Duet) [][]float64 {
	const warmUp = 2
	cells := make([][]float64, len(duets))
	for i, d := range duets {
		for j := warmUp; j < len(d.A); j++ {
			cells[i] = append(cells[i], math.Log(d.B[j]/d.A[j]))
		}
	}
	return cells
}
