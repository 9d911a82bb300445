package spec

import (
	"slices"
	"strings"
	"testing"

	"pawl/internal/formula"
	"pawl/internal/space"
)

func TestSpace(t *testing.T) {
	k := parseKernel(t, "{BLOCK: [64, 32], FAST: [true, false], ALPHA: [0.5, 2.0], TYPE: [float, half]}", `["BLOCK > 32 or FAST", "ALPHA > 1 or TYPE == 'float'"]`)
	s, err := k.Space()
	if err != nil {
		t.Fatal(err)
	}
	if s.Size() != 9 || s.Cartesian() != 16 {
		t.Errorf("%v of %v points, want 9 of 16", s.Size(), s.Cartesian())
	}
	if got := k.Default().Point(); !slices.Equal(got, space.Point{0, 0, 0, 0}) || !s.Contains(got) {
		t.Errorf("the default is at %v", got)
	}
	var texts []string
	for p := range s.All() {
		v := k.At(p)
		if !slices.Equal(v.Point(), p) {
			t.Errorf("%s is at %v, made of %v", v.Name(), v.Point(), p)
		}
		texts = append(texts, v.Name())
	}
	if !slices.Equal(texts, names(k)) || texts[8] != "BLOCK=32 FAST=true ALPHA=2.0 TYPE=half" {
		t.Errorf("points %q, variants %q", texts, names(k))
	}
	other := k.Default()
	other.Values[0] = formula.Int(48)
	if got := other.Point(); got != nil {
		t.Errorf("a value that is not listed is at %v", got)
	}
}

// A kernel that the file cannot hold: its default violates a constraint, and so does all else.
func TestSpaceProblems(t *testing.T) {
	k := parseKernel(t, "{BLOCK: [64, 32]}", `[BLOCK > 16]`)
	k.Params[0].Values = k.Params[0].Values[1:]
	k.Constraints[0].Text = "BLOCK > 32"
	if err := k.Constraints[0].parse(); err != nil {
		t.Fatal(err)
	}
	_, err := k.Space()
	if want := `pawl.yaml:7:19: kernel k: constraint "BLOCK > 32" is false at every point`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s, with its line", err, want)
	}
	k.Params[0].Values = nil
	_, err = k.Space()
	if want := `pawl.yaml:6:14: kernel k: param BLOCK has no values`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s, with its line", err, want)
	}
}
