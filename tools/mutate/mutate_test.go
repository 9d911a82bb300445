package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const sample = "./testdata/sample"

// What the tests of a package notice is killed, what they do not is listed, and what
// is known is not tried again.
func TestMutate(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; a mutant that loops for ever has to run out of time")
	}
	results := filepath.Join(t.TempDir(), "results.jsonl")
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-count", "1000", "-results", results, sample}, &out); err != nil {
		t.Fatal(err)
	}
	var alive []string
	for line := range strings.Lines(out.String()) {
		if _, key, is := strings.Cut(line, "survived line"); is && strings.HasPrefix(line, "survived") {
			_, key, _ = strings.Cut(key, "sample.go: ")
			key, _, _ = strings.Cut(key, " (")
			alive = append(alive, key)
		}
	}
	for _, mutant := range []string{"Within: > → >=: v > 0.5", "Forgotten: * → /: n*2", "Forgotten: zero for result 1: return n*2 + 1", "Forever: dropped: n--"} {
		if !slices.Contains(alive, mutant) {
			t.Errorf("killed: %s", mutant)
		}
	}
	for _, mutant := range []string{
		"Sum: == → !=: len(numbers) == 0", "Sum: dropped: sum += n", "Sum: += → -=: sum += n", "Sum: >= → >: i >= most", "Sum: -1: most",
		"Sum: zero for result 2: return 0, errEmpty", "Sum: dropped: break", "Within: ! dropped: !(v > 2)", "Within: && → ||: v > 0.5 && !(v > 2)",
	} {
		if slices.Contains(alive, mutant) || !strings.Contains(out.String(), "sample.go: "+mutant) {
			t.Errorf("survived, or not there: %s", mutant)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
	before, err := os.ReadFile(results)
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := run(t.Context(), []string{"-count", "1000", "-results", results, sample}, &again); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(results)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("tried again: %v", err)
	}
	if last := again.String(); !strings.HasSuffix(out.String(), last) {
		t.Errorf("it says %q", last)
	}
}

// A sample is the same for the same seed, and of its size.
func TestSample(t *testing.T) {
	list := func(seed string) string {
		var out bytes.Buffer
		if err := run(t.Context(), []string{"-list", "-count", "5", "-seed", seed, sample}, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	one := list("1")
	if strings.Count(one, "\n") != 5 || list("1") != one || list("2") == one {
		t.Errorf("%s\n%s", one, list("2"))
	}
}

// Mutants of one place lie inside each other, and the original in the middle.
func TestWeave(t *testing.T) {
	text := "x := a < b"
	whole := &mutant{number: 1, start: 5, end: 10, before: "(mutantOn(NUMBER) || (", after: "))"}
	other := &mutant{number: 2, start: 5, end: 10, before: "!(NUMBER ", after: ")"}
	part := &mutant{number: 3, start: 5, end: 6, before: "[NUMBER ", after: "]"}
	if got := string(weave([]byte(text), []*mutant{part, other, whole})); got != "x := (mutantOn(1) || (!(2 [3 a] < b)))" {
		t.Error(got)
	}
}

func TestReadEquivalent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "equivalent.txt")
	if err := os.WriteFile(path, []byte("# why\n\na.go: f: +1: 2\tnobody sees it\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readEquivalent(path); err != nil || len(got) != 1 || got["a.go: f: +1: 2"] != "nobody sees it" {
		t.Errorf("%v, %v", got, err)
	}
	if err := os.WriteFile(path, []byte("a.go: f: +1: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readEquivalent(path); err == nil {
		t.Errorf("without an argument: %v", got)
	}
}
