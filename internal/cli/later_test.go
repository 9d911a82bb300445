package cli

import (
	"io"
	"strings"
	"testing"
	"time"
)

// What is done at once says nothing; what takes long says how many lines it has written, however they come.
func TestLater(t *testing.T) {
	for wait, want := range map[time.Duration]string{time.Hour: "", -time.Hour: "exporting: 1 line\nexporting: 3 lines\n"} {
		var said, out strings.Builder
		l := newLater(&env{stderr: &said})
		l.from = time.Now().Add(wait)
		w := l.counted(&out, "exporting", "line", "lines")
		for _, text := range []string{"a\nb", "c\nd", "e\n"} {
			if _, err := io.WriteString(w, text); err != nil {
				t.Fatal(err)
			}
		}
		l.Done()
		if said.String() != want || out.String() != "a\nbc\nde\n" {
			t.Errorf("%q, and %q; want %q", said.String(), out.String(), want)
		}
	}
}
