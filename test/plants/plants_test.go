// Package plants holds small CUDA kernels that are slow for one known reason each, and their fixed
// twins: what pawl's findings are judged by. pawl.yaml describes them as a project like any other and
// key.csv names the causes. run.sh measures and profiles them on a GPU, where there is no Go: it reads
// plan.txt, which the test here writes from pawl.yaml with -update.
package plants

import (
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/spec"
)

var update = flag.Bool("update", false, "write plan.txt again")

// plant is a line of key.csv.
type plant struct {
	face  string // the kernel's name
	cause string // "": nothing is planted
	set   string // training, held-out or healthy
	twin  string // what it does otherwise
}

// fixed names the twin's kernel.
func (p plant) fixed() string { return p.face + "_fixed" }

func readKey(t *testing.T) []plant {
	t.Helper()
	file, err := os.Open("key.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil || len(lines) == 0 || !slices.Equal(lines[0], []string{"face", "cause", "set", "twin"}) {
		t.Fatalf("key.csv: %v, %v", err, lines[:min(1, len(lines))])
	}
	var plants []plant
	for _, line := range lines[1:] {
		plants = append(plants, plant{line[0], line[1], line[2], line[3]})
	}
	return plants
}

func load(t *testing.T) *spec.Spec {
	t.Helper()
	s, err := spec.Load("pawl.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// causes are those that the suite must have, at least twice each.
var causes = []string{
	"at-roof", "atomics-contention", "bank-conflicts", "barrier-bound", "divergence", "dram-bound", "fp64-accident", "instruction-cache",
	"l2-bound", "latency-bound", "launch-bound", "load-imbalance", "redundant-dram", "register-occupancy", "register-spills", "sfu-bound",
	"shared-occupancy", "small-grid", "tail-wave", "tensor-unused", "uncoalesced-loads", "uncoalesced-stores",
}

// The key and the project name the same kernels; every plant has a twin with the same arguments.
func TestKey(t *testing.T) {
	s := load(t)
	faces, named, healthy := map[string]int{}, map[string]bool{}, 0
	sets, heldOut := map[string]int{}, map[string]bool{}
	for _, p := range readKey(t) {
		slow := s.Kernel(p.face)
		if slow == nil || named[p.face] {
			t.Fatalf("%s is in the key, and not once in pawl.yaml", p.face)
		}
		named[p.face] = true
		if len(slow.Configs) != 2 || slow.Configs[0].Name != "small" || slow.Configs[1].Name != "large" {
			t.Errorf("%s: expected the configs small and large, in this order", p.face)
		}
		if slow.Work.Bytes == nil {
			t.Errorf("%s does not say how many bytes it has to move", p.face)
		}
		if p.set == "healthy" {
			healthy++
			if p.cause != "" || s.Kernel(p.fixed()) != nil {
				t.Errorf("%s is healthy, and has a cause or a twin", p.face)
			}
			continue
		}
		if !slices.Contains(causes, p.cause) || p.set != "training" && p.set != "held-out" || p.twin == "" {
			t.Errorf("%+v", p)
		}
		faces[p.cause]++
		sets[p.set]++
		heldOut[p.cause] = heldOut[p.cause] || p.set == "held-out"
		twin := s.Kernel(p.fixed())
		if twin == nil {
			t.Fatalf("%s has no twin", p.face)
		}
		named[twin.Name] = true
		for _, c := range slow.Configs {
			if diff := cmp.Diff(buffers(t, slow, c), buffers(t, twin, c)); diff != "" {
				t.Errorf("%s/%s: buffers of plant and twin differ\n%s", p.face, c.Name, diff)
			}
		}
		if slow.Oracle == nil || twin.Oracle == nil {
			t.Errorf("%s: plant and twin need an oracle, if only each other", p.face)
		}
	}
	for _, k := range s.Kernels {
		if !named[k.Name] {
			t.Errorf("%s is in pawl.yaml, and not in the key", k.Name)
		}
	}
	for _, cause := range causes {
		if faces[cause] < 2 {
			t.Errorf("%s has %d faces", cause, faces[cause])
		}
	}
	if healthy < 10 {
		t.Errorf("%d healthy kernels", healthy)
	}
	if all := sets["training"] + sets["held-out"]; all < 60 {
		t.Errorf("%d faces, expected 60 or more", all)
	}
	for _, cause := range causes {
		if sets["held-out"] > 0 && !heldOut[cause] { // none: all were scored and became training faces, and nobody has written new ones
			t.Errorf("%s has no face that is held out", cause)
		}
	}
}

// buffers lists the arguments of a kernel that are buffers, with all that twins share.
func buffers(t *testing.T, k *spec.Kernel, c *spec.Config) []string {
	t.Helper()
	in, err := k.Default().At(c)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, a := range in.Args {
		if a.Buffer {
			found = append(found, fmt.Sprint(a.Name, a.DType, a.Shape, a.Role, a.Init))
		}
	}
	return found
}

// plan writes all launches of the project as numbers, for a driver that cannot evaluate formulas.
func plan(t *testing.T, s *spec.Spec) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Written by go test ./test/plants -update from pawl.yaml, for driver/driver.cpp.\n")
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, k := range s.Kernels {
		for _, c := range k.Configs {
			in, err := k.Default().At(c)
			if err != nil {
				t.Fatal(err)
			}
			source := strings.TrimSuffix(filepath.Base(k.Source), ".cu")
			fmt.Fprintln(&b, "kernel", k.Name, c.Name, source, number(in.Flops), number(in.Bytes), number(k.Tolerance.Atol), number(k.Tolerance.Rtol))
			for _, a := range in.Args {
				if !a.Buffer {
					v, ok := a.Scalar.Float()
					if !ok {
						t.Fatalf("%s: the scalar %s is no number", k.Name, a.Name)
					}
					fmt.Fprintln(&b, "scalar", a.Name, a.DType, number(v))
					continue
				}
				kind, args := a.Init.Kind, append(slices.Clone(a.Init.Args), 0, 0)
				if kind == "" {
					kind, args = "normal", []float64{0, 1}
				}
				fmt.Fprintln(&b, "buffer", a.Name, a.DType, a.Elements, a.Role, kind, number(args[0]), number(args[1]))
			}
			for _, l := range in.Launches {
				fmt.Fprint(&b, "launch ", l.Entry)
				for _, n := range slices.Concat(l.Grid[:], l.Block[:], []int64{l.Shared}) {
					fmt.Fprint(&b, " ", n)
				}
				for _, a := range l.Args {
					fmt.Fprint(&b, " ", a)
				}
				fmt.Fprintln(&b)
			}
		}
	}
	return b.String()
}

func TestPlan(t *testing.T) {
	got := plan(t, load(t))
	if *update {
		if err := os.WriteFile("plan.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("plan.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("plan.txt is not what pawl.yaml says: go test ./test/plants -update\n%s", diff)
	}
}
