package recorded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"pawl/internal/formula"
	"pawl/internal/space"
)

// failedMS is what old versions of Kernel Tuner write as the time of a setting that failed.
const failedMS = 1e20

// closed ends a cache file whose run was interrupted: Kernel Tuner writes the last brackets when it ends.
func closed(text []byte) []byte {
	if t := bytes.TrimRight(text, " \t\r\n"); bytes.HasSuffix(t, []byte(",")) {
		return append(t[:len(t)-1:len(t)-1], "}}"...)
	}
	return text
}

type cacheHead struct {
	Device string                       `json:"device_name"`
	Kernel string                       `json:"kernel_name"`
	Keys   []string                     `json:"tune_params_keys"`
	Values map[string][]json.RawMessage `json:"tune_params"`
}

func readCache(text []byte, cache json.RawMessage, file, name string) (*Space, error) {
	var head cacheHead
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, badJSON(file, text, 0, err)
	}
	b := newBuilder(file)
	if n := len(head.Keys); n == 0 || n > maxParams {
		return nil, b.wrong("tune_params_keys: %d names: expected 1 to %d", n, maxParams)
	}
	for i, param := range head.Keys {
		if err := b.param(param); err != nil {
			return nil, err
		}
		for j, raw := range head.Values[param] {
			v, err := value(raw)
			if err != nil {
				return nil, b.wrong("tune_params.%s[%d]: %v", param, j, err)
			}
			if err := b.value(i, v); err != nil {
				return nil, err
			}
		}
	}
	// Read in its order, which a map would lose: it numbers the settings.
	d := json.NewDecoder(bytes.NewReader(cache))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, b.wrong("cache: expected an object of settings")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, b.wrong("cache: %v", err)
		}
		var entry map[string]json.RawMessage
		if err := d.Decode(&entry); err != nil {
			return nil, b.wrong("cache[%q]: expected an object: %v", key, err)
		}
		if err := b.entry(fmt.Sprintf("cache[%q]", key), entry); err != nil {
			return nil, err
		}
	}
	if head.Kernel != "" && head.Device != "" {
		name = head.Kernel + "-" + head.Device
	}
	return b.space(name, nil), nil
}

// entry adds a setting of a cache file.
func (b *builder) entry(place string, entry map[string]json.RawMessage) error {
	p := make(space.Point, len(b.s.params))
	for i, param := range b.s.params {
		raw, found := entry[param.Name]
		if !found {
			return b.wrong("%s: param %s is missing", place, param.Name)
		}
		v, err := value(raw)
		if err != nil {
			return b.wrong("%s.%s: %v", place, param.Name, err)
		}
		at, known := b.find(i, v)
		if !known {
			// Also files without tune_params, and those whose values were changed between two runs.
			if err := b.value(i, v); err != nil {
				return err
			}
			at = b.values[i][v]
		}
		p[i] = at
	}
	if len(b.s.points) >= maxSettings {
		return b.wrong("cache: expected at most %d settings", maxSettings)
	}
	ms, err := b.time(place, entry)
	if err != nil {
		return err
	}
	cost := 0.0
	for _, part := range []string{"compile_time", "benchmark_time", "verification_time"} {
		var spent float64
		if json.Unmarshal(entry[part], &spent) == nil && spent > 0 {
			cost += spent / 1e3
		}
	}
	return b.setting(p, ms, cost, place)
}

// time returns the milliseconds of a setting, NaN where it failed: it has the name of an error, for its
// time in old versions of Kernel Tuner.
func (b *builder) time(place string, entry map[string]json.RawMessage) (float64, error) {
	raw, found := entry["time"]
	if _, failed := entry["__error__"]; failed {
		return math.NaN(), nil
	}
	var ms *float64
	switch err := json.Unmarshal(raw, &ms); {
	case !found:
		return 0, b.wrong("%s: time is missing", place)
	case err != nil || ms == nil || *ms >= failedMS:
		return math.NaN(), nil
	case !(*ms > 0):
		return 0, b.wrong("%s.time: %v: expected milliseconds above 0, or the name of an error", place, *ms)
	}
	return *ms, nil
}

// find returns the index of a value, also where the file writes 4.0 for 4 in one of two places.
func (b *builder) find(param int, v formula.Value) (uint16, bool) {
	if at, ok := b.values[param][v]; ok {
		return at, true
	}
	f, isNumber := v.Float()
	if !isNumber {
		return 0, false
	}
	if at, ok := b.values[param][formula.Float(f)]; ok {
		return at, true
	}
	at, ok := b.values[param][formula.Int(int64(f))]
	return at, ok && f == math.Trunc(f)
}
