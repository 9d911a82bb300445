package selftest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/git"
	"pawl/internal/spec"
)

// The base has an honest kernel under every subject's name: different code for the same problem.
func TestBaseIsHonest(t *testing.T) {
	for _, kind := range everywhere {
		t.Run(kind, func(t *testing.T) {
			corpus, base := load(t, kind), committed(t, kind)
			cheats := map[string]bool{}
			for _, s := range Subjects() {
				cheats[s.Kernel] = cheats[s.Kernel] || s.Kind == kind && s.Expect != Pass
			}
			for _, s := range Subjects() {
				if s.Kind != kind {
					continue
				}
				own, honest, from := kernel(corpus, s.Kernel), kernel(base, s.Kernel), kernel(corpus, s.Honest)
				if own == nil || honest == nil || from == nil {
					t.Errorf("%s: %v, %v of the base, made of %s: %v", s.Kernel, own != nil, honest != nil, s.Honest, from != nil)
					continue
				}
				if cheats[s.Honest] {
					t.Errorf("%s: its base is %s, which cheats", s.Kernel, s.Honest)
				}
				if code(honest) != code(from) || code(honest) == code(own) {
					t.Errorf("%s: the base has %q, and is to have %q", s.Kernel, code(honest), code(from))
				}
				if !sameProblem(own, honest) {
					t.Errorf("%s: the base solves another problem", s.Kernel)
				}
			}
			for _, k := range corpus.Kernels {
				if other := kernel(base, k.Name); other == nil {
					t.Errorf("the base has no %s", k.Name)
				}
			}
		})
	}
}

// committed reads the base's pawl.yaml from the repository that is made of a kind's folder; the
// working tree has the corpus again.
func committed(t *testing.T, kind string) *spec.Spec {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s := &selftest{folder: t.TempDir()}
	dir, err := s.unpack(kind)
	if err != nil {
		t.Fatal(err)
	}
	if err := commit(t.Context(), dir, kind); err != nil {
		t.Fatal(err)
	}
	want, err := corpus.ReadFile("corpus/" + kind + "/pawl.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "pawl.yaml")); err != nil || string(got) != string(want) {
		t.Fatalf("the working tree is not the corpus: %v", err)
	}
	head, ok, err := git.Head(t.Context(), dir)
	if err != nil || !ok || !head.Dirty {
		t.Fatalf("%+v %v %v", head, ok, err)
	}
	tree, err := git.Checkout(t.Context(), dir, head.SHA)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	base, err := spec.LoadEarlier(filepath.Join(tree.Folder, "pawl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return base
}

func kernel(s *spec.Spec, name string) *spec.Kernel {
	for _, k := range s.Kernels {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// code names the code that a kernel runs.
func code(k *spec.Kernel) string {
	all := k.Source + k.Python
	for _, l := range k.Launches {
		all += " " + l.Entry
	}
	return all
}

func sameProblem(a, b *spec.Kernel) bool {
	if (a.Oracle == nil) != (b.Oracle == nil) || a.Oracle != nil && oracleOf(a) != oracleOf(b) || len(a.Configs) != len(b.Configs) {
		return false
	}
	for i, c := range a.Configs {
		if fmt.Sprint(varsOf(c)) != fmt.Sprint(varsOf(b.Configs[i])) {
			return false
		}
	}
	return a.Tolerance == b.Tolerance && a.Deterministic == b.Deterministic
}

func oracleOf(k *spec.Kernel) string {
	return strings.Join([]string{k.Oracle.Builtin, k.Oracle.Kernel, k.Oracle.Python, k.Oracle.Elementwise}, "|")
}

// varsOf returns a config's values in their order, which also distinguishes configs.
func varsOf(c *spec.Config) []string {
	out := []string{c.Name}
	for _, v := range c.Vars {
		out = append(out, v.Name+"="+v.Value.String())
	}
	return out
}
