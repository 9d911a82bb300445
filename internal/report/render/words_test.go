package render

import (
	"strings"
	"testing"
)

func TestExcerptKeepsBothEnds(t *testing.T) {
	got := strings.Split(excerpt("first\n"+strings.Repeat("line\n", 1000)+strings.Repeat("w", 1000)+"\n"), "\n")
	if len(got) != 65 || got[0] != "first" || !strings.HasPrefix(got[32], "… 938 more lines") || len(got[64]) > 410 {
		t.Errorf("%d lines, %q, %q, %d", len(got), got[0], got[32], len(got[64]))
	}
	if got := excerpt(" short \n"); got != "short" {
		t.Errorf("got %q", got)
	}
}

func TestFenceCannotBeClosed(t *testing.T) {
	got := fenced("a\n````\nb")
	if !strings.HasPrefix(got, "`````\n") || !strings.HasSuffix(got, "\n`````\n\n") {
		t.Errorf("got %q", got)
	}
}
