package diag

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPosString(t *testing.T) {
	tests := []struct {
		pos  Pos
		want string
	}{
		{Pos{}, ""},
		{Pos{File: "pawl.yaml"}, "pawl.yaml"},
		{Pos{File: "pawl.yaml", Column: 3}, "pawl.yaml"},
		{Pos{File: "pawl.yaml", Line: 12}, "pawl.yaml:12"},
		{Pos{File: "pawl.yaml", Line: 12, Column: 5}, "pawl.yaml:12:5"},
		{Pos{Line: 12, Column: 5}, "12:5"},
	}
	for _, test := range tests {
		if got := test.pos.String(); got != test.want {
			t.Errorf("%#v is %q, want %q", test.pos, got, test.want)
		}
	}
}

func TestProblemError(t *testing.T) {
	for want, p := range map[string]*Problem{
		"no device":                {Message: "no device"},
		"12:5: no device":          {Pos: Pos{Line: 12, Column: 5}, Message: "no device", Hint: "unseen"},
		"a.yaml: no device":        {Pos: Pos{File: "a.yaml"}, Message: "no device"},
		"a.yaml:1:2: no such name": {Pos: Pos{"a.yaml", 1, 2}, Message: "no such name", Excerpt: "unseen"},
	} {
		if got := p.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestProblemDetail(t *testing.T) {
	long := strings.Repeat("x", 500)
	tests := []struct {
		name    string
		problem Problem
		want    []string
	}{
		{
			"message only",
			Problem{Message: "no device"},
			[]string{"no device"},
		},
		{
			"message and hint",
			Problem{Message: "no device", Hint: "pawl doctor says why"},
			[]string{"no device", "  hint: pawl doctor says why"},
		},
		{
			"caret and hint",
			Problem{
				Pos: Pos{"pawl.yaml", 12, 5}, Message: `unknown key "confgs"`,
				Hint: "did you mean configs?", Excerpt: "    confgs: {}", Width: 6,
			},
			[]string{
				`pawl.yaml:12:5: unknown key "confgs"`,
				"  12 |     confgs: {}",
				"     |     ^^^^^^",
				"  hint: did you mean configs?",
			},
		},
		{
			"no width",
			Problem{Pos: Pos{"f", 1, 1}, Message: "m", Excerpt: "abc"},
			[]string{"f:1:1: m", "  1 | abc", "    | ^"},
		},
		{
			"no column",
			Problem{Pos: Pos{File: "f", Line: 7}, Message: "m", Excerpt: "abc"},
			[]string{"f:7: m", "  7 | abc"},
		},
		{
			"tabs before the caret stay tabs",
			Problem{Pos: Pos{"f", 3, 4}, Message: "m", Excerpt: "\ta\tbc", Width: 2},
			[]string{"f:3:4: m", "  3 | \ta\tbc", "    | \t \t^^"},
		},
		{
			"columns count runes",
			Problem{Pos: Pos{"f", 3, 6}, Message: "m", Excerpt: "größe: ×", Width: 1},
			[]string{"f:3:6: m", "  3 | größe: ×", "    |      ^"},
		},
		{
			"right behind the line",
			Problem{Pos: Pos{"f", 3, 4}, Message: "m", Excerpt: "B *"},
			[]string{"f:3:4: m", "  3 | B *", "    |    ^"},
		},
		{
			"far behind the line",
			Problem{Pos: Pos{"f", 3, 6}, Message: "m", Excerpt: "B *"},
			[]string{"f:3:6: m", "  3 | B *", "    |      ^"},
		},
		{
			"wider than the rest of the line",
			Problem{Pos: Pos{"f", 3, 2}, Message: "m", Excerpt: "abc", Width: 40},
			[]string{"f:3:2: m", "  3 | abc", "    |  ^^"},
		},
		{
			"place at the start of a long line",
			Problem{Pos: Pos{"f", 1, 2}, Message: "m", Excerpt: "ab" + long},
			[]string{"f:1:2: m", "  1 | ab" + long[:158] + "…", "    |  ^"},
		},
		{
			"place in the middle of a long line",
			Problem{Pos: Pos{"f", 1, 502}, Message: "m", Excerpt: long + "abc" + long, Width: 2},
			[]string{
				"f:1:502: m",
				"  1 | …" + long[:79] + "abc" + long[:78] + "…",
				"    | " + strings.Repeat(" ", 81) + "^^",
			},
		},
		{
			"place at the end of a long line",
			Problem{Pos: Pos{"f", 1, 502}, Message: "m", Excerpt: long + "ab"},
			[]string{
				"f:1:502: m",
				"  1 | …" + long[:158] + "ab",
				"    | " + strings.Repeat(" ", 160) + "^",
			},
		},
		{
			"long line without a column",
			Problem{Pos: Pos{File: "f", Line: 1}, Message: "m", Excerpt: long},
			[]string{"f:1: m", "  1 | " + long[:160] + "…"},
		},
		{
			"control characters",
			Problem{Pos: Pos{"f", 1, 3}, Message: "m", Excerpt: "\x1b[2Jab\x00"},
			[]string{"f:1:3: m", "  1 | \uFFFD[2Jab\uFFFD", "    |   ^"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := strings.Split(test.problem.Detail(), "\n")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("detail (-want +got):\n%s", diff)
			}
		})
	}
}

// However long the line and wherever the place, the caret stands below the
// very rune that is at fault.
func TestCaretStandsBelowItsRune(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fill := rapid.StringOf(rapid.SampledFrom([]rune{'a', ' ', '\t', 'é', '漢', '\x1b'}))
		before := strings.Repeat(fill.Draw(t, "before"), rapid.IntRange(1, 40).Draw(t, "times before"))
		after := strings.Repeat(fill.Draw(t, "after"), rapid.IntRange(1, 40).Draw(t, "times after"))
		p := Problem{
			Pos:     Pos{File: "f", Line: 123, Column: utf8.RuneCountInString(before) + 1},
			Message: "m",
			Excerpt: before + "@" + after,
			Width:   rapid.IntRange(0, 50).Draw(t, "width"),
		}
		lines := strings.Split(p.Detail(), "\n")
		if len(lines) != 3 {
			t.Fatalf("%d lines", len(lines))
		}
		line, carets := []rune(lines[1]), []rune(lines[2])
		place := strings.IndexRune(lines[2], '^')
		if place < 0 || place != len(string(carets[:place])) || line[place] != '@' {
			t.Fatalf("caret at %d of\n%s\n%s", place, lines[1], lines[2])
		}
		if len(carets) > len(line) || len(line) > 200 {
			t.Fatalf("line of %d, carets up to %d", len(line), len(carets))
		}
		for i, r := range carets[:place] {
			if i >= len("  123 | ") && (r == '\t') != (line[i] == '\t') {
				t.Fatalf("tabs differ at %d of\n%q\n%q", i, lines[1], lines[2])
			}
		}
	})
}

