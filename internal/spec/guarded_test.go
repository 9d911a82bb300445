package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A default of pawl.yaml that is not the source's own is named; equal ones, and what is no default, are not.
func TestOverridden(t *testing.T) {
	for source, want := range map[string]string{
		"#ifndef TILE\n#define TILE 32\n#endif\n":                                                                 "TILE=64 (k.c has 32)",
		"  #  ifndef TILE /* rows */\n\n#\tdefine TILE 32 // usual\n#endif\n":                                     "TILE=64 (k.c has 32)",
		"#ifndef TILE\n#define TILE \\\n 32\n#endif\n":                                                            "TILE=64 (k.c has 32)",
		"#ifndef TILE\n#define TILE 64\n#endif\n":                                                                 "",
		"#ifndef TILE\n#define TILE (32)\n#endif\n":                                                               "TILE=64 (k.c has (32))",
		"#ifndef TILE\n#define TILE (64)\n#endif\n":                                                               "",
		"#ifndef TILE\n#define TILE 0x40u\n#endif\n":                                                              "",
		"#ifndef TILE\n#define TILE 64.0f\n#endif\n":                                                              "",
		"#ifndef TILE\n#define TILE USUAL\n#endif\n":                                                              "",
		"#define TILE 32\n":                                                                                       "",
		"#ifndef OTHER\n#define OTHER 32\n#endif\n":                                                               "",
		"#ifndef TILE\n#error set TILE\n#define TILE 32\n#endif\n":                                                "",
		"#ifdef A\n#ifndef TILE\n#define TILE 32\n#endif\n#else\n#ifndef TILE\n#define TILE 16\n#endif\n#endif\n": "",
		"/*\n#ifndef TILE\n#define TILE 32\n#endif\n*/\n":                                                         "",
	} {
		folder := t.TempDir()
		text := "version: 1\nkernels:\n  k:\n    source: k.c\n    entry: f\n    params: {TILE: [64, 32]}\n    args: [{name: y, dtype: f32, shape: [N], role: out}]\nconfigs: {small: {N: 8}}\n"
		for name, content := range map[string]string{"pawl.yaml": text, "k.c": source + "void f(float *y) {}\n"} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Load(filepath.Join(folder, "pawl.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.Overridden(s.Kernels[0].Default()), ", "); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}
