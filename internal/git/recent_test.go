package git

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestRecent(t *testing.T) {
	dir := onMain(t)
	var touched []string
	for _, text := range []string{"1", "2", "3"} {
		write(t, filepath.Join(dir, "file"), text)
		touched = append(touched, commit(t, dir, text))
		write(t, filepath.Join(dir, "other"), text)
		commit(t, dir, "other "+text)
	}
	slices.Reverse(touched)
	for most, want := range map[int][]string{2: touched[:2], 9: touched} {
		if got, err := Recent(t.Context(), dir, "file", most); err != nil || !slices.Equal(got, want) {
			t.Errorf("at most %d: %v, %v, want %v", most, got, err, want)
		}
	}
	if got, err := Recent(t.Context(), dir, "*", 9); err != nil || len(got) > 0 {
		t.Errorf("a pattern is no path: %v, %v", got, err)
	}
	shallow := clone(t, dir, "--depth=3")
	if got, err := Recent(t.Context(), shallow, "file", 9); err != nil || len(got) == 0 || len(got) >= 3 {
		t.Errorf("in a shallow clone: %v, %v", got, err)
	}
	if _, err := Recent(t.Context(), t.TempDir(), "file", 9); err == nil {
		t.Error("a history where there is no repository")
	}
}
