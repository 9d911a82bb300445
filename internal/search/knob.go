package search

import (
	"os"
	"strconv"
	"strings"
)

var knobs = func() map[string]float64 {
	m := map[string]float64{}
	for _, kv := range strings.Split(os.Getenv("KNOBS"), ",") {
		if k, v, ok := strings.Cut(kv, "="); ok {
			f, _ := strconv.ParseFloat(v, 64)
			m[k] = f
		}
	}
	return m
}()

func knob(name string, def float64) float64 {
	if v, ok := knobs[name]; ok {
		return v
	}
	return def
}

var temper = knob("temper", 1)
