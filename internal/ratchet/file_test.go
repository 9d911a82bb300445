package ratchet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/diag"
)

// sample returns a file with an entry that moved, one that was accepted and one removed.
func sample(t testing.TB) *File {
	f := newFile(class, "x.json")
	check := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	first, err := f.Move(candidate("small", 1, 2))
	check(first, err)
	check(f.Move(candidate("small", 2, 1.8).against(first, -0.1)))
	large, err := f.Move(candidate("large", 1, 52.1))
	check(large, err)
	check(f.Accept(candidate("large", 3, 54.8).against(large, 0.052), "correct for NaN <inputs> & \"more\""))
	check(f.Move(candidate("old", 1, 7)))
	check(f.Reset("attention/old", Actor{Who: "bob", Time: started, Commit: sha(4)}, "the config is gone"))
	return f
}

func encoded(t testing.TB, f *File) []byte {
	t.Helper()
	raw, err := f.encode()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestFormat(t *testing.T) {
	got := encoded(t, sample(t))
	golden := filepath.Join("testdata", "format.json")
	if *update {
		write(t, golden, got)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[len(got)-1] != '\n' || bytes.Contains(got, []byte("\n\n")) {
		t.Error("not one newline at the end")
	}
	f, err := parse("x.json", class, got)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Damaged(); err != nil {
		t.Error(err)
	}
	if again := encoded(t, f); !bytes.Equal(again, got) {
		t.Error("reading and writing changes the file")
	}
}

// A move of one entry touches no line of another.
func TestDiffsAreLocal(t *testing.T) {
	f := sample(t)
	before := strings.Split(string(encoded(t, f)), "\n")
	if _, err := f.Move(candidate("small", 5, 1.5).against(f.Entry("attention", "small"), -0.2)); err != nil {
		t.Fatal(err)
	}
	after := strings.Split(string(encoded(t, f)), "\n")
	begin := `    "attention/small": {`
	for i, line := range before {
		if line == begin {
			break
		}
		if after[i] != line {
			t.Fatalf("line %d changed from %q to %q", i+1, line, after[i])
		}
	}
}

func TestParseSaysWhere(t *testing.T) {
	good := string(encoded(t, sample(t)))
	line := func(part string) int { return strings.Count(good[:strings.Index(good, part)], "\n") + 1 }
	for name, test := range map[string]struct {
		text, message, hint string
		line                int
	}{
		"empty":           {"", "it ends too early", "git checkout", 1},
		"truncated":       {good[:len(good)/2], "it ends too early", "git checkout", strings.Count(good[:len(good)/2], "\n") + 1},
		"not JSON":        {strings.Replace(good, `"class"`, `class`, 1), "it is not JSON", "git checkout", 3},
		"other schema":    {strings.Replace(good, `"schema": 1`, `"schema": 2`, 1), "schema 2", "newer pawl", 2},
		"no schema":       {`{"class": "nvidia-h200"}`, "not a baseline", "git checkout", 1},
		"a list":          {"[]", "cannot be a array", "git checkout", 1},
		"other class":     {strings.Replace(good, class, "nvidia-a100", 1), `of class "nvidia-a100"`, "rename", 3},
		"unknown key":     {strings.Replace(good, `"median_ms": 54.8,`, `"median_ms": 54.8, "speed": 1,`, 1), `unknown field "speed"`, "git checkout", 0},
		"text for number": {strings.Replace(good, `"median_ms": 54.8`, `"median_ms": "54.8"`, 1), "median_ms cannot be a string", "git checkout", line(`"median_ms": 54.8`)},
		"null entry":      {`{"schema": 1, "class": "nvidia-h200", "entries": {"a/b": null}}`, "is not an entry", "git checkout", 1},
		"strange name":    {`{"schema": 1, "class": "nvidia-h200", "entries": {"../b": {}}}`, "is not an entry", "git checkout", 1},
		"merge conflict":  {"{\n<<<<<<< HEAD\n=======\n>>>>>>> x\n}", "merge conflict", "--ours or --theirs", 2},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse("x.json", class, []byte(test.text))
			problems := diag.Problems(err)
			if len(problems) != 1 || problems[0].Pos.File != "x.json" || test.line > 0 && problems[0].Pos.Line != test.line ||
				!strings.Contains(problems[0].Message, test.message) || !strings.Contains(problems[0].Hint, test.hint) {
				t.Errorf("line %d: %v", test.line, err)
			}
		})
	}
}

