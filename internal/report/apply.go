package report

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Way is one way to use the params that a search has found.
type Way struct {
	Title    string
	Language string // of Text, as Markdown names it
	Text     string
}

// HowToApply returns the ways to use a setting of a kernel. Cell is the kernel's kind: host, cuda or python.
// Order names the params in the order of pawl.yaml; those that it leaves out follow by name.
func HowToApply(kernel, cell string, order []string, params map[string]string) []Way {
	if len(params) == 0 {
		return nil
	}
	var names []string
	for _, name := range slices.Concat(order, slices.Sorted(maps.Keys(params))) {
		if _, ok := params[name]; ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	join := func(between string, text func(name, value string) string) string {
		var parts []string
		for _, name := range names {
			parts = append(parts, text(name, params[name]))
		}
		return strings.Join(parts, between)
	}
	ways := []Way{
		{"pawl.yaml, by pawl", "sh", "pawl tune " + kernel + " --last --apply"},
		{
			"pawl.yaml, by hand: the first value of a list is the default", "yaml",
			"params:\n" + join("\n", func(name, value string) string { return "  " + name + ": [" + yamlValue(value) + ", …]" }),
		},
	}
	if cell == "python" {
		return append(ways, Way{
			"Python: keyword arguments of the call", "python",
			functionName(kernel) + "(…, " + join(", ", func(name, value string) string { return name + "=" + pythonValue(value) }) + ")",
		})
	}
	compiler, title := "nvcc", "nvcc; NVRTC takes the same options"
	if cell == "host" {
		compiler, title = "cc", "the compiler's options"
	}
	flags := join(" ", func(name, value string) string { return "-D" + name + "=" + shellWord(macroValue(value)) })
	definitions := join(" ", func(name, value string) string { return name + "=" + macroValue(value) })
	return append(ways,
		Way{title, "sh", compiler + " " + flags + " …"},
		Way{"CMake", "cmake", "target_compile_definitions(your_target PRIVATE " + definitions + ")"})
}

// macroValue is a value as pawl defines the macro of a param: booleans are 1 and 0.
func macroValue(value string) string {
	switch value {
	case "true":
		return "1"
	case "false":
		return "0"
	}
	return value
}

// pythonValue is a value as pawl gives it to a Python function.
func pythonValue(value string) string {
	switch value {
	case "true":
		return "True"
	case "false":
		return "False"
	}
	if isNumber(value) {
		return value
	}
	return strconv.Quote(value)
}

// yamlValue is a value that YAML reads as what it is.
func yamlValue(value string) string {
	if isNumber(value) || value == "true" || value == "false" || !strings.Contains(value, ":") {
		return value
	}
	return strconv.Quote(value)
}

func isNumber(value string) bool {
	_, err := strconv.ParseFloat(value, 64)
	return err == nil && strings.ContainsAny(value, "0123456789")
}

// shellWord is a value that a shell takes as one word.
func shellWord(value string) string {
	if strings.IndexFunc(value, func(r rune) bool {
		return !strings.ContainsRune("_.:+-,/", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0 {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// functionName makes a name that Python takes of a kernel's name.
func functionName(kernel string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '.' {
			return '_'
		}
		return r
	}, kernel)
}
