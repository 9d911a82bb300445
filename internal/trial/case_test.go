package trial

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/diag"
	"pawl/internal/formula"
	"pawl/internal/spec"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sheet is a file with one gemm and, around it, what a test is about.
const sheet = `version: 1
kernels:
  gemm:
    source: gemm.c
    entry: gemm
    params: {TILE: [8, 16]}
    %s
    args:
      - {name: a, dtype: f32, shape: [M, K]}
      - {name: b, dtype: f32, shape: [K, N]}
      - {name: c, dtype: f32, shape: [M, N], role: out}
      - {name: flag, dtype: i32, value: FLAG}
    oracle: gemm
    work: {flops: "2 * M * N * K * WEIGHT"}
configs:
  first: {M: 64, N: 64, K: 64, FLAG: 0, WEIGHT: 1, UNUSED: 3}
  second: {M: 32, N: 64, K: 16, FLAG: 0, WEIGHT: 1, UNUSED: 3}
%s
`

func load(t *testing.T, kernel, rest string) *spec.Spec {
	t.Helper()
	if kernel == "" {
		kernel = "{}"
	}
	text := fmt.Sprintf(sheet, kernel, rest)
	text = strings.Replace(text, "    {}\n", "", 1)
	s, err := spec.Parse("pawl.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func plan(t *testing.T, s *spec.Spec, o Options) *Plan {
	t.Helper()
	p, err := NewPlan(s, s.Kernels[0].Default(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func names(trials []Trial) []string {
	var list []string
	for _, t := range trials {
		list = append(list, t.Name())
	}
	return list
}

func TestCases(t *testing.T) {
	for name, test := range map[string]struct {
		kernel, rest string
		options      Options
		want         []string
		notes        string // one of them has it
		skipped      []string
	}{
		"no fuzz: the configs": {
			want: []string{"M=64 N=64 K=64 FLAG=0 WEIGHT=1 UNUSED=3", "M=32 N=64 K=16 FLAG=0 WEIGHT=1 UNUSED=3"},
		},
		"no matrix: the configs": {
			rest: "fuzz: {specials: none}",
			want: []string{"M=64 N=64 K=64 FLAG=0 WEIGHT=1 UNUSED=3", "M=32 N=64 K=16 FLAG=0 WEIGHT=1 UNUSED=3"},
		},
		"the product, the last axis fastest": {
			rest: "fuzz: {matrix: {K: [1, 2], M: [3, 4]}}",
			want: []string{
				"M=3 N=64 K=1 FLAG=0 WEIGHT=1 UNUSED=3", "M=4 N=64 K=1 FLAG=0 WEIGHT=1 UNUSED=3",
				"M=3 N=64 K=2 FLAG=0 WEIGHT=1 UNUSED=3", "M=4 N=64 K=2 FLAG=0 WEIGHT=1 UNUSED=3",
			},
			notes: "taken from config first: N=64 FLAG=0",
		},
		"an axis that only the work uses is ignored": {
			rest: "fuzz: {matrix: {FLAG: [0, 1], WEIGHT: [1, 2], UNUSED: [4]}}",
			want: []string{"M=64 N=64 K=64 FLAG=0 WEIGHT=1 UNUSED=3", "M=64 N=64 K=64 FLAG=1 WEIGHT=1 UNUSED=3"},
		},
		"no axis is used": {
			rest:  "fuzz: {matrix: {UNUSED: [4]}}",
			want:  []string{"M=64 N=64 K=64 FLAG=0 WEIGHT=1 UNUSED=3", "M=32 N=64 K=16 FLAG=0 WEIGHT=1 UNUSED=3"},
			notes: "uses no variable of the fuzz matrix",
		},
		"sizes that are none": {
			rest:    "fuzz: {matrix: {M: [0, 3, -1, 1.5]}}",
			want:    []string{"M=3 N=64 K=64 FLAG=0 WEIGHT=1 UNUSED=3"},
			skipped: []string{"must be at least 1, and is 0, with M=0", "must be at least 1, and is -1", "must be an integer, and is 1.5"},
		},
		"requirements": {
			kernel: `requires: ["M % TILE == 0"]`, rest: "fuzz: {matrix: {M: [8, 12, 16]}}",
			want:    []string{"M=8 N=64 K=64 FLAG=0 WEIGHT=1 UNUSED=3", "M=16 N=64 K=64 FLAG=0 WEIGHT=1 UNUSED=3"},
			skipped: []string{"M % TILE == 0 is false, with M=12, TILE=8"},
		},
		"memory": {
			rest:    "fuzz: {matrix: {M: [1, 1000000]}}",
			options: Options{Bytes: 1 << 20},
			want:    []string{"M=1 N=64 K=64 FLAG=0 WEIGHT=1 UNUSED=3"},
			skipped: []string{"but only"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.Plain = true
			p := plan(t, load(t, test.kernel, test.rest), test.options)
			if diff := cmp.Diff(test.want, names(p.Trials)); diff != "" {
				t.Errorf("trials (-want +got):\n%s", diff)
			}
			if test.notes != "" && !strings.Contains(strings.Join(p.Notes, "\n"), test.notes) {
				t.Errorf("notes %q, want %q", p.Notes, test.notes)
			}
			if len(p.Skipped) != len(test.skipped) {
				t.Fatalf("skipped %+v", p.Skipped)
			}
			for i, want := range test.skipped {
				if !strings.Contains(p.Skipped[i].Reason, want) {
					t.Errorf("skipped because %q, want %q", p.Skipped[i].Reason, want)
				}
			}
		})
	}
}

func TestNoCase(t *testing.T) {
	for rest, want := range map[string]string{
		"fuzz: {matrix: {}}":                   "the fuzz matrix is empty",
		"fuzz: {matrix: {M: [], UNUSED: [1]}}": "M has no values in the fuzz matrix",
		"fuzz: {matrix: {M: [0, -3]}}":         "none of the 2 cases of gemm can be tried",
	} {
		s := load(t, "", rest)
		_, err := NewPlan(s, s.Kernels[0].Default(), Options{})
		if !errors.Is(err, ErrNoCase) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", rest, err)
		}
		problems := diag.Problems(err)
		if len(problems) != 1 || problems[0].Pos.Line == 0 || problems[0].Hint == "" {
			t.Errorf("%s: no place or remedy: %+v", rest, problems)
		}
	}
	// An axis of another kernel is none of this one's business.
	s := load(t, "", "fuzz: {matrix: {M: [5], UNUSED: []}}")
	if p := plan(t, s, Options{Plain: true}); len(p.Trials) != 1 {
		t.Errorf("trials %v", names(p.Trials))
	}
}

func TestTooManyCases(t *testing.T) {
	wide := "[" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(rangeOf(1000))), ", "), "[]") + "]"
	s := load(t, "", "fuzz: {matrix: {M: "+wide+", N: "+wide+", K: "+wide+"}}")
	_, err := NewPlan(s, s.Kernels[0].Default(), Options{})
	if err == nil || !strings.Contains(err.Error(), "1000000000 cases") || errors.Is(err, ErrNoCase) {
		t.Errorf("%v", err)
	}
	if p := plan(t, s, Options{Sample: 20, Plain: true}); len(p.Trials) != 20 {
		t.Errorf("%d trials", len(p.Trials))
	}
}