func TestListErr(t *testing.T) {
	var list List
	if err := list.Err([]byte("anything")); err != nil {
		t.Fatalf("an empty list is the error %v", err)
	}
	at := func(line, column int) Pos { return Pos{"f", line, column} }
	list.Addf(at(3, 1), "third %s", "line")
	list.Addf(at(1, 9), "first line, later")
	list.Add(&Problem{Pos: at(1, 2), Message: "first line", Hint: "h"})
	list.Addf(at(1, 2), "first line, same place").Hint = "set afterwards"
	list.Addf(Pos{File: "f"}, "no line")
	list.Addf(at(4, 1), "behind the last line")
	list.Add(&Problem{Pos: at(2, 1), Message: "second line", Excerpt: "own excerpt"})
	if list.Len() != 7 {
		t.Errorf("Len is %d", list.Len())
	}

	err := list.Err([]byte("one\r\ntwo\nthree"))
	want := []*Problem{
		{Pos: Pos{File: "f"}, Message: "no line"},
		{Pos: at(1, 2), Message: "first line", Hint: "h", Excerpt: "one"},
		{Pos: at(1, 2), Message: "first line, same place", Hint: "set afterwards", Excerpt: "one"},
		{Pos: at(1, 9), Message: "first line, later", Excerpt: "one"},
		{Pos: at(2, 1), Message: "second line", Excerpt: "own excerpt"},
		{Pos: at(3, 1), Message: "third line", Excerpt: "three"},
		{Pos: at(4, 1), Message: "behind the last line"},
	}
	if diff := cmp.Diff(want, Problems(err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestErrorsError(t *testing.T) {
	err := Errors{
		{Pos: Pos{"f", 1, 1}, Message: "first", Excerpt: "abc", Hint: "do this"},
		{Message: "second"},
	}
	want := "f:1:1: first\n  1 | abc\n    | ^\n  hint: do this\n\nsecond"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestProblems(t *testing.T) {
	one, two := &Problem{Message: "one"}, &Problem{Message: "two"}
	tests := []struct {
		name string
		err  error
		want []*Problem
	}{
		{"nil", nil, nil},
		{"another error", errors.New("other"), nil},
		{"a problem", one, []*Problem{one}},
		{"a wrapped problem", fmt.Errorf("read: %w", one), []*Problem{one}},
		{"errors", Errors{one, two}, []*Problem{one, two}},
		{"wrapped errors", fmt.Errorf("read: %w", Errors{one, two}), []*Problem{one, two}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, Problems(test.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
