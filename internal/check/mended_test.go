package check

import "testing"

// A hint about a base's oracle may be a remark or nothing: what is added is a sentence of its own.
func TestMended(t *testing.T) {
	for hint, want := range map[string]string{
		"": "mend the oracle in a separate change before this one",
		"the oracle is called with arrays of numpy: x f32[4]": "the oracle is called with arrays of numpy: x f32[4]; an oracle that has to be mended is mended in a separate change before this one",
	} {
		if got := mended(hint); got != want {
			t.Errorf("%q: %q", hint, got)
		}
	}
}