func rangeOf(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

// A sample is a subset in the order of the whole, the same for the same seed; every
// case has its chance.
func TestSample(t *testing.T) {
	s := load(t, "", "fuzz: {matrix: {M: [1, 2, 3, 4], N: [5, 6, 7]}, sample: 5}")
	whole := names(plan(t, s, Options{Sample: All, Plain: true}).Trials)
	if len(whole) != 12 {
		t.Fatalf("%d cases", len(whole))
	}
	seen := map[string]bool{}
	rapid.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		drawn := names(plan(t, s, Options{Seed: seed, Plain: true}).Trials)
		if again := names(plan(t, s, Options{Seed: seed, Plain: true}).Trials); !slices.Equal(drawn, again) {
			r.Fatalf("the same seed drew %v and %v", drawn, again)
		}
		if len(drawn) != 5 {
			r.Fatalf("drew %d", len(drawn))
		}
		last := -1
		for _, name := range drawn {
			at := slices.Index(whole, name)
			if at <= last {
				r.Fatalf("%v: not a subset in order", drawn)
			}
			last = at
			seen[name] = true
		}
	})
	if len(seen) != 12 {
		t.Errorf("only %d of 12 cases were ever drawn", len(seen))
	}
	if got := len(plan(t, s, Options{Sample: 50, Plain: true}).Trials); got != 12 {
		t.Errorf("a sample larger than the matrix has %d cases", got)
	}
}

func TestRepeats(t *testing.T) {
	p := plan(t, load(t, "", "fuzz: {matrix: {M: [3, 300, 30]}}"), Options{Plain: true})
	var runs []int
	for _, trial := range p.Trials {
		runs = append(runs, trial.Repeats)
	}
	if !slices.Equal(runs, []int{1, 3, 1}) {
		t.Errorf("repeats %v: the largest case runs three times", runs)
	}
	p = plan(t, load(t, "deterministic: false", ""), Options{Plain: true})
	for _, trial := range p.Trials {
		if trial.Repeats != 1 {
			t.Errorf("%s runs %d times", trial.Name(), trial.Repeats)
		}
	}
	if !strings.Contains(strings.Join(p.Notes, ""), "not deterministic") {
		t.Errorf("notes %q", p.Notes)
	}
}

func TestChosenConfigs(t *testing.T) {
	s := load(t, "", "fuzz: {matrix: {M: [3, 4]}}")
	p := plan(t, s, Options{Configs: s.Kernels[0].Configs[1:], Plain: true})
	if len(p.Trials) != 1 || p.Trials[0].Lane != LaneConfig || p.Trials[0].Vars[0].Value != formula.Int(32) {
		t.Errorf("trials %v", names(p.Trials))
	}
}

// TestExamples shows whole plans of the examples: what is tried, how the inputs are
// filled, and by which tolerance it is judged.
func TestExamples(t *testing.T) {
	for name, file := range map[string]string{"host": "../../examples/pawl.yaml", "cuda": "../../examples/cuda/pawl.yaml"} {
		s, err := spec.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, k := range s.Kernels {
			p, err := NewPlan(s, k.Default(), Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s\n", k.Name)
			for _, trial := range p.Trials {
				problem, err := p.Resolve(trial)
				if err != nil {
					t.Fatalf("%s: %v", trial.Name(), err)
				}
				fmt.Fprintf(&b, "  %-8s %s", trial.Lane, trial.Name())
				if trial.Lane != LaneMatrix && trial.Lane != LaneConfig {
					fmt.Fprintf(&b, "   %s atol %g rtol %g", problem.Fill, problem.Atol, problem.Rtol)
				}
				if trial.Repeats > 1 {
					fmt.Fprintf(&b, "   %d times", trial.Repeats)
				}
				b.WriteByte('\n')
			}
			for _, note := range p.Notes {
				fmt.Fprintf(&b, "  note: %s\n", note)
			}
			if len(p.Skipped) > 0 {
				t.Errorf("%s: skipped %+v", k.Name, p.Skipped)
			}
		}
		golden := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", golden, diff)
		}
	}
}
