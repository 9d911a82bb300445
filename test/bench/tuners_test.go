package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pawl/internal/search"
	"pawl/internal/search/recorded"
	"pawl/internal/search/score"
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
