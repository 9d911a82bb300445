package verify

import (
	"strings"
	"testing"

	"pawl/internal/result"
)

func TestForeign(t *testing.T) {
	own := []string{"_Z4mine", "_Z5other"}
	for name, tc := range map[string]struct {
		ran, flags []string
		says       string
	}{
		"its own":            {[]string{"_Z4mine"}, nil, ""},
		"nothing":            {nil, nil, ""},
		"somebody else's":    {[]string{"_Z4mine", "sgemm_128x64"}, []string{"-O3"}, "sgemm_128x64"},
		"a declared library": {[]string{"sgemm_128x64"}, []string{"-lcublas"}, ""},
	} {
		found := Foreign(tc.ran, own, tc.flags)
		if tc.says == "" && found != nil || tc.says != "" && (len(found) != 1 || found[0].Severity != result.Suspicious || !strings.Contains(found[0].Message, tc.says)) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestOutside(t *testing.T) {
	if found := Outside(nil); found != nil {
		t.Errorf("all is timed: %+v", found)
	}
	found := Outside([]string{"softmax", "copy"})
	if len(found) != 1 || found[0].Exploit != SideStream || found[0].Severity != result.Suspicious || !strings.Contains(found[0].Message, "softmax, copy") {
		t.Errorf("%+v", found)
	}
}

func TestStateBetweenLaunches(t *testing.T) {
	for exploit, found := range map[string][]result.Finding{PersistingL2: SetAside(), RetainedState: Remembers()} {
		if len(found) != 1 || found[0].Exploit != exploit {
			t.Errorf("%s: %+v", exploit, found)
		}
	}
}
