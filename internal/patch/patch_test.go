package patch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUnified(t *testing.T) {
	numbers := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	for name, c := range map[string]struct{ before, after, want string }{
		"equal":    {"a\n", "a\n", ""},
		"one line": {numbers, strings.Replace(numbers, "6\n", "six\n", 1), "--- a/f\n+++ b/f\n@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n"},
		"two hunks": {
			numbers, strings.Replace(strings.Replace(numbers, "1\n", "", 1), "12\n", "12\n13", 1),
			"--- a/f\n+++ b/f\n@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\n@@ -10,3 +9,4 @@\n 10\n 11\n 12\n+13\n\\ No newline at end of file\n",
		},
		"near":        {"a\nb\nc\nd\n", "A\nb\nc\nD\n", "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n-a\n+A\n b\n c\n-d\n+D\n"},
		"end of file": {"a", "a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		"from none":   {"", "a\n", "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"},
		"moved":       {"a\nb\nc\n", "c\na\nb\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n+c\n a\n b\n-c\n"},
	} {
		if got := Unified("f", c.before, c.after); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// TestLabel: names stand as git writes them, which programs other than git need, too.
func TestLabel(t *testing.T) {
	for name, want := range map[string]string{
		"f": "a/f", "a b": "a/a b\t", "ü": `"a/\303\274"`, `q"\`: `"a/q\042\\"`, "t\t": `"a/t\011"`,
	} {
		if got := label("a", name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// TestGitApplies: what is written, git apply makes the second text of, whatever the file is called.
func TestGitApplies(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	folder := t.TempDir()
	names := []string{"pawl.yaml", "a b/pawl.yaml", "ü/pawl.yaml", `q"\.yaml`, "tab\there.yaml"}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "name")
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\r\n", "\n", " é\n", "-\n", "+++ x\n"}), 0, 40)
		before := strings.Join(lines.Draw(t, "before"), "") + rapid.SampledFrom([]string{"", "end"}).Draw(t, "end")
		after := before
		if before == "" {
			before, after = "x\n", "x\n" // git has other words for a file that is new
		}
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			parts := split(after)
			at := rapid.IntRange(0, len(parts)).Draw(t, "at")
			to := rapid.IntRange(at, len(parts)).Draw(t, "to")
			after = strings.Join(parts[:at], "") + strings.Join(lines.Draw(t, "in"), "") + strings.Join(parts[to:], "")
		}
		if after == "" {
			after = "y\n" // nor is one that goes a change of it
		}
		diff := Unified(name, before, after)
		if diff == "" {
			if before != after {
				t.Fatal("no difference found")
			}
			return
		}
		target := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(git, "apply", "--whitespace=nowarn", "-")
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(folder))
		cmd.Stdin = strings.NewReader(diff)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, out, diff)
		}
		if got, err := os.ReadFile(target); err != nil || string(got) != after {
			t.Fatalf("%v: git made %q, want %q of\n%s", err, got, after, diff)
		}
	})
}

// TestShortest: a diff has as few lines as a longest common subsequence leaves.
func TestShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 12)
		old, now := text.Draw(t, "old"), text.Draw(t, "now")
		length := make([][]int, len(old)+1)
		for i := range length {
			length[i] = make([]int, len(now)+1)
		}
		for i := range old {
			for j := range now {
				if length[i+1][j+1] = max(length[i][j+1], length[i+1][j]); old[i] == now[j] {
					length[i+1][j+1] = length[i][j] + 1
				}
			}
		}
		changes := 0
		var left, right []string
		for _, e := range edits(old, now) {
			if e.sign != ' ' {
				changes++
			}
			if e.sign != '+' {
				left = append(left, e.text)
			}
			if e.sign != '-' {
				right = append(right, e.text)
			}
		}
		if want := len(old) + len(now) - 2*length[len(old)][len(now)]; changes != want {
			t.Fatalf("%d changes, want %d", changes, want)
		}
		if strings.Join(left, "") != strings.Join(old, "") || strings.Join(right, "") != strings.Join(now, "") {
			t.Fatal("the edits are of other texts")
		}
	})
}
