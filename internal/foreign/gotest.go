package foreign

import (
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl/internal/result"
)

// The rules are those of Go's benchmark format (golang.org/design/14313-benchmark-format) as
// benchstat reads it: configuration lines, result lines, and anything else between them, which is
// skipped.

// isGoTest reports whether a text has a result line, or the first lines of go test.
func isGoTest(text string) bool {
	for line := range strings.Lines(text) {
		if key, _, ok := configLine(line); ok && (key == "goos" || key == "goarch" || key == "pkg") {
			return true
		}
		if _, _, ok := resultLine(line); ok {
			return true
		}
	}
	return false
}

// configLine splits "key: value".
func configLine(line string) (key, value string, ok bool) {
	if line[0] == 'B' { // most lines are results, and there may be millions
		return "", "", false
	}
	key, value, ok = strings.Cut(line, ":")
	first, _ := utf8.DecodeRuneInString(key)
	if !ok || !unicode.IsLower(first) || strings.ContainsFunc(key, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsUpper(r) }) {
		return "", "", false
	}
	return key, strings.TrimSpace(value), value == "" || isSpace(value[0])
}

// resultLine finds the name of a result, without "Benchmark", and the offset of the values, after
// the count of iterations. A name alone is not a result: -v prints it when a benchmark starts.
func resultLine(line string) (name string, at int, ok bool) {
	const prefix = "Benchmark"
	if !strings.HasPrefix(line, prefix) {
		return "", 0, false
	}
	if first, _ := utf8.DecodeRuneInString(line[len(prefix):]); unicode.IsLower(first) {
		return "", 0, false
	}
	name, at = word(line, len(prefix))
	count, at := word(line, at)
	for i := range len(count) {
		if count[i]-'0' > 9 { // a sentence, or what the benchmark logged
			return "", 0, false
		}
	}
	return name, at, count != ""
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// word returns the text at an offset up to the next space, and the offset of what follows.
func word(line string, at int) (text string, next int) {
	end := at
	for end < len(line) && !isSpace(line[end]) {
		end++
	}
	next = end
	for next < len(line) && isSpace(line[next]) {
		next++
	}
	return line[at:end], next
}

// goPackages names benchmarks by the last part of their package's path, as Go code would; two
// packages with the same last part are distinguished by the whole path.
type goPackages map[string]string // last part → path

func (g goPackages) name(pkg, benchmark string) string {
	if pkg == "" {
		return benchmark
	}
	last := path.Base(pkg)
	if first, taken := g[last]; taken && first != pkg {
		return pkg + "." + benchmark
	}
	g[last] = pkg
	return last + "." + benchmark
}

// readGoTest reads the output of go test -bench; the lines of -count are samples.
func readGoTest(src source, c *collector) error {
	packages, pkg := goPackages{}, ""
	m := &c.report.Machine
	others := 0 // results without a time
	at := 0
	var last string // name of the row: the next result is mostly another sample of it
	var row *result.Row
	for line := range strings.Lines(src.text) {
		start := at
		at += len(line)
		if key, value, ok := configLine(line); ok {
			switch key {
			case "pkg":
				pkg, row = value, nil
			case "goos":
				m.OS = value
			case "goarch":
				m.Arch = value
			case "cpu":
				m.CPU.Model = value
			}
			continue
		}
		name, values, ok := resultLine(line)
		if !ok {
			continue
		}
		seconds, found, err := goTime(src, line, start, values)
		switch {
		case err != nil:
			return err
		case !found:
			others++
			continue
		}
		if row == nil || name != last {
			last, row = name, c.row(packages.name(pkg, name), "")
		}
		add(row, seconds)
	}
	if others > 0 && len(c.report.Rows) == 0 {
		return src.problem(0, strconv.Itoa(others)+" results, and none has a time; expected ns/op", "pawl compares times only")
	}
	if others > 0 {
		c.report.Warnings = append(c.report.Warnings, result.Warning{Code: "unit", Message: strconv.Itoa(others) + " results without ns/op were skipped"})
	}
	return nil
}

// goTime finds the time among the pairs of value and unit of a line, which begin at an offset.
func goTime(src source, line string, start, at int) (seconds float64, found bool, err error) {
	cutOff := func(expected string) error {
		end := start + len(strings.TrimRight(line, " \t\r\n"))
		return src.problem(end, "the line ends here; expected "+expected, "the output was cut off: run the benchmarks again")
	}
	if at == len(line) {
		return 0, false, cutOff("a time such as 123 ns/op")
	}
	for at < len(line) {
		place := start + at
		var value, unit string
		value, at = word(line, at)
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, false, src.problem(place, "expected a number, got "+strconv.Quote(value), "something was printed into the line: let the benchmark log nothing, or run it again")
		}
		if unit, at = word(line, at); unit == "" {
			return 0, false, cutOff("a unit such as ns/op")
		}
		switch unit {
		case "ns/op":
			v *= 1e-9
		case "sec/op":
		default:
			continue
		}
		if message, hint := notATime(v); message != "" {
			return 0, false, src.problem(place, message, hint)
		}
		seconds, found = v, true
	}
	return seconds, found, nil
}