// After any change of a value in a file, its entry no longer matches its checksum.
func TestHandEditsAreFound(t *testing.T) {
	good := string(encoded(t, sample(t)))
	for name, edit := range map[string][2]string{
		"a faster median":   {`"median_ms": 54.8,`, `"median_ms": 50,`},
		"another commit":    {`"git_commit": "` + sha(3) + `"`, `"git_commit": "` + sha(5) + `"`},
		"another reason":    {"correct for NaN", "faster for NaN"},
		"a move's change":   {`"median": 0.052`, `"median": -0.052`},
		"a sum":             {`"sum": "`, `"sum": "0`},
		"a name":            {`"attention/large": {`, `"attention/huge": {`},
		"reset made check":  {`"by": "reset"`, `"by": "check"`},
		"other samples":     {`"count": 3`, `"count": 2`},
		"moved to removed":  {`"removed": {`, `"gone": {`},
		"samples of others": {`"sha256": "`, `"sha256": "0`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(good, edit[0], edit[1], 1)
			if text == good {
				t.Fatal("the edit does nothing")
			}
			f, err := parse("x.json", class, []byte(text))
			if err != nil {
				return
			}
			problems := diag.Problems(f.Damaged())
			if len(problems) == 0 {
				t.Fatal("not found")
			}
			if p := problems[0]; p.Pos.Line < 2 || !strings.Contains(p.Excerpt, "attention/") || !strings.Contains(p.Hint, "pawl baseline verify") {
				t.Errorf("%s", p.Detail())
			}
		})
	}
}

func TestPresentAndRemoved(t *testing.T) {
	f := newFile(class, "x.json")
	if _, err := f.Move(candidate("small", 1, 2)); err != nil {
		t.Fatal(err)
	}
	f.Removed["attention/small"] = &Removed{}
	if it, ok := f.item("attention/small"); !ok || it.problem != "it is both present and removed" {
		t.Errorf("%+v, %v", it, ok)
	}
}

func TestAnyChangeIsFound(t *testing.T) {
	good := encoded(t, sample(t))
	var original any
	if err := json.Unmarshal(good, &original); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := bytes.Clone(good)
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		switch rapid.SampledFrom([]string{"replace", "cut", "truncate"}).Draw(t, "how") {
		case "replace":
			text[at] = rapid.SampledFrom([]byte(`0123456789abcdef"{}[]:,. -xX`)).Draw(t, "byte")
		case "cut":
			text = append(text[:at], text[min(len(text), at+rapid.IntRange(1, 400).Draw(t, "bytes")):]...)
		case "truncate":
			text = text[:at]
		}
		f, err := parse("x.json", class, text)
		if err != nil || f.Damaged() != nil {
			return
		}
		// An accepted edit has the same meaning, or lacks a whole entry, which the history shows.
		var now map[string]any
		if err := json.Unmarshal(text, &now); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"entries", "removed"} {
			was, _ := original.(map[string]any)[part].(map[string]any)
			is, _ := now[part].(map[string]any)
			for name, entry := range is {
				if diff := cmp.Diff(was[name], entry); diff != "" {
					t.Fatalf("%s was changed unseen (-was +is):\n%s", name, diff)
				}
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	one := newFile(class, "x.json") // small: the fuzzer spends its time on making inputs smaller
	one.put(candidate("a", 1, 2), ByCheck, "")
	var good bytes.Buffer
	if err := json.Compact(&good, encoded(f, one)); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Add(good.Bytes()[:good.Len()/3])
	f.Add([]byte(`{"schema": 1, "class": "nvidia-h200", "entries": {"a/b": {"moves": [{"by": "check"}]}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := parse("x.json", class, raw)
		if err != nil {
			if len(diag.Problems(err)) == 0 {
				t.Fatalf("no place: %v", err)
			}
			return
		}
		again, err := parse("x.json", class, encoded(t, file))
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if (again.Damaged() == nil) != (file.Damaged() == nil) {
			t.Fatalf("damage came or went: %v, then %v", file.Damaged(), again.Damaged())
		}
	})
}

// A problem shows its line, and where in it.
func TestPlaces(t *testing.T) {
	for text, want := range map[string]string{
		`{}` + "\n": "1:1 {}",
		"{\n  \"schema\": 1,\n  \"class\": \"nvidia-h200\",\n  \"entries\": 7\n}": `4:14   "entries": 7`,
		"{\n  \"schema\": 9,\n  \"class\": \"nvidia-h200\"\n}":                    `2:3   "schema": 9,`,
		"{\n  \"schema\": 1,\n  \"class\": x\n}":                                  `3:12   "class": x`,
	} {
		_, err := parse("x.json", class, []byte(text))
		problems := diag.Problems(err)
		if len(problems) != 1 {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := fmt.Sprintf("%d:%d %s", problems[0].Pos.Line, problems[0].Pos.Column, problems[0].Excerpt); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
