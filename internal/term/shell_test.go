package term

import "testing"

func TestShellLine(t *testing.T) {
	got := ShellLine("pawl", "bench", "attention/*", "it's", "my venv/py", "a b", "", "--set", "N=4")
	if want := `pawl bench 'attention/*' 'it'\''s' 'my venv/py' 'a b' '' --set N=4`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
