package spec

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"pawl/internal/csource"
)

// Overridden lists the params of a variant whose default in pawl.yaml is not the one that the kernel's source has
// for itself (#ifndef TILE, #define TILE 32), each as "TILE=64 (k.cu has 32)". A build without pawl takes the
// source's. Params that the variant sets to something else are left out.
func (s *Spec) Overridden(v Variant) (all []string) {
	k := v.Kernel
	if k.Source == "" || len(k.Params) == 0 {
		return nil
	}
	source, err := readUpTo(filepath.Join(s.Dir, filepath.FromSlash(k.Source)), maxSourceBytes+1)
	if err != nil || len(source) > maxSourceBytes {
		return nil // the build says what is wrong with it
	}
	own := guarded(string(source))
	for i, p := range k.Params {
		usual := p.Values[0].String()
		if value, has := own[p.Name]; has && v.Values[i].String() == usual && otherNumber(value, usual) {
			all = append(all, fmt.Sprintf("%s=%s (%s has %s)", p.Name, usual, k.Source, value))
		}
	}
	return all
}

// otherNumber reports whether a macro and a value are two numbers, and not the same. What is no literal number may be
// equal for all that anybody knows here.
func otherNumber(macro, value string) bool {
	for strings.HasPrefix(macro, "(") && strings.HasSuffix(macro, ")") {
		macro = strings.TrimSpace(macro[1 : len(macro)-1])
	}
	a, err := literal(macro)
	b, err2 := literal(value)
	return err == nil && err2 == nil && a != b
}

// literal reads a number as C has it: 64u, 0x40, 0.5f.
func literal(text string) (float64, error) {
	if n, err := strconv.ParseInt(strings.TrimRight(text, "uUlL"), 0, 64); err == nil {
		return float64(n), nil
	}
	return strconv.ParseFloat(strings.TrimRight(text, "fFlL"), 64)
}

// guarded returns the macros that a source defines only where nobody has, with their values. One that is
// defined so in several ways has none.
func guarded(source string) map[string]string {
	values := map[string]string{}
	guard := ""
	for _, line := range csource.Directives(strings.ReplaceAll(source, "\\\n", " ")) {
		words := strings.Fields(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#")))
		switch {
		case len(words) == 2 && words[0] == "ifndef":
			guard = words[1]
			continue
		case len(words) == 3 && words[0] == "define" && words[1] == guard:
			if before, has := values[guard]; has && before != words[2] {
				words[2] = ""
			}
			values[guard] = words[2]
		}
		guard = ""
	}
	for name, value := range values {
		if value == "" {
			delete(values, name)
		}
	}
	return values
}
