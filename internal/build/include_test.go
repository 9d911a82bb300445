package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseIncludes(t *testing.T) {
	quote := func(name string) include { return include{name: name, quoted: true} }
	angle := func(name string) include { return include{name: name} }
	for _, tc := range []struct {
		name, text string
		want       []include
		computed   string
	}{
		{"both kinds", "#include \"a.h\"\n#include <b.h>\n", []include{quote("a.h"), angle("b.h")}, ""},
		{"spaces", "  #  include   \"a.h\" // why\n\t#include<b.h>\n", []include{quote("a.h"), angle("b.h")}, ""},
		{"windows lines", "#include \"a.h\"\r\n#include <b.h>\r\n", []include{quote("a.h"), angle("b.h")}, ""},
		{"both branches", "#if 0\n#include \"a.h\"\n#else\n#include \"b.h\"\n#endif\n", []include{quote("a.h"), quote("b.h")}, ""},
		{"twice", "#include <a.h>\n#include <a.h>\n", []include{angle("a.h")}, ""},
		{"next", "#include_next <a.h>\n#if __has_include_next(\"b.h\")\n", []include{{name: "a.h", next: true}, {name: "b.h", quoted: true, next: true}}, ""},
		{"in comments", "// #include \"a.h\"\n/* \n#include \"b.h\"\n*/\n", nil, ""},
		{"after a comment", "/* one */ #include \"a.h\"\n#include /* two */ \"b.h\"\n", []include{quote("a.h"), quote("b.h")}, ""},
		{"comment begins behind it", "#include \"a.h\" /* from here\n#include \"b.h\"\n*/\n#include \"c.h\"\n", []include{quote("a.h"), quote("c.h")}, ""},
		{"comment that is none", "const char *s = \"/*\";\n#include \"a.h\"\n", []include{quote("a.h")}, ""},
		{"nor in a definition", "#define GLOB \"x/*\"\n#include \"a.h\"\n", []include{quote("a.h")}, ""},
		{"nor in a character", "char c = '\"'; char d = '/*';\n#include \"a.h\"\n", []include{quote("a.h")}, ""},
		{"nor in a raw string", "auto s = R\"x(\n/* )\" )x\";\n#include \"a.h\"\n", []include{quote("a.h")}, ""},
		{"inside a raw string", "auto s = u8R\"(\n#include \"b.h\"\n)\";\n#include \"a.h\"\n", []include{quote("a.h")}, ""},
		{"a name that ends in R", "auto s = FOR\"(\";\n#include \"a.h\"\n", []include{quote("a.h")}, ""},
		{"digit separators", "int n = 1'000; /* x */\n#include \"a.h\"\n", []include{quote("a.h")}, ""},
		{"spliced", "#inc\\\nlude \\\n\"a.h\"\n", []include{quote("a.h")}, ""},
		{"spliced once", "// art \\\\\n\n#include \"a.h\"\nint x; \\\\\n\n#include \"b.h\"\n#if 0\nisn\\\\\n\n#endif\n'\\\\\n\n#include \"c.h\"\n", []include{quote("a.h"), quote("b.h"), quote("c.h")}, ""},
		{"slashes in the name", "#include <a//b.h>\n#include \"c/*d.h\"\n#include \"e.h\"\n", []include{angle("a//b.h"), quote("c/*d.h"), quote("e.h")}, ""},
		{"not at the start of a line", "x #include \"a.h\"\n", nil, ""},
		{"asked for", "#if __has_include(<a.h>) && __has_include( \"b.h\" )\n", []include{angle("a.h"), quote("b.h")}, ""},
		{"computed", "#define A \"a.h\"\n#include A\n", nil, "A"},
		{"no more text", "#include", nil, ""},
		{"not closed", "#include \"a.h\n#include <b.h\n/*", nil, ""},
		{"other directives", "#pragma once\n#includes \"a.h\"\n#define include \"b.h\"\n", nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := parseIncludes(tc.text)
			if diff := cmp.Diff(tc.want, got.list, cmp.AllowUnexported(include{})); diff != "" || got.computed != tc.computed {
				t.Errorf("computed %q; (-want +got):\n%s", got.computed, diff)
			}
		})
	}
}

// An include on a line of its own is found whatever balanced text stands around it.
func TestParseIncludesAmongOtherText(t *testing.T) {
	pieces := []string{
		"int x = 1;\n", "// comment \" ' /* \n", "/* \" ' // \n */\n", "const char *s = \"// /* \\\" '\";\n", "char c = '\\'';\n",
		"auto r = R\"d(\" /* ' // )d\";\n", "#define M(a) \"/*\" a // x\n", "#error don't\n", "long n = 1'000'000;\n", "#if 0 /* x */\n", "\n",
		"int y; \\\\\n\n", "// art \\\\\n\n", "const char *t = \"a\\\nb\";\n",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "before"), "") +
			"#include \"wanted.h\"\n" + strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "after"), "")
		if !slices.Contains(parseIncludes(text).list, include{name: "wanted.h", quoted: true}) {
			t.Fatalf("not found in\n%s", text)
		}
	})
}

func TestScanIncludes(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"src/k.cu":         "#include \"a.h\"\n#include <lib.h>\n#include <cuda.h>\n#include \"absent.h\"\n",
		"src/a.h":          "#include \"deep/b.h\"\n",
		"src/deep/b.h":     "#include \"c.h\"\n#include \"../a.h\"\n",
		"src/deep/c.h":     "#include WHICH\n",
		"include/lib.h":    "#include \"c.h\"\n",
		"include/c.h":      "",
		"include/unused.h": "",
		"src/lib.h":        "", // not searched for <lib.h>
		"system/cuda.h":    "#include \"inner.h\"\n",
		"system/inner.h":   "",
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	writeFile(t, filepath.Join(outside, "lib.h"), "")
	s := newIncludeScanner()
	system := filepath.Join(dir, "system")
	for range 2 { // the second time from memory
		files, computed := s.scan(dir, "src/k.cu", []string{"include", outside, system}, []string{system})
		slices.Sort(files)
		want := []string{
			filepath.Join(outside, "lib.h"), "include/c.h", "include/lib.h", "src/a.h", "src/deep/b.h", "src/deep/c.h", "src/k.cu",
		}
		if diff := cmp.Diff(want, files); diff != "" || computed != "WHICH" {
			t.Errorf("computed %q; (-want +got):\n%s", computed, diff)
		}
	}
	writeFile(t, filepath.Join(dir, "src/absent.h"), "")
	if files, _ := s.scan(dir, "src/k.cu", nil, nil); !slices.Contains(files, "src/absent.h") {
		t.Errorf("a file that has appeared is not seen: %q", files)
	}
	if files, _ := s.scan(dir, "nowhere.cu", nil, nil); files != nil {
		t.Errorf("%q", files)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func FuzzParseIncludes(f *testing.F) {
	for _, seed := range []string{
		"#include \"a.h\"\n", "R\"(", "\"", "'", "#", "#include <", "/*", "\\", "#if __has_include(", "#define X R\"(\n)\" //",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, inc := range parseIncludes(text).list {
			if inc.name == "" || strings.Contains(inc.name, "\n") {
				t.Fatalf("%q", inc.name)
			}
		}
		// What stands before on whole lines of its own hides nothing behind it.
		if got := parseIncludes("#include \"wanted.h\"\n" + text); !slices.Contains(got.list, include{name: "wanted.h", quoted: true}) {
			t.Fatalf("lost: %+v", got)
		}
	})
}
