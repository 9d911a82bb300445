package foreign

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/formula"
)

func TestPythonList(t *testing.T) {
	for text, want := range map[string]string{
		"[1, 2, 4]":                              "1 2 4",
		" [ 1,2, ] ":                             "1 2",
		"[]":                                     "",
		"(1, 2)":                                 "1 2",
		"range(3)":                               "0 1 2",
		"list(range(1, 11, 3))":                  "1 4 7 10",
		"range(4, 0, -2)":                        "4 2",
		"[2**i for i in range(6)]":               "1 2 4 8 16 32",
		"[i for i in range(1, 4+1)]":             "1 2 3 4",
		"[1, 2, 4] + list(range(32, 128+1, 32))": "1 2 4 32 64 96 128",
		"[i*2 for i in [1, 2, 3] if i != 2 and not i > 5]": "2 6",
		"([1] + [2])":                   "1 2",
		"tuple([0.5, 1e-3, 2.0])":       "0.5 0.001 2.0",
		"['f16', \"b, [c\", 'a for b']": "f16 b, [c a for b",
		"[True, False]":                 "True False",
		"sorted([3, 1, 2])":             "1 2 3",
		"[-1, 1//2, 16 * 16, (1+2)*3]":  "-1 0 256 9",
		"list([i for i in range(2)])":   "0 1",
		"[min(x, 4) for x in (8, 2)]":   "4 2",
	} {
		got, err := pythonList(text)
		if have := strings.Trim(fmt.Sprint(got), "[]"); err != nil || have != want {
			t.Errorf("%s: %s, %v; want %s", text, have, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                                "a list is missing",
		"5":                               "expected a list, got 5",
		"[1, 2":                           "a bracket is not closed",
		"[1]]":                            "a bracket too many",
		"['a]":                            "a quote is not closed",
		"[x]":                             `unknown name`,
		"np.arange(4)":                    "np.arange is not known here",
		"__import__('os').system('ls')":   "__import__ is not known here",
		"lambda: 1":                       "a lambda is no list",
		"[lambda: 1]":                     "lambda",
		"[i*j for i in [1] for j in [2]]": "a second for in one list is not known here",
		"[i for i of [1]]":                "a for without in",
		"[i for i, j in [1]]":             "for takes one name",
		"range(0, 5, 0)":                  "the step of range is 0",
		"range(0.5)":                      "range takes integers, not 0.5",
		"range(1, 2, 3, 4)":               "range takes 1 to 3 numbers",
		"range(10**12)":                   "a range of more than 65536 values",
		"[[1]]":                           "[1]",
		"[1//0]":                          "division by zero",
		"sorted(['a'])":                   "sorted is for numbers",
		"[1] + 2":                         "expected a list, got 2",
		strings.Repeat("(", 30) + "[1]" + strings.Repeat(")", 30): "more than 20 deep",
	} {
		if got, err := pythonList(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
}

const smallT1 = `{"ConfigurationSpace": {"TuningParameters": [
  {"Name": "a", "Type": "int", "Values": "[1, 2, 4]", "Default": 2},
  {"Name": "b", "Type": "bool", "Values": "[0, 1]", "Default": [1]},
  {"Name": "c", "Type": "string", "Values": "['x', 'y']", "Default": "z"},
  {"Name": "d", "Type": "int", "Values": [8, 16], "Default": null}],
  "Conditions": [{"Expression": "1 < a <= d // 2 and not (a == 4 or d ** 2 > 300)", "Parameters": ["a", "d"]}]},
  "KernelSpecification": {"KernelName": "k", "KernelFile": "k.cu", "Language": "CUDA"}}`

func TestReadT1(t *testing.T) {
	f, err := ParseT1("t1.json", smallT1)
	if err != nil {
		t.Fatal(err)
	}
	want := "k k.cu [{a [2 1 4]} {b [True False]} {c [x y]} {d [8 16]}] [1 < a <= d // 2 and not (a == 4 or d ** 2 > 300)] " +
		"[the default z of c is none of its values: the first one, x, is taken]"
	if got := fmt.Sprint(f.Kernel, " ", f.Source, " ", f.Params, f.Constraints, f.Notes); strings.ReplaceAll(got, "] [", "][") != strings.ReplaceAll(want, "] [", "][") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestT1Errors(t *testing.T) {
	for change, want := range map[string]string{
		"[1, 2, 4]→np.arange(3)":      "np.arange is not known here",
		"[1, 2, 4]→[]":                "the param a has no values",
		"[1, 2, 4]→[1, 2, 1]":         "the param a has the value 1 twice",
		`"Name": "b"→"Name": "a"`:     "the param a is there twice",
		`"Name": "b"→"Nam": "b"`:      "a param without a Name",
		"a <= d // 2→a <= e // 2":     `unknown name "e"`,
		"not (→lambda x: (":           "the condition",
		"TuningParameters→Parameters": "expected ConfigurationSpace with TuningParameters",
		`"Language": "CUDA"}}→`:       "the file ends here",
		"[8, 16]→[8, [16]]":           "expected a number, a boolean or a text, got a list",
	} {
		old, now, _ := strings.Cut(change, "→")
		if !strings.Contains(smallT1, old) {
			t.Fatal(old)
		}
		_, err := ParseT1("t1.json", strings.Replace(smallT1, old, now, 1))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "t1.json") {
			t.Errorf("%s: %v, want %s", change, err, want)
		}
	}
}

// TestT1Recorded reads the community's own descriptions, where they are, and counts their spaces.
func TestT1Recorded(t *testing.T) {
	folder := os.Getenv("PAWL_SPACES")
	if folder == "" {
		t.Skip("PAWL_SPACES names no folder with definitions/*.T1.json")
	}
	for name, want := range map[string][2]int{"gemm_milo": {663552, 116928}, "hotspot_milo": {4440000, 82984}} {
		if testing.Short() && name == "hotspot_milo" {
			continue
		}
		f, err := ReadT1(filepath.Join(folder, "definitions", name+".T1.json"))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range f.Params {
			names = append(names, p.Name)
		}
		var programs []*formula.Program
		for _, c := range f.Constraints {
			expr, err := formula.Parse(c)
			if err != nil {
				t.Fatal(err)
			}
			program, err := expr.Compile(names)
			if err != nil {
				t.Fatal(err)
			}
			programs = append(programs, program)
		}
		all, valid := 0, 0
		point := make([]formula.Value, len(names))
		var walk func(i int)
		walk = func(i int) {
			if i < len(names) {
				for _, v := range f.Params[i].Values {
					point[i] = v
					walk(i + 1)
				}
				return
			}
			all++
			for _, p := range programs {
				v, err := p.Eval(point)
				if err != nil {
					t.Fatal(err)
				}
				if holds, _ := v.Bool(); !holds {
					return
				}
			}
			valid++
		}
		walk(0)
		if got := [2]int{all, valid}; got != want {
			t.Errorf("%s: %v points, want %v", name, got, want)
		}
	}
}

// FuzzT1: no file makes the reader fail but with words, and what it returns is a space.
func FuzzT1(f *testing.F) {
	f.Add(smallT1)
	f.Add(strings.ReplaceAll(smallT1, "[1, 2, 4]", "[1] + [2**i for i in range(1, 3) if i > 0]"))
	f.Fuzz(func(t *testing.T, text string) {
		file, err := ParseT1("t1.json", text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		for _, p := range file.Params {
			if p.Name == "" || len(p.Values) == 0 {
				t.Fatalf("%+v", p)
			}
		}
	})
}

// FuzzPythonList: any text is a list or an error, and takes no time.
func FuzzPythonList(f *testing.F) {
	for _, text := range []string{"[1, 2]", "list(range(1, 9))", "[2**i for i in range(6) if i % 2]", "([1]+(2,))", "sorted(['a'])", "[x for x in range(9**9)]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values, err := pythonList(text)
		if len(values) > maxValues && err == nil {
			t.Fatalf("%d values", len(values))
		}
	})
}
