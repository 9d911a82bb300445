package cli

import "testing"

func TestFit(t *testing.T) {
	const text = `A paragraph
of two lines.

The verdicts:
  regression    more than 3% slower
  inconclusive  no significant difference, or
                none after adjusting
A paragraph again, after the list.
  pawl check --strict is an example`
	const want = `A paragraph of two lines.

The verdicts:
  regression    more than 3% slower
  inconclusive  no significant
                difference, or none
                after adjusting
A paragraph again, after the list.
  pawl check --strict is an example`
	if got := fit(text, 40); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := fit(text, 0); got != text {
		t.Errorf("got\n%s", got)
	}
}
