package claim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"pawl/internal/result"
	"pawl/internal/unit"
)

// decode reads a report within limits. Every error names the place in the report.
func decode(file string, raw []byte, limits Limits) (*result.Report, error) {
	s := &scanner{raw: raw, limits: limits}
	if err := s.document(); err != nil {
		return nil, refuse(file, s.place(), "%v", err)
	}
	report, err := result.Decode(raw)
	if err != nil {
		return nil, refuse(file, "", "%v", err)
	}
	return report, nil
}

// scanner walks over JSON without making values of it, beside the type that it will be decoded to.
// It does not check the grammar of numbers and literals: the decoder does.
type scanner struct {
	raw    []byte
	at     int
	limits Limits
	values int
	memory int // of what was scanned, once it is decoded
	path   []step
}

// step is a key or an index.
type step struct {
	key   string
	index int
}

// place names the value that the scanner is at: rows[3].timing.samples.seconds[17].
func (s *scanner) place() string {
	var out strings.Builder
	for _, p := range s.path {
		if p.key == "" {
			out.WriteString("[" + strconv.Itoa(p.index) + "]")
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('.')
		}
		if name := strconv.QuoteToASCII(p.key); len(name) == len(p.key)+2 && !strings.ContainsAny(p.key, ". []") {
			out.WriteString(p.key)
		} else {
			out.WriteString(shown(p.key))
		}
	}
	return out.String()
}

func (s *scanner) document() error {
	if !utf8.Valid(s.raw) {
		return fmt.Errorf("it is not UTF-8")
	}
	if err := s.value(reflect.TypeFor[result.Report](), 0); err != nil {
		return err
	}
	if s.space(); s.at < len(s.raw) {
		return fmt.Errorf("byte %d: the report has ended, and more follows", s.at)
	}
	return nil
}

func (s *scanner) space() {
	for s.at < len(s.raw) && strings.IndexByte(" \t\r\n", s.raw[s.at]) >= 0 {
		s.at++
	}
}

// next skips space and returns the next byte; 0 at the end.
func (s *scanner) next() byte {
	if s.space(); s.at < len(s.raw) {
		return s.raw[s.at]
	}
	return 0
}

func (s *scanner) unexpected(expected string) error {
	if s.at >= len(s.raw) {
		return fmt.Errorf("the report ends at byte %d; expected %s", s.at, expected)
	}
	return fmt.Errorf("byte %d is %q; expected %s", s.at, s.raw[s.at], expected)
}

// value skips one value of a type; nil: nothing is known of it.
func (s *scanner) value(t reflect.Type, depth int) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s.values++; s.values > s.limits.Values {
		return fmt.Errorf("the report has more than %d values", s.limits.Values)
	}
	if depth > s.limits.Depth {
		return fmt.Errorf("values are nested more than %d deep", s.limits.Depth)
	}
	if err := s.holds(t); err != nil {
		return err
	}
	switch c := s.next(); {
	case c == '{':
		return s.object(t, depth)
	case c == '[':
		return s.list(t, depth)
	case c == '"':
		_, err := s.text(s.limits.Text)
		return err
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(s.raw[s.at:], []byte(word)) {
			s.at += len(word)
			return nil
		}
	}
	return s.unexpected("a value")
}

// holds counts the memory that a value of a type takes. Two characters can stand for a struct of many
// fields, so that neither the size of a report nor its number of values bounds that.
func (s *scanner) holds(t reflect.Type) error {
	if t == nil {
		return nil // the decoder drops it
	}
	const pointer = 8
	if s.memory += int(t.Size()) + pointer; s.memory > s.limits.Memory {
		return fmt.Errorf("the report would take more than %s of memory", unit.Bytes(int64(s.limits.Memory)))
	}
	return nil
}

func (s *scanner) number() error {
	from := s.at
	for s.at < len(s.raw) && strings.IndexByte("+-.eE0123456789", s.raw[s.at]) >= 0 {
		s.at++
	}
	if n := s.at - from; n > s.limits.Number {
		return fmt.Errorf("a number has %d characters; at most %d are read", n, s.limits.Number)
	}
	return nil
}

