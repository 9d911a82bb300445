package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pawl/internal/search"
	"pawl/internal/search/recorded"
	"pawl/internal/search/score"
	"pawl/internal/space"
)

const (
	tunerEvals  = 200
	tunerSeeds  = 25
	rivalSeeds  = 5 // of rivals: they take seconds a run
	kernelTuner = "pso,adaptive_tabu_greywolf,genetic_algorithm,hybrid_vndx,diff_evo,dual_annealing,bayes_opt"
)

func recordedSpaces(b *testing.B) (paths []string, spaces []*recorded.Space) {
	b.Helper()
	paths, err := filepath.Glob("../../internal/search/recorded/testdata/*.json.gz")
	if err != nil || len(paths) == 0 {
		b.Fatalf("no recorded spaces: %v", err)
	}
	spaces, err = score.Read(paths)
	if err != nil {
		b.Fatal(err)
	}
	return paths, spaces
}

// seeds returns how many runs on each space; PAWL_SEEDS says otherwise.
func seeds(b *testing.B, usual int) int {
	b.Helper()
	text := os.Getenv("PAWL_SEEDS")
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		b.Fatalf("PAWL_SEEDS=%s: expected a number above 0", text)
	}
	return n
}

// describe returns a line of a table that docs/performance.md can take.
func describe(name string, r *score.Row) string {
	return fmt.Sprintf("| %s | %d × %d | %.3f (%.3f to %.3f) | %.3f | %.3f, %.3f, %.3f | %.0f%% | %.2f |", name, r.Spaces, r.Seeds, r.P, r.Low, r.High, r.Near,
		r.Fraction[0], r.Fraction[1], r.Fraction[2], 100*r.Found, r.Seconds)
}

const tunersHead = "| | spaces × seeds | P | P within 1% | best at 50, 100, 200 | optimum found | seconds of a run |"

// BenchmarkStrategies plays pawl's strategies on all recorded spaces.
func BenchmarkStrategies(b *testing.B) {
	_, spaces := recordedSpaces(b)
	for _, name := range search.Names() {
		if name == "exhaustive" {
			continue // no budget of 200 is meant for it
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				runs, err := score.Replay(context.Background(), spaces, score.Options{Strategy: name, Evals: tunerEvals, Seeds: seeds(b, tunerSeeds)})
				if err != nil {
					b.Fatal(err)
				}
				j := score.JudgeAll(spaces, runs, tunerEvals)[0]
				b.Log("\n" + tunersHead)
				for _, r := range j.Spaces {
					b.Log(describe(r.Space, r))
				}
				b.Log(describe("mean", j.Mean))
				b.Log(describe("without outliers", j.Without))
				b.ReportMetric(j.Mean.P, "P")
			}
		})
	}
}

// BenchmarkRivals plays Kernel Tuner and Optuna on the same spaces and scores them as pawl's strategies. PAWL_TUNERS
// names a Python that has them.
func BenchmarkRivals(b *testing.B) {
	python := os.Getenv("PAWL_TUNERS")
	if err := exec.Command(python, "-c", "import kernel_tuner, optuna").Run(); err != nil {
		b.Skipf("PAWL_TUNERS=%s names no Python with kernel_tuner and optuna: %v", python, err)
	}
	paths, spaces := recordedSpaces(b)
	count, evals := strconv.Itoa(seeds(b, rivalSeeds)), strconv.Itoa(tunerEvals)
	for _, args := range [][]string{{"tuners/kerneltuner.py", kernelTuner, count, evals}, {"tuners/optunatpe.py", count, evals}} {
		b.Run(strings.TrimSuffix(filepath.Base(args[0]), ".py"), func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command(python, append(args, paths...)...)
				cmd.Stderr = os.Stderr
				out, err := cmd.Output()
				if err != nil {
					b.Fatalf("%s %s: %v", python, args[0], err)
				}
				runs, err := score.ReadTrace(strings.NewReader(string(out)), args[0], spaces)
				if err != nil {
					b.Fatal(err)
				}
				b.Log("\n" + tunersHead)
				for _, j := range score.JudgeAll(spaces, runs, tunerEvals) {
					b.Log(describe(j.Strategy, j.Mean))
				}
			}
		})
	}
}

// BenchmarkShuffled plays the default strategy on the recorded spaces with params, values and settings in another order
// for every space: P must be what it is otherwise, within the noise of seeds.
func BenchmarkShuffled(b *testing.B) {
	_, spaces := recordedSpaces(b)
	for i, s := range spaces {
		spaces[i] = s.Shuffle(rand.New(rand.NewPCG(uint64(i), 1)))
	}
	for b.Loop() {
		b.Log("\n" + tunersHead + "\n" + describe("shuffled", replayed(b, spaces, nil)))
	}
}

