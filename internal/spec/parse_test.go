package spec

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/diag"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestErrors compares what is said about each wrong file with its golden file.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no wrong files found: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse("pawl.yaml", text)
			if err == nil {
				t.Fatal("the file was accepted")
			}
			checkPlaces(t, text, err)
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".golden", err.Error()+"\n")
		})
	}
}

func compareGolden(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", golden, diff)
	}
}

// checkPlaces checks that every problem has a message and a place that exists.
func checkPlaces(t *testing.T, text []byte, err error) {
	t.Helper()
	var list diag.Errors
	if !errors.As(err, &list) || len(list) == 0 {
		t.Fatalf("not diag.Errors: %T %v", err, err)
	}
	lines := strings.Split(string(text), "\n")
	for _, p := range list {
		if p.Message == "" {
			t.Errorf("a problem without message: %+v", p)
		}
		if p.Pos.Line == 0 && p.Pos.Column == 0 && (len(text) > maxFileBytes || strings.HasPrefix(p.Message, "not readable as YAML")) {
			continue
		}
		if p.Pos.Line < 1 || p.Pos.Line > len(lines) {
			t.Fatalf("line %d is not in a file of %d lines: %v", p.Pos.Line, len(lines), p)
		}
		if width := len([]rune(lines[p.Pos.Line-1])); p.Pos.Column < 1 || p.Pos.Column > width+1 {
			t.Errorf("column %d is not in a line of %d: %v", p.Pos.Column, width, p)
		}
	}
}

func TestGood(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no good files found: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Parse("dir/pawl.yaml", text)
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".golden", dump(s))
		})
	}
}