// text skips a string and returns it as it stands there, without quotes.
func (s *scanner) text(most int) ([]byte, error) {
	from := s.at + 1
	for s.at = from; s.at < len(s.raw); s.at++ {
		switch s.raw[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return s.raw[from : s.at-1], nil
		}
		if s.at-from > most {
			return nil, fmt.Errorf("a text is longer than %s", unit.Bytes(int64(most)))
		}
	}
	return nil, s.unexpected(`"`)
}

// keyMost is the longest key that is read.
const keyMost = 256

func (s *scanner) object(t reflect.Type, depth int) error {
	names, elements := fieldsOf(t)
	seen := map[string]bool{}
	s.at++
	for s.next() != '}' {
		if len(seen) > 0 {
			if s.next() != ',' {
				return s.unexpected("a comma or }")
			}
			s.at++
		}
		if s.next() != '"' {
			return s.unexpected("a key")
		}
		quoted := s.at
		if _, err := s.text(keyMost); err != nil {
			return fmt.Errorf("a key: %w", err)
		}
		var key string
		if err := json.Unmarshal(s.raw[quoted:s.at], &key); err != nil {
			return fmt.Errorf("a key: %w", err)
		}
		of, known := names[key]
		switch {
		case seen[key]:
			return fmt.Errorf("the key %s is there twice", shown(key))
		case len(seen) >= s.limits.Rows:
			return fmt.Errorf("an object has more than %d keys", s.limits.Rows)
		case names == nil:
			of = elements
		case !known:
			for name := range names {
				if strings.EqualFold(name, key) {
					return fmt.Errorf("the key %s differs from %q by case only", shown(key), name)
				}
			}
		}
		seen[key] = true
		if s.next() != ':' {
			return s.unexpected("a colon")
		}
		s.at++
		s.path = append(s.path, step{key: key})
		if err := s.value(of, depth+1); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
	}
	s.at++
	return nil
}

func (s *scanner) list(t reflect.Type, depth int) error {
	var of reflect.Type
	if t != nil && t.Kind() == reflect.Slice {
		of = t.Elem()
	}
	most, what := s.limits.List, "values"
	if of == reflect.TypeFor[*result.Row]() {
		most, what = s.limits.Rows, "rows"
	}
	s.at++
	for n := 0; s.next() != ']'; n++ {
		if n > 0 {
			if s.next() != ',' {
				return s.unexpected("a comma or ]")
			}
			s.at++
		}
		if n >= most {
			return fmt.Errorf("the list has more than %d %s", most, what)
		}
		s.path = append(s.path, step{index: n})
		if err := s.value(of, depth+1); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
	}
	s.at++
	return nil
}

// fieldsOf returns the keys of a type with the types of their values, or the type of a map's values.
func fieldsOf(t reflect.Type) (names map[string]reflect.Type, elements reflect.Type) {
	switch {
	case t == nil || t == reflect.TypeFor[time.Time]():
		return nil, nil
	case t.Kind() == reflect.Map:
		return nil, t.Elem()
	case t.Kind() != reflect.Struct:
		return nil, nil
	}
	if known, ok := fields()[t]; ok {
		return known, nil
	}
	return namesOf(t), nil
}

func namesOf(t reflect.Type) map[string]reflect.Type {
	names := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names[name] = f.Type
		}
	}
	return names
}

// fields has the keys of every object of a report.
var fields = sync.OnceValue(func() map[reflect.Type]map[string]reflect.Type {
	all := map[reflect.Type]map[string]reflect.Type{}
	var add func(reflect.Type)
	add = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			add(t.Elem())
		case reflect.Struct:
			if _, known := all[t]; known || t == reflect.TypeFor[time.Time]() {
				return
			}
			all[t] = namesOf(t)
			for _, of := range all[t] {
				add(of)
			}
		}
	}
	add(reflect.TypeFor[result.Report]())
	return all
})
