package selftest

// Mutant is one planted mistake: the kernel with its param MUTANT set to Number.
// Number 0 has none, and must pass.
type Mutant struct {
	Kind   string
	Kernel string
	Number int
	What   string
	Lane   string // the lane of pawl fuzz that finds it; "": any data does
}

var attentionMistakes = []Mutant{
	{Number: 1, What: "dropped last tile"},
	{Number: 2, What: "wrong scale"},
	{Number: 3, What: "swapped heads"},
	{Number: 4, What: "zero output"},
	{Number: 5, What: "lower-precision accumulate"},
	{Number: 6, What: "off-by-one mask: one key too many"},
	{Number: 7, What: "skipped batch: the first one's answers"},
	{Number: 8, What: "skipped batch: left as it was"},
	{Number: 9, What: "scores clamped in place of subtracting the largest", Lane: "values"},
	{Number: 10, What: "older tiles are not rescaled"},
	{Number: 11, What: "off-by-one mask: queries do not see themselves"},
	{Number: 12, What: "last query repeats its neighbour"},
	{Number: 13, What: "last element of every row is forgotten"},
}

var gemmMistakes = []Mutant{
	{Number: 1, What: "dropped last tile"},
	{Number: 2, What: "wrong scale"},
	{Number: 3, What: "swapped rows"},
	{Number: 4, What: "zero output"},
	{Number: 5, What: "lower-precision accumulate"},
	{Number: 6, What: "off-by-one mask of the last tile"},
	{Number: 7, What: "last rows are left as they were"},
	{Number: 8, What: "last column is left as it was"},
	{Number: 9, What: "adds to what is there"},
	{Number: 10, What: "one product is missing"},
	{Number: 11, What: "one product counts twice"},
	{Number: 12, What: "small numbers count as nothing"},
	{Number: 13, What: "negative results are lost"},
}

// Mutants returns the planted mistakes of every kind that has them.
func Mutants() []Mutant {
	var all []Mutant
	for _, kind := range []string{Host, CUDA} {
		for _, of := range []struct {
			kernel   string
			mistakes []Mutant
		}{{"attention_mutant", attentionMistakes}, {"gemm_mutant", gemmMistakes}} {
			for _, m := range of.mistakes {
				m.Kind, m.Kernel = kind, of.kernel
				all = append(all, m)
			}
		}
	}
	return all
}
