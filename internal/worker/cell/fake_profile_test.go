package cell

import (
	"slices"
	"strings"
	"testing"

	"pawl/internal/native/cuda"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// A profiler sees the side's own launches and nothing else. How many there are is known of a kernel, not of
// a launcher.
func TestFakeProfile(t *testing.T) {
	f := newFakeCell(t)
	for name, test := range map[string]struct {
		prepare  func()
		launches int
	}{
		"a kernel":   {func() { f.problem("scale") }, 3},
		"a launcher": {func() { f.launcher(`LAUNCHER { go(slots, stream); }`) }, -1},
	} {
		f.open()
		test.prepare()
		f.fake.Done()
		reply, err := f.profile(&wire.ProfileLaunches{Repeats: 3})
		if err != nil || reply.Launches != test.launches {
			t.Errorf("%s: %+v, %v; want %d launches", name, reply, err, test.launches)
		}
		var seen []string
		looks := false
		for _, line := range f.fake.Done() {
			switch line {
			case "profiler on":
				looks = true
			case "profiler off":
				looks = false
			default:
				if looks {
					seen = append(seen, strings.Fields(line)[2])
				}
			}
		}
		if want := []string{"scale", "scale", "scale"}; looks || !slices.Equal(seen, want) {
			t.Errorf("%s: a profiler sees %v (and goes on: %v), want %v", name, seen, looks, want)
		}
		for _, repeats := range []int{0, mostProfiled + 1} {
			_, err := f.profile(&wire.ProfileLaunches{Repeats: repeats})
			caused(t, name+", launched a wrong number of times", err, result.CauseProtocol, "to profile")
		}
		f.fake.Fail("cuProfilerStart", 1, int(cuda.NotPermitted))
		if _, err := f.profile(&wire.ProfileLaunches{Repeats: 1}); err == nil {
			t.Errorf("%s: no profiler, and the request is answered", name)
		}
	}
}