// BenchmarkTransfer begins with the three fastest settings of every other GPU that the same kernel was recorded on.
func BenchmarkTransfer(b *testing.B) {
	_, all := recordedSpaces(b)
	others := func(s *recorded.Space) []*recorded.Space {
		return slices.DeleteFunc(slices.Clone(all), func(o *recorded.Space) bool { return o == s || kernelOf(o) != kernelOf(s) })
	}
	spaces := slices.DeleteFunc(slices.Clone(all), func(s *recorded.Space) bool { return len(others(s)) == 0 })
	first := func(s *recorded.Space) []space.Point {
		var points []space.Point
		for rank := range 3 {
			for _, o := range others(s) {
				if p, ok := s.Translate(o, o.Ranked()[rank]); ok {
					points = append(points, p)
				}
			}
		}
		return points
	}
	for b.Loop() {
		b.Log("\n" + tunersHead + "\n" + describe("cold", replayed(b, spaces, nil)))
		b.Log(describe("from other GPUs", replayed(b, spaces, first)))
	}
}

// replayed plays the default strategy and returns the mean over spaces.
func replayed(b *testing.B, spaces []*recorded.Space, first func(*recorded.Space) []space.Point) *score.Row {
	b.Helper()
	runs, err := score.Replay(context.Background(), spaces, score.Options{Strategy: search.Default, Evals: tunerEvals, Seeds: seeds(b, tunerSeeds), First: first})
	if err != nil {
		b.Fatal(err)
	}
	return score.JudgeAll(spaces, runs, tunerEvals)[0].Mean
}

// BenchmarkLeaveOneKernelOut chooses settings on the spaces of all kernels but one, by half as many evaluations and a
// few seeds, and plays the default strategy with them on those of that one.
func BenchmarkLeaveOneKernelOut(b *testing.B) {
	_, spaces := recordedSpaces(b)
	var kernels []string
	for _, s := range spaces {
		if k := kernelOf(s); !slices.Contains(kernels, k) {
			kernels = append(kernels, k)
		}
	}
	var choices []search.Settings
	for _, spread := range []int{5, 8, 12} {
		for _, explore := range []float64{1, 1.5} {
			for _, squash := range []float64{0.1, 0.5} {
				choices = append(choices, search.Settings{Spread: spread, Explore: explore, Exploit: 3, Squash: squash})
			}
		}
	}
	play := func(s *search.Settings, spaces []*recorded.Space, evals, seeds int) *score.Judgement {
		runs, err := score.Replay(context.Background(), spaces, score.Options{Strategy: search.Default, Evals: evals, Seeds: seeds, Settings: s})
		if err != nil {
			b.Fatal(err)
		}
		return score.JudgeAll(spaces, runs, evals)[0]
	}
	for b.Loop() {
		tried := make([]*score.Judgement, len(choices))
		for i := range choices {
			tried[i] = play(&choices[i], spaces, tunerEvals/2, 4)
		}
		b.Log("\n" + tunersHead)
		var rows []*score.Row
		for _, held := range kernels {
			best, highest := 0, math.Inf(-1)
			for i, j := range tried {
				sums, counts := map[string]float64{}, map[string]float64{}
				for n, r := range j.Spaces {
					sums[kernelOf(spaces[n])] += r.P
					counts[kernelOf(spaces[n])]++
				}
				mean := 0.0 // of kernels, not of spaces: one was recorded on four GPUs, another on one
				for k, sum := range sums {
					if k != held {
						mean += sum / counts[k]
					}
				}
				if mean > highest {
					best, highest = i, mean
				}
			}
			own := slices.DeleteFunc(slices.Clone(spaces), func(s *recorded.Space) bool { return kernelOf(s) != held })
			j := play(&choices[best], own, tunerEvals, seeds(b, tunerSeeds))
			b.Log(describe(fmt.Sprintf("%s, with %+v", held, choices[best]), j.Mean))
			rows = append(rows, j.Spaces...)
		}
		m := score.Mean(rows)
		b.Log(describe("mean of spaces", m))
		b.ReportMetric(m.P, "P")
	}
}

// kernelOf returns the kernel of a recording, whose name goes on with the GPU.
func kernelOf(s *recorded.Space) string {
	kernel, _, _ := strings.Cut(s.Name, "-")
	return kernel
}
