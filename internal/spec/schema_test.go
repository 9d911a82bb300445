package spec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"pawl/internal/diag"
	"pawl/internal/dtype"
)

func resolveSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// plain turns nodes into what encoding/json would have made of the same file.
func plain(t *testing.T, n *node) any {
	t.Helper()
	switch n.kind {
	case mappingKind:
		m := map[string]any{}
		for _, f := range n.fields {
			m[f.key.text] = plain(t, f.value)
		}
		return m
	case listKind:
		list := []any{}
		for _, item := range n.items {
			list = append(list, plain(t, item))
		}
		return list
	case integerKind, floatKind:
		v, err := parseNumber(n)
		if err != nil {
			return n.text
		}
		return v
	case boolKind:
		return strings.EqualFold(n.text, "true")
	case textKind:
		return n.text
	}
	return nil
}

func readPlain(t *testing.T, file string) (value any, ok bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var problems diag.List
	root, _ := readYAML(file, text, &problems)
	if root == nil || problems.Len() > 0 {
		return nil, false
	}
	return plain(t, root), true
}

func TestSchemaAcceptsGoodFiles(t *testing.T) {
	schema := resolveSchema(t)
	for _, glob := range []string{"testdata/good/*.yaml", "../draft/testdata/draft/*.yaml"} {
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", glob, err)
		}
		for _, file := range files {
			value, ok := readPlain(t, file)
			if !ok {
				t.Fatalf("%s is no YAML", file)
			}
			if err := schema.Validate(value); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// beyondSchema are wrong files that only Parse can tell: what is wrong depends
// on other places of the file, on arithmetic, or on formulas.
var beyondSchema = strings.Fields(`
	arg_duplicate arg_host_half_scalar arg_no_output cluster cluster_large config_lacks_variable
	constraint_config_variable constraint_default constraint_division constraint_not_boolean entry_cuda_wrong
	entry_host_template findings_[bft]* formula_[abdeopsu]* formula_no_configs grid_values init_types kernel_configs_glob
	kernel_configs_unknown launch_cuda_threads launch_host_grid launch_missing launch_no_block
	launches_unused_argument oracle_elementwise_[cfinop]* oracle_kernel python_launch python_params stream symbol scalar_half_range scalars shape_* tensor_map_[bcnv]* threads too_many_keys
	requires requires_config tolerance_rival_oracle tolerance_rival_self tolerance_zero
	too_many_items work_negative`)

// TestSchemaRejectsWrongFiles checks that editors mark what Parse refuses,
// where a schema can.
func TestSchemaRejectsWrongFiles(t *testing.T) {
	schema := resolveSchema(t)
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rejected := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		value, ok := readPlain(t, file)
		if !ok {
			continue
		}
		if slices.ContainsFunc(beyondSchema, func(p string) bool { m, _ := filepath.Match(p, name); return m }) {
			if err := schema.Validate(value); err != nil {
				t.Errorf("%s is rejected by the schema: take it off the list (%v)", name, err)
			}
			continue
		}
		rejected++
		if err := schema.Validate(value); err == nil {
			t.Errorf("%s is accepted by the schema", name)
		}
	}
	if rejected < 50 {
		t.Errorf("only %d files compared", rejected)
	}
}

// at follows a JSON pointer.
func at(t *testing.T, pointer string) map[string]any {
	t.Helper()
	var root any
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	value := root
	for _, part := range strings.Split(pointer, "/")[1:] {
		switch v := value.(type) {
		case map[string]any:
			value = v[part]
		case []any:
			value = v[int(part[0]-'0')]
		}
	}
	m, ok := value.(map[string]any)
	if !ok {
		t.Fatalf("schema has nothing at %s", pointer)
	}
	return m
}

// TestSchemaKnowsTheSameKeys compares the schema's properties with the tables
// the decoder reads by.
func TestSchemaKnowsTheSameKeys(t *testing.T) {
	for pointer, names := range map[string][]string{
		"":                      keyNames(specKeys),
		"/$defs/kernel":         keyNames(kernelKeys),
		"/$defs/launch":         keyNames(launchKeys),
		"/$defs/launches":       keyNames(launchesKeys),
		"/$defs/arg":            keyNames(argKeys),
		"/$defs/tensor_map":     keyNames(tensorMapKeys),
		"/$defs/oracle/oneOf/1": keyNames(oracleKeys),
		"/$defs/tolerance":      keyNames(toleranceKeys),

		"/$defs/tolerance/properties/rival": keyNames(rivalKeys),

		"/$defs/work": keyNames(workKeys),
		"/$defs/gate": keyNames(gateKeys),
		"/$defs/fuzz": keyNames(fuzzKeys),
		"/$defs/pool": keyNames(poolKeys),
		"/$defs/ci":   keyNames(ciKeys),

		"/$defs/finding":   keyNames(findingKeys),
		"/$defs/exception": keyNames(exceptionKeys),
	} {
		object := at(t, pointer)
		var properties []string
		for name := range object["properties"].(map[string]any) {
			properties = append(properties, name)
		}
		slices.Sort(properties)
		slices.Sort(names)
		if diff := cmp.Diff(names, properties); diff != "" {
			t.Errorf("%s (-decoder +schema):\n%s", pointer, diff)
		}
		if object["additionalProperties"] != false {
			t.Errorf("%s allows unknown keys", pointer)
		}
	}
}

func TestSchemaKnowsTheSameWords(t *testing.T) {
	words := func(pointer string) []string {
		var list []string
		for _, w := range at(t, pointer)["enum"].([]any) {
			list = append(list, w.(string))
		}
		return list
	}
	var types []string
	for _, d := range dtype.All {
		types = append(types, string(d))
	}
	inits := words("/$defs/init/oneOf/0")
	for name := range at(t, "/$defs/init/oneOf/1/properties") {
		if !slices.Contains(inits, name) {
			inits = append(inits, name)
		}
	}
	known := initNames()
	slices.Sort(inits)
	slices.Sort(known)
	for name, pair := range map[string][2][]string{
		"dtype":     {types, words("/$defs/arg/properties/dtype")},
		"role":      {{"in", "out", "inout", "scratch"}, words("/$defs/arg/properties/role")},
		"oracle":    {Oracles, words("/$defs/oracle/oneOf/0")},
		"framework": {Frameworks, words("/$defs/kernel/properties/framework")},
		"init":      {known, inits},

		"specials":   {specialsWords, words("/$defs/fuzz/properties/specials")},
		"swizzle":    {swizzles, words("/$defs/tensor_map/properties/swizzle")},
		"interleave": {interleaves, words("/$defs/tensor_map/properties/interleave")},
		"l2":         {promotions, words("/$defs/tensor_map/properties/l2")},
		"fill":       {fills, words("/$defs/tensor_map/properties/fill")},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("%s (-decoder +schema):\n%s", name, diff)
		}
	}
}

