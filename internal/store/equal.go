package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// equalJSON reports whether two reports say the same: other spaces, another order of fields, or another way
// to write a number or a text make no difference. Of what readers take differently, such as a doubled field,
// only the same bytes are the same. Fields of theirs may be left out.
func equalJSON(a, b []byte, without ...string) bool {
	if bytes.Equal(a, b) {
		return true
	}
	treeA, errA := treeOf(a)
	treeB, errB := treeOf(b)
	for _, tree := range []any{treeA, treeB} {
		if fields, ok := tree.(map[string]any); ok {
			for _, name := range without {
				delete(fields, name)
			}
		}
	}
	return errA == nil && errB == nil && reflect.DeepEqual(treeA, treeB)
}

var errTwoWays = errors.New("it can be read in two ways")

// treeOf reads JSON into maps, lists, texts and numbers of one form.
func treeOf(raw []byte) (any, error) {
	if !utf8.Valid(raw) { // a reader replaces what is no text
		return nil, errTwoWays
	}
	from := json.NewDecoder(bytes.NewReader(raw))
	from.UseNumber()
	return nextOf(from)
}

func nextOf(from *json.Decoder) (any, error) {
	token, err := from.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for from.More() {
			v, err := nextOf(from)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = from.Token()
		return list, err
	case json.Delim('{'):
		fields := map[string]any{}
		for from.More() {
			name, err := from.Token()
			if err != nil {
				return nil, err
			}
			v, err := nextOf(from)
			if err != nil {
				return nil, err
			}
			if _, there := fields[name.(string)]; there {
				return nil, errTwoWays
			}
			fields[name.(string)] = v
		}
		_, err = from.Token()
		return fields, err
	}
	if n, ok := token.(json.Number); ok {
		return numberOf(n), nil
	}
	return token, nil
}

// numberOf gives a number one form, however it is written. Below 2^53 a float64 tells all integers apart, and is
// what fractions are read into. Larger ones keep all their digits.
func numberOf(n json.Number) any {
	if v, err := n.Float64(); err == nil && math.Abs(v) < 1<<53 {
		return v
	}
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(n.String()), "e")
	power := 0
	if scientific {
		var err error
		if power, err = strconv.Atoi(exponent); err != nil {
			return n
		}
	}
	whole, part, _ := strings.Cut(mantissa, ".")
	digits, negative := strings.CutPrefix(whole+part, "-")
	short := strings.TrimRight(digits, "0")
	power += len(digits) - len(short) - len(part)
	short = strings.TrimLeft(short, "0")
	if negative {
		short = "-" + short
	}
	return json.Number(short + "e" + strconv.Itoa(power))
}
