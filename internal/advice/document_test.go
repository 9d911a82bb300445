package advice

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"pawl/internal/profile"
)

var update = flag.Bool("update", false, "write the catalogue in docs/profiling.md again")

// The catalogue in docs/profiling.md is the one that is judged by, with a recorded example of each
// finding that there is one of.
func TestDocument(t *testing.T) {
	const file, begin, end = "../../docs/profiling.md", "-update -->\n", "<!-- end of the catalogue -->"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("docs/profiling.md has no place for the catalogue")
	}
	want := before + begin + catalogue(t) + end + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(raw) {
		t.Error("docs/profiling.md has another catalogue: go test ./internal/advice -run TestDocument -update")
	}
}

func catalogue(t *testing.T) string {
	examples := map[string]string{}
	no := false
	for _, p := range profiles(t, "h200_planted_curated.csv.gz")[:26] {
		e := Evidence{Profile: p, Double: &no}
		if strings.HasPrefix(p.Kernel, "redun(") || strings.HasPrefix(p.Kernel, "copy4_ok(") {
			e.Bytes = 2 * 4 << 26
		}
		for _, x := range Builtin().Judge(Gather(e)).Findings {
			if _, known := examples[x.ID]; !known {
				examples[x.ID] = fmt.Sprintf("%s: %s", x.Evidence, x.Gain())
			}
		}
	}
	functions, err := profile.ReadSASS("planted", string(recorded(t, "h200_planted.sass.gz")))
	if err != nil || len(functions) == 0 {
		t.Fatal(err)
	}
	return "\n" + table(onGPU, "ncu", examples) + "\nOf kernels on the CPU:\n\n" + table(onHost, "those counters", hostExamples()) + "\n"
}

// table lists entries; less is what the weaker conditions do without.
func table(entries []Entry, less string, examples map[string]string) string {
	var b strings.Builder
	b.WriteString("| finding | holds where | does not apply where | what to do first, then | an example |\n| --- | --- | --- | --- | --- |\n")
	for _, e := range entries {
		holds := "`" + strings.Join(e.When, "`, `") + "`"
		if e.Less != nil {
			holds += "; without " + less + ": `" + strings.Join(e.Less.When, "`, `") + "`"
		}
		var unless []string
		for _, x := range e.Unless {
			unless = append(unless, x.Why)
		}
		fixes := e.First
		if len(e.Deeper) > 0 {
			fixes += "; then " + strings.Join(e.Deeper, "; ")
		}
		fmt.Fprintf(&b, "| **%s**: %s | %s | %s | %s | %s |\n", e.ID, e.Title, holds, strings.Join(unless, "; "), fixes, examples[e.ID])
		delete(examples, e.ID)
	}
	return b.String()
}
