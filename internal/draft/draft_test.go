package draft

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/spec"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestDraft(t *testing.T) {
	files, err := filepath.Glob("testdata/source/*.c*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources found: %v", err)
	}
	var all []Entry
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		entries := Find("src/"+filepath.Base(file), source, func(string) []byte { return nil })
		all = append(all, entries...)
		t.Run(filepath.Base(file), func(t *testing.T) { checkDraft(t, entries, "testdata/draft/"+filepath.Base(file)+".yaml") })
	}
	t.Run("all", func(t *testing.T) { checkDraft(t, append(all, all[0]), "testdata/draft/all.yaml") })
}

// checkDraft compares the draft with its golden file, and what Parse makes of
// it with the promises of Write.
func checkDraft(t *testing.T, entries []Entry, golden string) {
	text := Write(entries)
	if *update {
		if err := os.WriteFile(golden, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", golden, diff)
	}
	s, err := spec.Parse("pawl.yaml", text)
	if err != nil {
		t.Fatalf("the draft is not accepted: %v\n%s", err, text)
	}
	if len(s.Kernels) != len(entries) {
		t.Errorf("%d kernels for %d entries", len(s.Kernels), len(entries))
	}
	if want := strings.Count(string(text), "# TODO"); len(s.TODOs) != want || want == 0 {
		t.Errorf("%d of %d TODO comments found", len(s.TODOs), want)
	}
	for _, k := range s.Kernels {
		checkBounds(t, k)
	}
}

// checkBounds checks that buffers are of a reasonable size, and that those whose shape is a guess
// hold the product of all sizes.
func checkBounds(t *testing.T, k *spec.Kernel) {
	t.Helper()
	for _, c := range k.Configs {
		in, err := k.Default().At(c)
		if err != nil {
			t.Fatal(err)
		}
		guessed := c.Name == "small"
		for _, a := range in.Args {
			if a.Buffer && guessed && a.Elements > 4*maxDraftElements {
				t.Errorf("%s: %s has %d elements", k.Name, a.Name, a.Elements)
			}
		}
	}
}

func TestInferNothing(t *testing.T) {
	for file, source := range map[string]string{
		"a.py":  "void f(float *x) {}",
		"/a.c":  "void f(float *x) {}",
		"b.c":   "static void f(float *x) {} int main(int n, char *v) {} void g(int n) {} void h(float *x);",
		"c.cu":  "void f(float *x) {} __device__ void g(float *x) {} __global__ void h(float *x);",
		"d.cpp": "namespace n { void f(float *x) {} } struct s { void g(float *x) {} }; template <class T> void h(T *x) {}",
		"e.c":   "void f(float *x",
		"f.c":   "",
		"g.c":   "void f(const char *s, void *p, FILE *f) {}",
		"h.c":   "void f(char *s) { s[0] = 0; } int g(const char *s, int n) { return s[n]; }",
	} {
		if entries := Find(file, []byte(source), nil); entries != nil {
			t.Errorf("%s: found %+v", file, entries)
		}
	}
	if text := Write(nil); text != nil {
		t.Errorf("a draft of nothing: %s", text)
	}
}

// Chars are numbers to who writes to them and is told how many there are.
func TestInferChars(t *testing.T) {
	for source, want := range map[string]string{
		"void f(char *s, int n) { for (int i = 0; i < n; i++) s[i] -= 32; }":                             "s i8 n i32",
		"void f(const char *in, char *out, long n) { for (long i = 0; i < n; i++) out[i] = in[i] ^ 1; }": "in i8 out i8 n i64",
	} {
		got := []string{}
		for _, e := range Find("upper.c", []byte(source), nil) {
			for _, p := range e.Params {
				got = append(got, p.Name, string(p.DType))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: found %q, want %q", source, got, want)
		}
	}
}

// FuzzInfer checks that no source makes inference panic, and that whatever it
// finds gives a file that Parse accepts.
func FuzzInfer(f *testing.F) {
	files, err := filepath.Glob("testdata/source/*.c*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range []string{"a.c", "b.cpp", "c.cu", "odd name#.cu"} {
			f.Add(name, source)
		}
	}
	f.Add("x.c", []byte("void f(int null, float *true, char y, short s, bool b, int N, int n) {}"))
	f.Add("y.cu", []byte("__global__ void f(float *x) { x[threadIdx.x] = \xd8macro + and + N; }"))
	f.Fuzz(func(t *testing.T, name string, source []byte) {
		entries := Find(name, source, func(string) []byte { return nil })
		if len(entries) == 0 {
			return
		}
		text := Write(entries)
		s, err := spec.Parse("pawl.yaml", text)
		if err != nil {
			t.Fatalf("the draft is not accepted: %v\n%s", err, text)
		}
		for _, k := range s.Kernels {
			if k.Source != name {
				t.Errorf("source %q became %q", name, k.Source)
			}
			checkBounds(t, k)
		}
	})
}

// What pawl init reads from a source, it accepts of it.
func FuzzPrototypes(f *testing.F) {
	files, err := filepath.Glob("testdata/source/*.c*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{"void f(const float *x, long unsigned n) {}", "#if 1\nvoid f(int *x) {}\n#endif", "void f(float x[], short, bool b = 1) {}", "__global__ void f(__half *x, char c) {}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		for _, file := range []string{"k.c", "k.cpp", "k.cu"} {
			entries := Find(file, source, func(string) []byte { return nil })
			if len(entries) == 0 {
				continue
			}
			text := Write(entries)
			dir := t.TempDir()
			for name, text := range map[string][]byte{file: source, spec.FileName: text} {
				if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := spec.Load(filepath.Join(dir, spec.FileName)); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		}
	})
}

// The names that init prints are those in the file that it has written.
func TestNamesAreThoseWritten(t *testing.T) {
	source := []byte("void f(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = x[i]; }\n")
	entries := append(Find("a.c", source, func(string) []byte { return nil }), Find("b.c", source, func(string) []byte { return nil })...)
	text := string(Write(entries))
	names := Names(entries)
	if len(names) != 2 || names[0] == names[1] {
		t.Fatalf("names %q", names)
	}
	for _, name := range names {
		if !strings.Contains(text, "\n  "+name+": #") {
			t.Errorf("no kernel %s in\n%s", name, text)
		}
	}
}
