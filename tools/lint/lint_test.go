package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestFindings lets lint look at sources that break every rule, and nothing else.
// A comment `want "…"` says which findings its line has.
func TestFindings(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "lint")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// A run on one package asks only for facts about its imports, and must not hide what is in them.
	part := exec.Command("go", "vet", "-trimpath", "-vettool="+tool, "./internal/cli")
	part.Dir = "testdata/pawl"
	if err := part.Run(); err == nil {
		t.Error("go vet has found nothing in a part")
	}
	vet := exec.Command("go", "vet", "-trimpath", "-vettool="+tool, "-whole", "./...")
	vet.Dir = "testdata/pawl"
	out, err := vet.CombinedOutput()
	if err == nil {
		t.Error("go vet has found nothing")
	}

	found := map[string][]string{} // by file:line
	// What another clone has found is in Go's cache, with its path.
	for _, m := range regexp.MustCompile(`(?m)^(?:\S*/testdata/pawl/)?(\S+:\d+):\d+: (.*)$`).FindAllStringSubmatch(string(out), -1) {
		found[m[1]] = append(found[m[1]], m[2])
	}
	for place, patterns := range wanted(t, vet.Dir) {
		left := found[place]
		for _, pattern := range patterns {
			rest := left[:0:0]
			for _, finding := range left {
				if !regexp.MustCompile(pattern).MatchString(finding) {
					rest = append(rest, finding)
				}
			}
			if len(rest) == len(left) {
				t.Errorf("%s: want %q, found %q", place, pattern, found[place])
			}
			left = rest
		}
		found[place] = left
	}
	for place, findings := range found {
		for _, f := range findings {
			t.Errorf("%s: want nothing, found %q", place, f)
		}
	}
	if t.Failed() {
		t.Logf("go vet: %v\n%s", err, out)
	}
}

// wanted returns the patterns of the want comments, by file:line.
func wanted(t *testing.T, folder string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "internal/*/*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal("no sources", err)
	}
	all := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(folder, file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if _, want, ok := strings.Cut(line, `want "`); ok {
				place := name + ":" + strconv.Itoa(i+1)
				all[place] = strings.Split(strings.TrimRight(want[:strings.LastIndex(want, `"`)], " "), `" "`)
			}
		}
	}
	return all
}

// TestSAChecks compares the list of staticcheck's checks with those that there are.
func TestSAChecks(t *testing.T) {
	imports := func(of string) string {
		out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, of).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	ours := imports(".")
	for check := range strings.Lines(imports("honnef.co/go/tools/staticcheck")) {
		if !strings.Contains(ours, check) && !strings.HasSuffix(check, "/sa1008\n") {
			t.Errorf("sachecks.go lacks %s", check)
		}
	}
}
