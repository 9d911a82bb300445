package selftest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pawl/internal/spec"
)

func load(t *testing.T, kind string) *spec.Spec {
	t.Helper()
	s, err := spec.Load(filepath.Join("corpus", kind, "pawl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every kernel of the corpus is a subject, a mutant's source, a kernel's reference or the base of a
// subject, and every subject is a kernel.
func TestTableAndFilesAgree(t *testing.T) {
	for _, kind := range everywhere {
		t.Run(kind, func(t *testing.T) {
			listed, before := map[string]bool{}, map[string]bool{}
			for _, s := range Subjects() {
				if s.Kind == kind {
					before[s.Honest] = true
					if listed[s.Kernel] {
						t.Errorf("%s is listed twice", s.Kernel)
					}
					listed[s.Kernel] = true
				}
			}
			known, references, values := map[string]bool{}, map[string]bool{}, map[string]int{}
			project := load(t, kind)
			for _, k := range project.Kernels {
				known[k.Name] = true
				if k.Oracle != nil {
					references[k.Oracle.Kernel] = true
				}
				for _, p := range k.Params {
					values[k.Name] = len(p.Values)
				}
			}
			for name := range listed {
				if !known[name] {
					t.Errorf("no kernel %s in corpus/%s/pawl.yaml", name, kind)
				}
			}
			mutants := map[string]int{}
			for _, m := range Mutants() {
				if m.Kind == kind {
					mutants[m.Kernel]++
				}
			}
			for name, count := range mutants {
				if values[name] != count+1 {
					t.Errorf("%s has %d values of MUTANT; %d mistakes are listed", name, values[name], count)
				}
			}
			for _, k := range project.Kernels {
				if !listed[k.Name] && !references[k.Name] && !before[k.Name] && mutants[k.Name] == 0 {
					t.Errorf("nobody says what %s is for", k.Name)
				}
				if (listed[k.Name] || mutants[k.Name] > 0) && k.Oracle == nil {
					t.Errorf("%s has no oracle", k.Name)
				}
			}
		})
	}
}

// Every exploit of the research has a subject or a reason in every cell kind.
func TestEveryExploitIsTriedOrExplained(t *testing.T) {
	const exploits = 40
	for number := 1; number <= exploits; number++ {
		for _, kind := range everywhere {
			tried := slices.ContainsFunc(Subjects(), func(s Subject) bool {
				return s.Kind == kind && slices.Contains(s.Research, number)
			})
			explained := slices.ContainsFunc(gaps, func(g gap) bool {
				return g.research == number && slices.Contains(g.kinds, kind)
			})
			if tried == explained {
				t.Errorf("exploit %d in %s: tried %v, explained %v", number, kind, tried, explained)
			}
		}
	}
}

func TestEnoughSubjects(t *testing.T) {
	cheats, controls := 0, map[string]int{}
	for _, s := range Subjects() {
		if s.Expect == Pass {
			controls[s.Kind]++
			if s.Exploit != "" || len(s.By) > 0 {
				t.Errorf("%s/%s passes, and names an exploit", s.Kind, s.Kernel)
			}
			continue
		}
		cheats++
		if s.Exploit == "" || len(s.Research) == 0 || len(s.By) == 0 {
			t.Errorf("%s/%s does not say what it does and what catches it", s.Kind, s.Kernel)
		}
	}
	all := 0
	for _, kind := range everywhere {
		all += controls[kind]
		if controls[kind] < 5 {
			t.Errorf("%d controls in %s", controls[kind], kind)
		}
	}
	if cheats < 130 || all < 45 || controls[Host] < 16 {
		t.Errorf("%d cheats and %d controls, %d of the host", cheats, all, controls[Host])
	}
}

// docs/integrity.md names every exploit and every kernel of the corpus.
func TestManualNamesEverything(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "integrity.md"))
	if err != nil {
		t.Fatal(err)
	}
	manual := string(text)
	for _, s := range Subjects() {
		if s.Exploit != "" && !strings.Contains(manual, "`"+s.Exploit+"`") {
			t.Errorf("docs/integrity.md does not explain %s", s.Exploit)
		}
		if s.Exploit != "" && !strings.Contains(manual, s.Kind+"/"+s.Kernel) {
			t.Errorf("docs/integrity.md does not name %s/%s", s.Kind, s.Kernel)
		}
		for _, by := range s.By {
			if !strings.Contains(manual, by) {
				t.Errorf("docs/integrity.md does not say what %s is", by)
			}
		}
	}
}

// Every exploit that is known to be missed is listed where docs/integrity.md says what cannot be
// guaranteed, and every one listed there is still open.
func TestManualListsWhatIsOpen(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "integrity.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, listed, found := strings.Cut(string(text), "Known to be open")
	if !found {
		t.Fatal("docs/integrity.md has no list of what is open")
	}
	for _, s := range Subjects() {
		if s.Exploit == "" {
			continue
		}
		named := regexp.MustCompile(`\b` + s.Kind + "/" + s.Kernel + `\b`).MatchString(listed)
		if open := s.Expect == Open; open && !named || named && !open && s.Kernel != "cache_within_sample" {
			t.Errorf("%s/%s: open %v, listed %v", s.Kind, s.Kernel, open, named)
		}
		if s.Expect == Open && s.Why == "" {
			t.Errorf("%s/%s does not say what it gains", s.Kind, s.Kernel)
		}
	}
}
