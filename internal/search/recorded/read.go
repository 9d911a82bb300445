package recorded

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/formula"
)

// A recording that is larger than this is not one of a tuning space.
const (
	maxBytes    = 1 << 29 // unpacked
	maxParams   = 256
	maxValues   = math.MaxUint16
	maxSettings = 4 << 20
)

// ReadFile reads a recording: a compact one, or a cache file of Kernel Tuner, either of them packed by
// gzip or plain.
func ReadFile(path string) (*Space, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the recorded space: %w", err)
	}
	defer f.Close()
	return Read(f, path)
}

// Read reads a recording. The name of its file is for errors, and for a recording that does not name
// itself.
func Read(r io.Reader, file string) (*Space, error) {
	text, err := unpack(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var kind struct {
		Configs json.RawMessage `json:"configs"`
		Cache   json.RawMessage `json:"cache"`
	}
	text = closed(text)
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, badJSON(file, text, 0, err)
	}
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".gz"), ".json")
	switch {
	case kind.Configs != nil:
		return readCompact(text, file, base)
	case kind.Cache != nil:
		return readCache(text, kind.Cache, file, base)
	}
	return nil, fmt.Errorf(`%s: no recorded space: expected "params", "values", "configs" and "time", or a cache file of Kernel Tuner with "cache"`, file)
}

func unpack(r io.Reader) ([]byte, error) {
	in := bufio.NewReader(r)
	var from io.Reader = in
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		packed, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		from = packed
	}
	text, err := io.ReadAll(io.LimitReader(from, maxBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxBytes:
		return nil, fmt.Errorf("more than %d MiB of text: expected one recorded space", maxBytes>>20)
	}
	return text, nil
}

// badJSON gives an error of the decoder its place. The text begins at an offset of the file.
func badJSON(file string, text []byte, offset int64, err error) error {
	syntax, isSyntax := errors.AsType[*json.SyntaxError](err)
	kind, isKind := errors.AsType[*json.UnmarshalTypeError](err)
	const hint = "recorded spaces are described in docs/tuning.md"
	switch {
	case isSyntax:
		return diag.At(file, string(text), int(offset+syntax.Offset)-1, "not JSON: "+syntax.Error(), hint)
	case isKind:
		message := "unexpected " + kind.Value
		if kind.Field != "" {
			message += " in " + kind.Field
		}
		return diag.At(file, string(text), int(offset+kind.Offset)-1, message, hint)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// compact is a recording in few bytes: settings are indexes of values.
type compact struct {
	Name        string              `json:"name"`
	Params      []string            `json:"params"`
	Values      [][]json.RawMessage `json:"values"`
	Configs     [][]uint16          `json:"configs"`
	Time        []*float64          `json:"time"`
	CostS       []*float64          `json:"cost_s"`
	Constraints []string            `json:"constraints"`
}

func readCompact(text []byte, file, name string) (*Space, error) {
	var c compact
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, badJSON(file, text, 0, err)
	}
	wrong := func(format string, args ...any) (*Space, error) {
		return nil, fmt.Errorf("%s: %s", file, fmt.Sprintf(format, args...))
	}
	switch {
	case len(c.Params) == 0 || len(c.Params) > maxParams:
		return wrong("params: %d names: expected 1 to %d", len(c.Params), maxParams)
	case len(c.Values) != len(c.Params):
		return wrong("values: %d lists for %d params: expected one for each", len(c.Values), len(c.Params))
	case len(c.Configs) > maxSettings:
		return wrong("configs: %d settings: expected at most %d", len(c.Configs), maxSettings)
	case len(c.Time) != len(c.Configs):
		return wrong("time: %d times for %d configs: expected one for each, null where it failed", len(c.Time), len(c.Configs))
	case c.CostS != nil && len(c.CostS) != len(c.Configs):
		return wrong("cost_s: %d costs for %d configs: expected one for each", len(c.CostS), len(c.Configs))
	}
	b := newBuilder(file)
	for i, param := range c.Params {
		if err := b.param(param); err != nil {
			return nil, err
		}
		for j, raw := range c.Values[i] {
			v, err := value(raw)
			if err != nil {
				return wrong("values[%d][%d]: %v", i, j, err)
			}
			if err := b.value(i, v); err != nil {
				return nil, err
			}
		}
	}
	for i, config := range c.Configs {
		if len(config) != len(c.Params) {
			return wrong("configs[%d]: %d indexes: expected one for each of %d params", i, len(config), len(c.Params))
		}
		for j, v := range config {
			if n := len(c.Values[j]); int(v) >= n {
				return wrong("configs[%d][%d]: %d: expected an index of the %d values of %s", i, j, v, n, c.Params[j])
			}
		}
		ms, cost := math.NaN(), 0.0
		if c.Time[i] != nil {
			if ms = *c.Time[i]; !(ms > 0) {
				return wrong("time[%d]: %v: expected milliseconds above 0, or null where the config failed", i, ms)
			}
		}
		if c.CostS != nil && c.CostS[i] != nil {
			cost = *c.CostS[i]
		}
		if err := b.setting(config, ms, cost, fmt.Sprintf("configs[%d]", i)); err != nil {
			return nil, err
		}
	}
	if c.Name != "" {
		name = c.Name
	}
	return b.space(name, c.Constraints), nil
}

// value reads a value of a param: a number, a text, or true or false.
func value(raw json.RawMessage) (formula.Value, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return formula.Value{}, err
	}
	switch v := v.(type) {
	case bool:
		return formula.Bool(v), nil
	case string:
		return formula.String(v), nil
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return formula.Int(i), nil
		}
		f, err := v.Float64()
		if err != nil {
			return formula.Value{}, fmt.Errorf("%s: expected a number that fits 64 bits", v)
		}
		return formula.Float(f), nil
	}
	return formula.Value{}, fmt.Errorf("%s: expected a number, a text, true or false", raw)
}
