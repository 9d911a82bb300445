package draft

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pawl/internal/oracle"
	"pawl/internal/spec"
)

// The files of testdata/strangers are written in the manner of public collections: versions of a
// kernel with wrappers and a main, kernels for a tuner that defines their macros, samples, course
// work. A comment "want kernel: …" says what the author's own program does with it: the launch and the
// elements of each buffer, with as many TODOs as there are facts that the file does not say.
func TestStrangers(t *testing.T) {
	var kernels, launches, todos, allowed int
	files, err := filepath.Glob("testdata/strangers/*.cu")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		wants := readWants(text)
		entries := Find(filepath.Base(file), text, beside(file))
		drafted := Write(entries)
		s, err := spec.Parse("pawl.yaml", drafted)
		if err != nil {
			t.Errorf("%s: the draft is not accepted: %v\n%s", file, err, drafted)
			continue
		}
		if len(s.Kernels) != len(wants) {
			t.Errorf("%s: %d kernels, want %d", file, len(s.Kernels), len(wants))
		}
		for _, k := range s.Kernels {
			w := wants[k.Name]
			kernels++
			allowed += w.todo
			single := Write(entriesNamed(entries, k.Name))
			n := strings.Count(string(single), "# TODO")
			todos += n
			wrong := w.differences(t, k)
			if n > w.todo {
				wrong = append(wrong, fmt.Sprintf("%d TODOs, want %d", n, w.todo))
			}
			if len(wrong) == 0 {
				launches++
			} else {
				t.Errorf("%s: %s: %s\n%s", file, k.Name, strings.Join(wrong, "; "), single)
			}
		}
	}
	t.Logf("%d kernels: %d as their authors launch them, %d TODOs (%d unavoidable)", kernels, launches, todos, allowed)
}

func beside(file string) func(string) []byte {
	return func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), name))
		if err != nil {
			return nil
		}
		return text
	}
}

func entriesNamed(entries []Entry, name string) []Entry {
	for _, e := range entries {
		if e.Name == name {
			return []Entry{e}
		}
	}
	return nil
}

// want is what a comment of a file says about a kernel.
type want struct {
	grid, block, oracle string
	shared              int64
	elements            map[string]int64
	todo                int
	cooperative         bool
}

var wantLine = regexp.MustCompile(`(?m)^// want (\w+): (.*)$`)

func readWants(text []byte) map[string]want {
	wants := map[string]want{}
	for _, m := range wantLine.FindAllSubmatch(text, -1) {
		w := want{elements: map[string]int64{}}
		rest, oracle, _ := strings.Cut(string(m[2]), ", oracle ")
		w.oracle = oracle
		for _, part := range strings.Split(rest, ", ") {
			key, value, _ := strings.Cut(part, " ")
			n, _ := strconv.ParseInt(value, 10, 64)
			switch key {
			case "grid":
				w.grid = value
			case "block":
				w.block = value
			case "shared":
				w.shared = n
			case "todo":
				w.todo = int(n)
			case "cooperative":
				w.cooperative = true
			default:
				w.elements[key] = n
			}
		}
		wants[string(m[1])] = w
	}
	return wants
}

// differences lists where a kernel of the draft is not what is wanted.
func (w want) differences(t *testing.T, k *spec.Kernel) []string {
	t.Helper()
	in, err := k.Default().At(k.Configs[0])
	if err != nil {
		t.Fatal(err)
	}
	var wrong []string
	differs := func(what string, got, want any) {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			wrong = append(wrong, fmt.Sprintf("%s %v, want %v", what, got, want))
		}
	}
	l := in.Launches[0]
	differs("grid", dimsText(l.Grid[:]), strings.TrimSuffix(w.grid, "x1"))
	differs("block", dimsText(l.Block[:]), w.block)
	differs("shared", l.Shared, w.shared)
	differs("cooperative", k.Launches[0].Cooperative, w.cooperative)
	var values []oracle.Value
	for _, a := range in.Args {
		if count, listed := w.elements[a.Name]; listed && a.Buffer {
			if last := a.Shape[len(a.Shape)-1]; a.Elements == count*last && last <= 4 { // of vectors
				count *= last
			}
			differs(a.Name, a.Elements, count)
		}
		v := oracle.Value{Name: a.Name, Role: string(a.Role), Type: a.DType, Shape: a.Shape, Buffer: a.Buffer}
		if n, ok := a.Scalar.Float(); ok {
			v.Scalar = n
		}
		values = append(values, v)
	}
	got := ""
	if o := k.Oracle; o != nil {
		got = o.Builtin
		if o.Elementwise != "" {
			got = fmt.Sprintf("{elementwise: %q}", o.Elementwise)
		}
	}
	if w.oracle != "" || got != "" {
		differs("oracle", got, w.oracle)
	}
	if k.Oracle != nil && k.Oracle.Builtin != "" {
		if err := oracle.CheckReference(k.Oracle.Builtin, values); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	return wrong
}

func dimsText(dims []int64) string {
	for len(dims) > 1 && dims[len(dims)-1] == 1 {
		dims = dims[:len(dims)-1]
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", "x")
}
