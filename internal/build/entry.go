package build

import (
	"bytes"
	"debug/elf"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/native/cuda/cubin"
	"pawl/internal/pattern"
	"pawl/internal/result"
)

// functions are the functions that an object or a cubin defines.
type functions struct {
	global []string // visible to the linker, by symbol
	local  []string // static, by symbol
	taken  []string // names of pawl's own that it defines, as whatever
}

func readFunctions(object []byte) (*functions, error) {
	file, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, fmt.Errorf("read the object: %w", err)
	}
	return listFunctions(file)
}

func readCubin(image []byte) (*functions, error) {
	file, err := cubin.Open(image)
	if err != nil {
		return nil, err
	}
	return listFunctions(file)
}

func listFunctions(file *elf.File) (*functions, error) {
	symbols, err := file.Symbols()
	if err != nil {
		return nil, fmt.Errorf("read its symbols: %w", err)
	}
	found := &functions{}
	for _, s := range symbols {
		kind := elf.ST_TYPE(s.Info)
		if s.Section == elf.SHN_UNDEF {
			continue
		}
		if slices.Contains(exported, s.Name) { // a label, too, which is of no kind
			found.taken = append(found.taken, s.Name)
		}
		if kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC {
			continue
		}
		if elf.ST_BIND(s.Info) == elf.STB_LOCAL {
			found.local = append(found.local, s.Name)
		} else {
			found.global = append(found.global, s.Name)
		}
	}
	return found, nil
}

// plainSymbol is what may stand inside the shim's asm labels.
var plainSymbol = pattern.New(`^[A-Za-z0-9_.$]+$`)

// resolve finds the one symbol that a spec's entry names: itself, or the C++
// function of that name.
func (f *functions) resolve(entry, source string, text []byte) (string, *result.Fault) {
	if slices.Contains(f.global, entry) && plainSymbol.MatchString(entry) {
		return entry, nil
	}
	matches := named(entry, f.global)
	switch {
	case len(matches) == 1 && plainSymbol.MatchString(matches[0]):
		return matches[0], nil
	case len(matches) > 1:
		return "", newFault(result.CauseNoEntry,
			"rename the intended one, declare it extern \"C\", or use its symbol as the entry: "+strings.Join(matches, ", "),
			"%q is %d functions in %s", entry, len(matches), source)
	}
	return "", newFault(result.CauseNoEntry, f.hint(entry, text), "no function %q in %s", entry, source)
}

func (f *functions) hint(entry string, text []byte) string {
	quoted := regexp.QuoteMeta(entry)
	switch {
	case slices.Contains(f.local, entry) || len(named(entry, f.local)) > 0 ||
		regexp.MustCompile(`\bstatic\b[^;{}()]*\b`+quoted+`\s*\(`).Match(text):
		return entry + " is static, so nothing outside its file can call it: remove the word static"
	case slices.ContainsFunc(f.global, func(symbol string) bool { return strings.HasSuffix(functionName(symbol), "::"+entry) }):
		return entry + " is inside a class or namespace: wrap it in an extern \"C\" function and name that"
	case regexp.MustCompile(`\b` + quoted + `\s*\(`).Match(text):
		return entry + " stands in the source but was not compiled: is it behind an #if, inline, or a template that nothing instantiates?"
	}
	var names []string
	for _, symbol := range f.global {
		if name := functionName(symbol); name != "" && !strings.Contains(name, "::") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return "the source defines no function that can be called from outside"
	}
	return diag.Meant(entry, names)
}

// named returns the symbols whose function has this name.
func named(name string, symbols []string) []string {
	var matches []string
	for _, symbol := range symbols {
		if functionName(symbol) == name {
			matches = append(matches, symbol)
		}
	}
	slices.Sort(matches)
	return matches
}

// functionName returns the name a person would use for a symbol: the function's own,
// with its namespaces, without parameters or template arguments. It is empty for
// what a user did not name: library internals, operators, compiler clones.
func functionName(symbol string) string {
	rest, mangled := strings.CutPrefix(symbol, "_Z")
	if !mangled {
		return symbol
	}
	if strings.Contains(rest, ".") {
		return ""
	}
	rest, nested := strings.CutPrefix(rest, "N")
	rest = strings.TrimPrefix(rest, "L") // internal linkage
	var parts []string
	for {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		length, err := strconv.Atoi(rest[:digits])
		if err != nil || length == 0 || length > len(rest)-digits {
			break
		}
		if part := rest[digits : digits+length]; part != "_GLOBAL__N_1" {
			parts = append(parts, part)
		}
		rest = rest[digits+length:]
		if !nested {
			return strings.Join(parts, "::")
		}
	}
	if nested && (strings.HasPrefix(rest, "E") || strings.HasPrefix(rest, "I")) {
		return strings.Join(parts, "::")
	}
	return ""
}
