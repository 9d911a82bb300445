package git

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// A commit is gone when whoever could have it says no, not when nobody answers.
func TestGone(t *testing.T) {
	upstream := onMain(t)
	commit(t, upstream, "second", "kernel.c", "int b;\n")
	for name, test := range map[string]struct {
		options []string
		setup   []string
		want    bool
	}{
		"origin does not have it":                  {want: true},
		"nor does that of a shallow clone":         {options: []string{"--depth=1"}, want: true},
		"there is no remote":                       {setup: []string{"remote", "remove", "origin"}, want: true},
		"there is none, and the clone is shallow":  {options: []string{"--depth=1"}, setup: []string{"remote", "remove", "origin"}},
		"origin is not there":                      {setup: []string{"remote", "set-url", "origin", filepath.Join(t.TempDir(), "nowhere")}},
		"origin does not answer":                   {setup: []string{"remote", "set-url", "origin", "http://127.0.0.1:1/x.git"}},
		"nothing says which remote is to be asked": {setup: []string{"remote", "rename", "origin", "a"}},
		"another remote was not asked":             {setup: []string{"remote", "add", "other", "file://" + upstream}},
		"origin gives tips only":                   {setup: []string{"config", "protocol.version", "0"}, want: true},
		"it does, and the clone is shallow":        {options: []string{"--depth=1"}, setup: []string{"config", "protocol.version", "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := clone(t, upstream, test.options...)
			if test.setup != nil {
				git(t, dir, test.setup...)
			}
			if strings.HasPrefix(name, "nothing says") {
				git(t, dir, "remote", "add", "b", upstream)
			}
			var missing *NoCommitError
			if err := Ensure(t.Context(), dir, strings.Repeat("1", 40)); !errors.As(err, &missing) || missing.Gone() != test.want {
				t.Errorf("gone %t: %v", missing != nil && missing.Gone(), err)
			}
		})
	}
}
