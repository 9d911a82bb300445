package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestLevelString(t *testing.T) {
	for want, l := range map[string]Level{
		"off":                             {Off: true, Seccomp: SeccompNone},
		"none":                            {},
		"landlock 7, seccomp notify":      {Landlock: 7, Seccomp: SeccompNotify, NoNewPrivs: true},
		"seccomp errno, missing: a; b":    {Seccomp: SeccompErrno, Missing: []string{"a", "b"}},
		"none, missing: everything there": {Seccomp: SeccompNone, Missing: []string{"everything there"}},
	} {
		if got := l.String(); got != want {
			t.Errorf("%+v: %q, want %q", l, got, want)
		}
	}
	if got := fmt.Sprint(Auto, Require, Off, Mode(9)); got != "auto require off Mode(9)" {
		t.Error(got)
	}
}

// The log keeps the first kinds in order, counts all, and never grows beyond
// its bounds.
func TestAttemptLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adds := rapid.SliceOfN(rapid.IntRange(0, 100), 0, 300).Draw(t, "adds")
		var l attemptLog
		var order []int
		counts := map[int]int{}
		further := 0
		for _, n := range adds {
			l.add(fmt.Sprint(n))
			switch {
			case counts[n] > 0:
				counts[n]++
			case len(order) < maxAttempts:
				order = append(order, n)
				counts[n] = 1
			default:
				further++
			}
		}
		var want []Attempt
		for _, n := range order {
			want = append(want, Attempt{What: fmt.Sprint(n), Count: counts[n]})
		}
		got, gotFurther := l.snapshot()
		if !slices.Equal(got, want) || gotFurther != further {
			t.Fatalf("%v and %d further, want %v and %d", got, gotFurther, want, further)
		}
	})
}

func FuzzPrintable(f *testing.F) {
	f.Add("open /etc/shadow for reading")
	f.Add("open \x1b[2J\xff for \n")
	f.Add(strings.Repeat("é", maxAttemptLen))
	f.Fuzz(func(t *testing.T, s string) {
		got := printable(s)
		if len(got) > 2*maxAttemptLen+len("…") {
			t.Errorf("%d bytes became %d", len(s), len(got))
		}
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Errorf("%q became %q", s, got)
			}
		}
		if printable(got) != got && len(got) <= maxAttemptLen {
			t.Errorf("%q is not stable", got)
		}
	})
}

func TestComplete(t *testing.T) {
	c := Command{Path: "/bin/x", Policy: Policy{Write: []string{"/scratch", "/other"}}}
	if err := c.complete(); err != nil {
		t.Fatal(err)
	}
	if c.Dir != "/scratch" || c.Env == nil || !slices.Equal(c.Args, []string{"/bin/x"}) {
		t.Errorf("%+v", c)
	}
	c = Command{Path: "/bin/x"}
	if err := c.complete(); err != nil || c.Dir != "/" {
		t.Errorf("%+v, %v", c, err)
	}
	c = Command{Path: "/bin/x", Policy: Policy{Devices: []string{"dev"}}}
	if err := c.complete(); err == nil {
		t.Error("a relative path was taken")
	}
}
