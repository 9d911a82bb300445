package lab

import (
	"testing"

	"pawl/internal/worker/puppet"
)

func TestCountLaunches(t *testing.T) {
	b := newLab(t)
	if n, err := b.CountLaunches(t.Context(), scripted(t, "small", puppet.Script{}), 1); n != 1 || err != nil {
		t.Error(n, err)
	}
	if _, err := b.CountLaunches(t.Context(), scripted(t, "small", puppet.Script{Crash: "load"}), 1); err == nil {
		t.Error("a job that cannot be loaded was counted")
	}
}
