package search

// Settings are what auto and bayes leave open. They were chosen on recorded spaces, and are options only so that a
// benchmark can choose them on the spaces of some kernels and try them on those of another.
type Settings struct {
	Spread  int     // points that are spread over the ground, before the model chooses
	Explore float64 // how much more the model doubts than it computes: factor of the standard deviation
	Exploit int     // period, in steps, of trying the neighbour of the best point with the lowest expected cost
	Squash  float64 // what the part of a value above the median counts
}

// DefaultSettings are those that are best on all recorded spaces.
func DefaultSettings() Settings { return Settings{Spread: 6, Explore: 1.5, Exploit: 3, Squash: 0.1} }