// TestSchemaExplainsEverything checks that every key has a title, a
// description and examples that are right, its own or those it refers to.
func TestSchemaExplainsEverything(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	defs := root["$defs"].(map[string]any)
	parts := map[string]any{}
	check := func(where string, object map[string]any) {
		t.Helper()
		for _, word := range []string{"title", "description", "examples"} {
			if inherited(t, object, word) == nil {
				t.Errorf("%s has no %s", where, word)
			}
		}
		parts[where] = object
	}
	var walk func(where string, value any)
	walk = func(where string, value any) {
		object, ok := value.(map[string]any)
		if !ok {
			if list, ok := value.([]any); ok {
				for _, item := range list {
					walk(where, item)
				}
			}
			return
		}
		_, conditional := object["if"]
		for key, below := range object {
			properties, ok := below.(map[string]any)
			if key == "examples" || key == "if" || key == "then" || conditional {
				continue
			}
			if key == "properties" && ok {
				for name, property := range properties {
					if p, ok := property.(map[string]any); ok {
						check(where+"."+name, p)
					}
				}
			}
			walk(where+"/"+key, below)
		}
	}
	walk("", root)
	for name, def := range defs {
		if object := def.(map[string]any); name != "launch" && name != "launches" && name != "kernel" && name != "arg" {
			check("$defs/"+name, object)
		}
	}
	checkExamples(t, map[string]any{"$schema": root["$schema"], "$defs": defs, "properties": parts}, parts)
}

// checkExamples validates the examples of each part by the schema that holds
// the parts as its properties.
func checkExamples(t *testing.T, schema, parts map[string]any) {
	t.Helper()
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for where, part := range parts {
		examples, _ := part.(map[string]any)["examples"].([]any)
		for _, example := range examples {
			if err := resolved.Validate(map[string]any{where: example}); err != nil {
				t.Errorf("the example %v of %s: %v", example, where, err)
			}
		}
	}
}

// inherited looks for a word in a schema and in what it refers to.
func inherited(t *testing.T, object map[string]any, word string) any {
	t.Helper()
	if v := object[word]; v != nil {
		return v
	}
	if ref, ok := object["$ref"].(string); ok {
		target := at(t, strings.TrimPrefix(ref, "#"))
		if word == "examples" && target[word] == nil && target["properties"] != nil {
			return "those of its keys"
		}
		return inherited(t, target, word)
	}
	return nil
}
