package forge

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A forge's limits go by its own clock. This machine's may be wrong by more than the wait.
func TestForgesClock(t *testing.T) {
	for _, wrong := range []time.Duration{-time.Hour, 0, time.Hour} {
		c, err := newClient(Options{URL: "https://forge.example"})
		if err != nil {
			t.Fatal(err)
		}
		theirs := time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)
		c.now = func() time.Time { return theirs.Add(wrong) }
		header := http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {strconv.FormatInt(theirs.Unix()+20, 10)}, "Date": {theirs.Format(http.TimeFormat)}}
		if pause, limited := c.limited(&Error{Status: http.StatusForbidden}, header, 1); !limited || pause != 21*time.Second {
			t.Errorf("%s: waits %s", wrong, pause)
		}
		said := c.clockDoubt(header)
		if want := wrong != 0; strings.Contains(said, "clock differs from the forge's by "+wrong.String()) != want || !want && said != "" {
			t.Errorf("%s: %q", wrong, said)
		}
	}
}
