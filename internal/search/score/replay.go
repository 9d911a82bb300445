package score

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"pawl/internal/search/recorded"
)

// Options are the options of a replay.
type Options struct {
	Strategy string
	Evals    int
	Seeds    int
	Progress func(done, total int, space string) // may be nil; called from several goroutines, one at a time
}

// Replay plays a strategy on recorded spaces, seeds 1 to Seeds of each, on all cores. The runs are in the
// order of spaces and seeds.
func Replay(ctx context.Context, spaces []*recorded.Space, o Options) ([]*Run, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	runs := make([]*Run, len(spaces)*o.Seeds)
	errs := make([]error, len(runs))
	jobs := make(chan int)
	var workers sync.WaitGroup
	var progress sync.Mutex
	done := 0
	for range min(runtime.GOMAXPROCS(0), len(runs)) {
		workers.Go(func() {
			for i := range jobs {
				s := spaces[i/o.Seeds]
				if runs[i], errs[i] = Play(ctx, s, o.Strategy, uint64(i%o.Seeds)+1, o.Evals); errs[i] != nil {
					cancel()
					continue
				}
				progress.Lock()
				done++
				if o.Progress != nil {
					o.Progress(done, len(runs), s.Name)
				}
				progress.Unlock()
			}
		})
	}
	for i := range runs {
		jobs <- i
	}
	close(jobs)
	workers.Wait()
	// The first error, and not one that it has caused.
	slices.SortStableFunc(errs, func(a, b error) int { return rank(a) - rank(b) })
	if len(errs) > 0 && errs[0] != nil {
		return nil, fmt.Errorf("replay strategy %s: %w", o.Strategy, errs[0])
	}
	return runs, nil
}

func rank(err error) int {
	switch {
	case err == nil:
		return 2
	case errors.Is(err, context.Canceled):
		return 1
	}
	return 0
}

// Read reads recorded spaces, each of a name of its own.
func Read(paths []string) ([]*recorded.Space, error) {
	var spaces []*recorded.Space
	from := map[string]string{}
	for _, path := range paths {
		s, err := recorded.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if other, twice := from[s.Name]; twice {
			return nil, fmt.Errorf("%s: space %s is in %s too: expected every space once", path, s.Name, other)
		}
		if _, succeeded := s.Best(); !succeeded {
			return nil, fmt.Errorf("%s: space %s: no setting has a time: expected one that did not fail", path, s.Name)
		}
		from[s.Name] = path
		spaces = append(spaces, s)
	}
	return spaces, nil
}

// Judgement is the scores of one strategy.
type Judgement struct {
	Strategy string `json:"strategy"`
	Evals    int    `json:"evals"`
	Spaces   []*Row `json:"spaces"`
	Mean     *Row   `json:"mean"`
	// Without is the mean without the spaces whose optimum is an outlier; nil: there are none, or no others.
	Without *Row `json:"mean_without_outliers,omitempty"`
}

// JudgeAll scores the runs of one or more strategies, in the order in which the strategies appear.
func JudgeAll(spaces []*recorded.Space, runs []*Run, evals int) []*Judgement {
	var all []*Judgement
	for _, r := range runs {
		if !slices.ContainsFunc(all, func(j *Judgement) bool { return j.Strategy == r.Strategy }) {
			all = append(all, &Judgement{Strategy: r.Strategy, Evals: evals})
		}
	}
	for _, j := range all {
		var others []*Row
		for _, s := range spaces {
			var own []*Run
			for _, r := range runs {
				if r.Space == s.Name && r.Strategy == j.Strategy {
					own = append(own, r)
				}
			}
			if len(own) == 0 {
				continue
			}
			row := Judge(s, j.Strategy, own, evals)
			j.Spaces = append(j.Spaces, row)
			if !IsOutlier(s) {
				others = append(others, row)
			}
		}
		j.Mean = Mean(j.Spaces)
		if len(others) > 0 && len(others) < len(j.Spaces) {
			j.Without = Mean(others)
		}
	}
	return all
}
