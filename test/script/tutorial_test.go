package script

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTutorial follows docs/tutorial.md literally: writes its files, runs its
// commands in one shell, and compares what they print. Short tests end before the first change is
// judged: check_story.txt judges such changes.
func TestTutorial(t *testing.T) {
	t.Parallel()
	follow(t, "../../docs/tutorial.md")
}

// step is a file to write or a command to run, with the output the page shows.
type step struct {
	line    int
	file    string // write text here …
	command string // … or run this
	text    []string
}

var fence = regexp.MustCompile("^```(\\w*)(?: file=(\\S+))?$")

// steps reads the fenced blocks of a page: `console` blocks hold commands behind
// "$ " and their output, blocks with file= the contents of a file.
func steps(page string) ([]step, error) {
	var out []step
	var inside []string
	for i, line := range strings.Split(page, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case inside == nil && m != nil:
			inside = m
			if m[2] != "" {
				out = append(out, step{line: i + 1, file: m[2]})
			}
		case inside != nil && line == "```":
			inside = nil
		case inside != nil && inside[2] != "":
			last := &out[len(out)-1]
			last.text = append(last.text, line)
		case inside != nil && inside[1] == "console":
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				out = append(out, step{line: i + 1, command: command})
			} else if len(out) == 0 || out[len(out)-1].command == "" {
				return nil, fmt.Errorf("line %d: output before any command", i+1)
			} else {
				last := &out[len(out)-1]
				last.text = append(last.text, line)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no steps found")
	}
	return out, nil
}

// pattern makes an expected line match whatever numbers a machine prints: "…"
// stands for anything, and runs of spaces for any spaces.
func pattern(line string) *regexp.Regexp {
	var b strings.Builder
	for i, part := range strings.Split(strings.TrimSpace(line), "…") {
		if i > 0 {
			b.WriteString(".*")
		}
		words := strings.Fields(part)
		for j, word := range words {
			if j > 0 {
				b.WriteString(`\s+.*?`)
			}
			b.WriteString(regexp.QuoteMeta(word))
		}
		if strings.HasSuffix(part, " ") && len(words) > 0 {
			b.WriteString(`\s*`)
		}
	}
	return regexp.MustCompile("^\\s*" + b.String() + "\\s*$")
}

// matches checks output against what the page shows: its lines must be there in
// order; a line "…" allows any number of others in between.
func matches(want []string, got string) error {
	lines := strings.Split(strings.TrimRight(got, "\n"), "\n")
	anything := false
	for _, expected := range want {
		if strings.TrimSpace(expected) == "" {
			continue
		}
		if strings.TrimSpace(expected) == "…" {
			anything = true
			continue
		}
		found := false
		for len(lines) > 0 {
			line := lines[0]
			lines = lines[1:]
			if pattern(expected).MatchString(line) {
				found = true
				break
			}
			if strings.TrimSpace(line) != "" && !anything {
				return fmt.Errorf("expected %q, got %q", expected, line)
			}
		}
		if !found {
			return fmt.Errorf("expected %q, which is not there", expected)
		}
		anything = false
	}
	return nil
}

func follow(t *testing.T, path string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := steps(string(page))
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		judged := slices.IndexFunc(list, func(s step) bool { return strings.Contains(s.command, "--budget") })
		if judged < 0 {
			t.Fatal("the page judges nothing")
		}
		list = list[:judged]
	}
	// One shell runs all of it, so that cd and export carry over as they do for a
	// reader; a line of its own ends the output of each command.
	const end = "=== end of step"
	var script strings.Builder
	for _, s := range list {
		if s.file != "" {
			fmt.Fprintf(&script, "cat > %s <<'END OF FILE'\n%s\nEND OF FILE\n", s.file, strings.Join(s.text, "\n"))
			continue
		}
		if testing.Short() {
			s.command = strings.Replace(s.command, "pawl bench", "pawl bench --budget 100ms", 1)
		}
		fmt.Fprintf(&script, "%s\necho \"%s\"\n", s.command, end)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	copyOf := checkout(t, root)
	cmd := exec.Command("bash")
	cmd.Dir, cmd.Stdin = copyOf, strings.NewReader(script.String())
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "PAWL_LOCK_DIR="+t.TempDir(), "NO_COLOR=1", "GOCACHE="+goEnv(t, "GOCACHE"), "GOFLAGS=-buildvcs=false")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("the last step failed: %v", err)
	}
	outputs := strings.Split(out.String(), end+"\n")
	n := 0
	for _, s := range list {
		if s.file != "" {
			continue
		}
		if n >= len(outputs)-1 {
			t.Fatalf("line %d: %q was not reached:\n%s", s.line, s.command, out.String())
		}
		if err := matches(s.text, withoutProgress(outputs[n])); err != nil {
			t.Errorf("line %d: $ %s\n%v\nwhole output:\n%s", s.line, s.command, err, outputs[n])
		}
		n++
	}
}

// withoutProgress drops the lines that a terminal would have overwritten.
func withoutProgress(text string) string {
	var kept []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "building ") && !strings.HasPrefix(line, "measuring ") && !strings.HasPrefix(line, "verifying ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// checkout returns a copy of the sources, so that the page's commands leave this tree
// alone.
func checkout(t *testing.T, root string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pawl")
	script := `mkdir -p "$1" && git -C "$0" ls-files -z --cached --others --exclude-standard | (cd "$0" && xargs -0 sh -c 'for f; do [ -f "$f" ] && printf "%s\0" "$f"; done' sh) | tar -C "$0" --null -T - -cf - | tar -C "$1" -xf -`
	if out, err := exec.Command("sh", "-c", script, root, dir).CombinedOutput(); err != nil {
		t.Fatalf("copy the sources: %v\n%s", err, out)
	}
	return dir
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestMatches(t *testing.T) {
	got := "pawl 0.1.0 · CPU\n\n  saxpy/small  12.3 µs  0.4%  new\n  done\n"
	for _, tc := range []struct {
		want []string
		ok   bool
	}{
		{[]string{"pawl 0.1.0 · …", "  saxpy/small … new", "  done"}, true},
		{[]string{"…", "done"}, true},
		{[]string{"saxpy/small … new"}, false},           // the first line is unexpected
		{[]string{"pawl …", "saxpy/small … old"}, false}, // another verdict
		{[]string{"…", "gone"}, false},
		{nil, true},
	} {
		if err := matches(tc.want, got); (err == nil) != tc.ok {
			t.Errorf("%q: %v", tc.want, err)
		}
	}
}
