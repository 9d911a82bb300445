package space

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"pawl/internal/formula"
)

// definition is what a T1 file says of a space, its formulas as text.
type definition struct {
	ConfigurationSpace struct {
		TuningParameters []struct{ Name, Values string }
		Conditions       []struct{ Expression string }
	}
}

func readDefinition(t testing.TB, name string) (params []Param, conditions []string) {
	t.Helper()
	file, err := os.Open("testdata/" + name + ".T1.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var d definition
	if err := json.NewDecoder(unzipped).Decode(&d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.ConfigurationSpace.TuningParameters {
		param := Param{Name: p.Name}
		for part := range strings.SplitSeq(p.Values, " + ") {
			param.Values = append(param.Values, pythonList(t, part)...)
		}
		params = append(params, param)
	}
	for _, c := range d.ConfigurationSpace.Conditions {
		conditions = append(conditions, c.Expression)
	}
	return params, conditions
}

var listComprehension = regexp.MustCompile(`^\[(.+) for i in range\((.+), (.+)\)\]$|^list\(range\((.+), (.+), (.+)\)\)$`)

// pythonList reads the lists of these files: [1, 2], [2**i for i in range(0, 6)], list(range(32, 1025, 32)).
func pythonList(t testing.TB, text string) (values []formula.Value) {
	t.Helper()
	m := listComprehension.FindStringSubmatch(text)
	if m == nil {
		for item := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
			values = append(values, evaluate(t, item, 0))
		}
		return values
	}
	element, from, to, step := m[1], m[2], m[3], "1"
	if element == "" {
		element, from, to, step = "i", m[4], m[5], m[6]
	}
	start, _ := evaluate(t, from, 0).Int()
	end, _ := evaluate(t, to, 0).Int()
	by, _ := evaluate(t, step, 0).Int()
	for i := start; i < end; i += by {
		values = append(values, evaluate(t, element, i))
	}
	return values
}

func evaluate(t testing.TB, text string, i int64) formula.Value {
	t.Helper()
	program, err := parse(t, strings.TrimSpace(text))[0].Compile([]string{"i"})
	if err != nil {
		t.Fatal(err)
	}
	v, err := program.Eval([]formula.Value{formula.Int(i)})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func parse(t interface{ Fatalf(string, ...any) }, texts ...string) (constraints []*formula.Expr) {
	for _, text := range texts {
		expr, err := formula.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		constraints = append(constraints, expr)
	}
	return constraints
}

// TestDefinitions counts spaces whose sizes others have found.
func TestDefinitions(t *testing.T) {
	for name, want := range map[string]struct{ cartesian, size float64 }{
		"gemm_milo":    {663_552, 116_928},
		"hotspot_milo": {4_440_000, 82_984},
	} {
		params, conditions := readDefinition(t, name)
		s, err := New(params, parse(t, conditions...))
		if err != nil {
			t.Fatal(err)
		}
		if s.Cartesian() != want.cartesian || s.Size() != want.size || !s.Exact() {
			t.Errorf("%s: %v of %v points, exact %v; want %v", name, s.Size(), s.Cartesian(), s.Exact(), want)
		}
		seen := map[string]bool{}
		for p := range s.All() {
			seen[fmt.Sprint(p)] = true
		}
		if len(seen) != int(want.size) {
			t.Errorf("%s: %d different points listed, want %v", name, len(seen), want.size)
		}
	}
}
