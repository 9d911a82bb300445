package claim

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"pawl/internal/pattern"
	"pawl/internal/result"
)

// Bounds of a sample, in seconds: less than a clock tells apart, and more than any launch may take.
const (
	sampleLeast = 1e-10
	sampleMost  = 24 * 3600
)

var runID = pattern.New(`^[A-Za-z0-9_-]{0,64}$`)

// clockSkew is how far the clock of the machine that measured may be ahead.
const clockSkew = 5 * time.Minute

// checkValues refuses reports with values that no check writes, before anybody computes with them.
func (a *admission) checkValues() error {
	r := a.report
	no := func(place, format string, args ...any) error { return refuse(a.file, place, format, args...) }
	if late, place := latest(reflect.ValueOf(r), ""); late.After(a.Now.Add(clockSkew)) {
		return no(place, "the time %s is in the future", late.Format(time.RFC3339))
	}
	if r.Started.IsZero() || r.Finished.Before(r.Started) {
		return no("finished", "the run ends at %s, and begins at %s", r.Finished.Format(time.RFC3339), r.Started.Format(time.RFC3339))
	}
	if !runID.MatchString(r.ID) { // it becomes a part of commit messages
		return no("id", "expected the letters, digits and - of a run, got %s", shown(r.ID))
	}
	seen := map[string]int{}
	for i, row := range r.Rows {
		place := fmt.Sprintf("rows[%d]", i)
		if first, twice := seen[row.Name()]; twice {
			return no(place, "the row %s is there twice, first as rows[%d]", shown(row.Name()), first)
		}
		seen[row.Name()] = i
		if err := checkRow(row, place, no); err != nil {
			return err
		}
		roles := map[result.Role]bool{}
		for j, side := range row.Sides {
			at := fmt.Sprintf("%s.sides[%d]", place, j)
			switch {
			case side.Role != result.Base && side.Role != result.Best:
				return no(at+".role", "expected base or best, got %s", shown(string(side.Role)))
			case roles[side.Role]:
				return no(at+".role", "the side %s is there twice", side.Role)
			case side.Row != nil && (len(side.Row.Sides) > 0 || len(side.Row.Rivals) > 0):
				return no(at+".row", "a side has no sides of its own")
			}
			roles[side.Role] = true
			if side.Row != nil {
				if err := checkRow(side.Row, at+".row", no); err != nil {
					return err
				}
			}
		}
		if len(row.Rivals) > 0 {
			return no(place+".rivals", "the rows of a check have no rivals")
		}
	}
	return nil
}

// checkRow refuses samples that no clock gives.
func checkRow(row *result.Row, place string, no func(string, string, ...any) error) error {
	t := row.Timing
	if t == nil {
		return nil
	}
	at := place + ".timing.samples"
	s := &t.Samples
	for i, v := range s.Seconds {
		if !(v >= sampleLeast && v <= sampleMost) {
			return no(fmt.Sprintf("%s.seconds[%d]", at, i), "a sample of %g s; expected %g to %d s", v, sampleLeast, sampleMost)
		}
	}
	if len(s.GHz) != 0 && len(s.GHz) != len(s.Seconds) {
		return no(at+".ghz", "%d clocks of %d samples", len(s.GHz), len(s.Seconds))
	}
	for i, v := range s.GHz {
		if !(v >= 0 && v < 100) {
			return no(fmt.Sprintf("%s.ghz[%d]", at, i), "a clock of %g GHz; expected 0 to 100", v)
		}
	}
	next := 0
	for i, f := range s.Fresh {
		if f.At < next || f.At >= len(s.Seconds) {
			return no(fmt.Sprintf("%s.fresh[%d].at", at, i), "sample %d of %d, after %d", f.At, len(s.Seconds), next)
		}
		next = f.At + 1
	}
	if t.Repeat < 1 || t.Repeat > 1<<20 {
		return no(place+".timing.repeat", "expected 1 to %d launches, got %d", 1<<20, t.Repeat)
	}
	return nil
}

// latest finds the latest time in a value, with its place.
func latest(v reflect.Value, place string) (found time.Time, where string) {
	take := func(inner reflect.Value, at string) {
		if t, place := latest(inner, at); t.After(found) {
			found, where = t, place
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return latest(v.Elem(), place)
		}
	case reflect.Slice:
		if kind := v.Type().Elem().Kind(); kind != reflect.Struct && kind != reflect.Pointer {
			return found, where
		}
		for i := range v.Len() {
			take(v.Index(i), fmt.Sprintf("%s[%d]", place, i))
		}
	case reflect.Struct:
		if t, ok := v.Interface().(time.Time); ok {
			return t, place
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			take(v.Field(i), strings.TrimPrefix(place+"."+name, "."))
		}
	}
	return found, where
}

// disarm replaces characters that a terminal or a page would obey, in every text of the report.
// Lines and tabs stay.
func disarm(r *result.Report) { disarmValue(reflect.ValueOf(r)) }

func disarmValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			disarmValue(v.Elem())
		}
	case reflect.String:
		if text := v.String(); strings.ContainsFunc(text, hostile) {
			v.SetString(harmless(text))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Float64 {
			return
		}
		for i := range v.Len() {
			disarmValue(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem() // what lies in a map cannot be changed in its place
			value.Set(v.MapIndex(key))
			disarmValue(value)
			if key.Kind() == reflect.String {
				v.SetMapIndex(key, reflect.Value{})
				key = reflect.ValueOf(harmless(key.String())).Convert(key.Type())
			}
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			disarmValue(v.Field(i))
		}
	}
}

func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if hostile(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, text)
}
