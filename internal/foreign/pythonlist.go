package foreign

import (
	"fmt"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/formula"
)

// pythonList evaluates the expressions by which spaces list values, and nothing else of Python: [1, 2, 4],
// range(1, 11), list(…), [2**i for i in range(6)] with or without if, and sums of these with +.
func pythonList(text string) ([]formula.Value, error) {
	return pythonSum(text, 0)
}

const listHint = "lists are [1, 2, 4], range(1, 11, 2), list(range(8)), [2**i for i in range(6) if i != 3], and sums of them"

// notAList refuses an expression by its name.
func notAList(format string, args ...any) error {
	return &diag.Problem{Message: fmt.Sprintf(format, args...), Hint: listHint}
}

func pythonSum(text string, depth int) ([]formula.Value, error) {
	if depth > 20 {
		return nil, notAList("lists within lists, more than 20 deep")
	}
	parts, err := splitTop(text, '+')
	if err != nil {
		return nil, err
	}
	var all []formula.Value
	for _, part := range parts {
		values, err := pythonTerm(strings.TrimSpace(part), depth)
		if err != nil {
			return nil, err
		}
		if all = append(all, values...); len(all) > maxValues {
			return nil, notAList("more than %d values", maxValues)
		}
	}
	return all, nil
}

func pythonTerm(text string, depth int) ([]formula.Value, error) {
	inside := func(open, end string) (string, bool) {
		body, ok := strings.CutPrefix(text, open)
		if !ok {
			return "", false
		}
		body, ok = strings.CutSuffix(strings.TrimSpace(body), end)
		return strings.TrimSpace(body), ok && balanced(body)
	}
	if body, ok := inside("[", "]"); ok {
		return pythonItems(body, depth)
	}
	for _, name := range []string{"list", "tuple", "sorted"} {
		if body, ok := inside(name+"(", ")"); ok {
			values, err := pythonSum(body, depth+1)
			if name == "sorted" && err == nil {
				err = sortNumbers(values)
			}
			return values, err
		}
	}
	if body, ok := inside("range(", ")"); ok {
		return pythonRange(body, "", formula.Value{})
	}
	if body, ok := inside("(", ")"); ok {
		if parts, err := splitTop(body, ','); err == nil && len(parts) > 1 {
			return pythonItems(body, depth) // a tuple
		}
		return pythonSum(body, depth+1)
	}
	switch {
	case text == "":
		return nil, notAList("a list is missing")
	case strings.HasPrefix(text, "lambda"):
		return nil, notAList("a lambda is no list")
	}
	if name, _, ok := strings.Cut(text, "("); ok && name != "" {
		return nil, notAList("%s is not known here", strings.TrimSpace(name))
	}
	return nil, notAList("expected a list, got %s", short(text))
}

func sortNumbers(values []formula.Value) error {
	for _, v := range values {
		if _, ok := v.Float(); !ok {
			return notAList("sorted is for numbers, not %s", v)
		}
	}
	slices.SortStableFunc(values, func(a, b formula.Value) int {
		x, _ := a.Float()
		y, _ := b.Float()
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return nil
}

// pythonItems evaluates what stands between brackets: values, or a comprehension.
func pythonItems(body string, depth int) ([]formula.Value, error) {
	if at := wordAt(body, "for"); at >= 0 {
		return comprehension(body[:at], body[at+len("for"):], depth)
	}
	parts, err := splitTop(body, ',')
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(parts[len(parts)-1]) == "" { // a trailing comma, or nothing at all
		parts = parts[:len(parts)-1]
	}
	var values []formula.Value
	for _, part := range parts {
		v, err := pythonValue(part, "", formula.Value{})
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// comprehension evaluates item for name in list if condition.
func comprehension(item, rest string, depth int) ([]formula.Value, error) {
	at := wordAt(rest, "in")
	if at < 0 {
		return nil, notAList("a for without in")
	}
	name, from, condition := strings.TrimSpace(rest[:at]), rest[at+len("in"):], ""
	if strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) || name == "" {
		return nil, notAList("for takes one name, not %q", short(name))
	}
	if wordAt(from, "for") >= 0 {
		return nil, notAList("a second for in one list is not known here")
	}
	if at := wordAt(from, "if"); at >= 0 {
		from, condition = from[:at], from[at+len("if"):]
	}
	over, err := pythonSum(from, depth+1)
	if err != nil {
		return nil, err
	}
	var values []formula.Value
	for _, v := range over {
		if condition != "" {
			holds, err := pythonValue(condition, name, v)
			if err != nil {
				return nil, err
			}
			if truth, ok := holds.Bool(); ok && !truth || holds == formula.Int(0) {
				continue
			}
		}
		value, err := pythonValue(item, name, v)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// pythonRange evaluates the arguments of range.
func pythonRange(body, name string, value formula.Value) ([]formula.Value, error) {
	parts, err := splitTop(body, ',')
	if err != nil {
		return nil, err
	}
	if len(parts) > 3 {
		return nil, notAList("range takes 1 to 3 numbers, not %d", len(parts))
	}
	var numbers []int64
	for _, part := range parts {
		v, err := pythonValue(part, name, value)
		if err != nil {
			return nil, err
		}
		n, ok := v.Int()
		if !ok || n > 1<<53 || n < -1<<53 {
			return nil, notAList("range takes integers, not %s", v)
		}
		numbers = append(numbers, n)
	}
	first, end, step := int64(0), numbers[0], int64(1)
	if len(numbers) > 1 {
		first, end = numbers[0], numbers[1]
	}
	if len(numbers) > 2 {
		step = numbers[2]
	}
	if step == 0 {
		return nil, notAList("the step of range is 0")
	}
	var values []formula.Value
	for i := first; step > 0 && i < end || step < 0 && i > end; i += step {
		if len(values) >= maxValues {
			return nil, notAList("a range of more than %d values", maxValues)
		}
		values = append(values, formula.Int(i))
	}
	return values, nil
}

// pythonValue evaluates one value, in which a name may stand for another.
func pythonValue(text, name string, value formula.Value) (formula.Value, error) {
	text = strings.TrimSpace(text)
	var names []string
	if name != "" {
		names = []string{name}
	}
	expr, err := formula.Parse(text)
	if err != nil {
		return formula.Value{}, notAList("%s: %v", short(text), err)
	}
	program, err := expr.Compile(names)
	if err != nil {
		return formula.Value{}, notAList("%s: %v", short(text), err)
	}
	v, err := program.Eval([]formula.Value{value}[:len(names)])
	if err != nil {
		return formula.Value{}, notAList("%s: %v", short(text), err)
	}
	return v, nil
}

// splitTop splits where a character stands outside of brackets and quotes.
func splitTop(text string, at byte) ([]string, error) {
	var parts []string
	depth, from := 0, 0
	err := walkTop(text, func(i, level int) bool {
		depth = level
		if level == 0 && text[i] == at {
			parts = append(parts, text[from:i])
			from = i + 1
		}
		return true
	})
	if err == nil && depth != 0 {
		err = notAList("a bracket is not closed")
	}
	return append(parts, text[from:]), err
}

// walkTop calls each with every byte outside of quotes, and how deep in brackets it is. It stops when each says so.
func walkTop(text string, each func(i, level int) bool) error {
	level := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'', '"':
			length := strings.IndexByte(text[i+1:], c)
			if length < 0 {
				return notAList("a quote is not closed")
			}
			i += 1 + length
			continue
		case '(', '[', '{':
			level++
		case ')', ']', '}':
			if level--; level < 0 {
				return notAList("a bracket too many")
			}
		}
		if !each(i, level) {
			return nil
		}
	}
	return nil
}

// balanced reports whether all brackets of a text are closed in it.
func balanced(text string) bool {
	_, err := splitTop(text, 0)
	return err == nil
}

// wordAt finds a word outside of brackets and quotes; -1: it is not there.
func wordAt(text, word string) int {
	letter := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || text[i] >= '0' && text[i] <= '9' || text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z')
	}
	found := -1
	_ = walkTop(text, func(i, level int) bool {
		if level == 0 && strings.HasPrefix(text[i:], word) && !letter(i-1) && !letter(i+len(word)) {
			found = i
		}
		return found < 0
	})
	return found
}
