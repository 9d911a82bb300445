package foreign

import (
	"fmt"
	"strings"
	"unicode"
)

var listUnits = map[string]float64{
	"s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
	"ms": 1e-3, "msec": 1e-3, "msecs": 1e-3, "millis": 1e-3, "millisec": 1e-3, "millisecs": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
	"us": 1e-6, "µs": 1e-6, "usec": 1e-6, "usecs": 1e-6, "micros": 1e-6, "microsec": 1e-6, "microsecs": 1e-6, "microsecond": 1e-6, "microseconds": 1e-6,
	"ns": 1e-9, "nsec": 1e-9, "nsecs": 1e-9, "nanos": 1e-9, "nanosec": 1e-9, "nanosecs": 1e-9, "nanosecond": 1e-9, "nanoseconds": 1e-9,
	"ps": 1e-12, "psec": 1e-12, "picosecond": 1e-12, "picoseconds": 1e-12,
	"minute": 60, "minutes": 60, "mins": 60, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600,
}

// unitPrefixes stand before a word for seconds: "micro seconds".
var unitPrefixes = map[string]float64{"milli": 1e-3, "micro": 1e-6, "µ": 1e-6, "nano": 1e-9, "pico": 1e-12}

// unclearUnits may be units; the values say what else they may mean.
var unclearUnits = map[string]string{
	"min": "minutes or the minimum", "m": "minutes or something else", "h": "hours or something else",
	"ks": "thousands of seconds", "cs": "hundredths of a second", "ds": "tenths of a second",
	"milli": "thousandths of a second", "micro": "millionths of a second", "nano": "billionths of a second", "pico": "picoseconds",
	"day": "days", "days": "days", "jiffies": "jiffies",
}

// timeWords are headings of times, in whatever unit.
var timeWords = words(`time times duration durations latency latencies elapsed runtime walltime cputime realtime wall real cpu gpu user sys kernel
	t dt value values sample samples mean median avg average min max best worst minimum maximum total result results p50 p90 p95 p99`)

// notTimes are headings of values that grow when a benchmark gets faster, or that are no duration
// at all.
var notTimes = words(`cycle cycles tick ticks clk clks clock clocks hz khz mhz ghz fps qps rps tps ips iops ops throughput bandwidth rate speed speedup score
	flops kflops mflops gflops tflops bps kbps mbps gbps bytes b kb mb gb tb kib mib gib tib iteration iterations iters count percent
	timestamp date datetime epoch watt watts joule joules energy power temperature`)

func words(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(text) {
		out[w] = true
	}
	return out
}

// Unit returns the seconds that a unit's name stands for, 0 when it is none.
func Unit(name string) float64 { return listUnits[unitSpelling(name)] }

func unitSpelling(word string) string { return strings.ReplaceAll(strings.ToLower(word), "μ", "µ") }

// headingWord is a word or number of a heading, and what stands before it.
type headingWord struct {
	text   string
	gap    string
	number bool
}

// headingWords splits at everything but letters and digits, between these two, and
// before the capitals of camelCase.
func headingWords(heading string) (out []headingWord, rest string) {
	runes := []rune(heading)
	for i := 0; i < len(runes); {
		from := i
		for i < len(runes) && !unicode.IsLetter(runes[i]) && !unicode.IsDigit(runes[i]) {
			i++
		}
		gap := string(runes[from:i])
		if i == len(runes) {
			return out, gap
		}
		from = i
		number := unicode.IsDigit(runes[i])
		for i++; i < len(runes); i++ {
			r := runes[i]
			inside := unicode.IsLetter(r) && !(unicode.IsUpper(r) && unicode.IsLower(runes[i-1])) || strings.ContainsRune("'’", r)
			if number && !unicode.IsDigit(r) || !number && !inside {
				break
			}
		}
		out = append(out, headingWord{unitSpelling(string(runes[from:i])), gap, number})
	}
	return out, ""
}

// headingUnit finds the unit of the times below a heading, in seconds: time_ms, "time (ns) median",
// ms_per_iter, elapsedMillis. It is 0 for a heading without one. problem says why a heading cannot
// be understood; unclear means that it only lacks a unit, which the user may give.
func headingUnit(heading string) (unit float64, problem string, unclear bool) {
	list, rest := headingWords(heading)
	var named, about string
	timed, other := false, ""
	for i, w := range list {
		following := rest
		if i+1 < len(list) {
			following = list[i+1].gap
		}
		switch {
		case timeWords[w.text]:
			timed = true
		case notTimes[w.text] && other == "":
			other = w.text
		}
		if moment := w.text == "timestamp" || w.text == "datetime" || w.text == "epoch"; moment {
			return 0, fmt.Sprintf("%q heads moments; expected durations", heading), false
		}
		v, name := wordUnit(list, i)
		if v == 0 {
			if what := unclearUnits[w.text]; what != "" && about == "" && !(i+1 < len(list) && unitPrefixes[w.text] != 0 && isSeconds(list[i+1].text)) {
				about = what
			}
			continue
		}
		if why := notPlain(list, i, following); why != "" {
			return 0, fmt.Sprintf("%q heads %s; expected times in a unit such as ms", heading, why), false
		}
		if unit != 0 && unit != v {
			return 0, fmt.Sprintf("%q names two units, %s and %s", heading, named, name), false
		}
		unit, named = v, name
	}
	switch {
	case unit != 0:
		return unit, "", false
	case other != "" && !timed:
		return 0, fmt.Sprintf("%q heads %s; expected times", heading, other), false
	case about != "":
		return 0, fmt.Sprintf("%q may mean %s; expected a unit such as ms", heading, about), true
	}
	last := len(list) - 1
	if size := last > 0 && list[last-1].number && list[last].gap == ""; timed && !size && !list[last].number && !timeWords[list[last].text] {
		return 0, fmt.Sprintf("%q ends in %s, which is no known unit; expected one such as ms", heading, list[last].text), true
	}
	return 0, "", false
}

// wordUnit returns the unit that a word of a heading names, with its prefix if that is a separate
// word, or after a time word that it was joined to: timems.
func wordUnit(list []headingWord, i int) (unit float64, name string) {
	w := list[i].text
	if isSeconds(w) && i > 0 {
		if prefix := unitPrefixes[list[i-1].text]; prefix != 0 {
			return prefix, list[i-1].text + w
		}
	}
	if v := listUnits[w]; v != 0 {
		return v, w
	}
	for at := range w {
		if v := listUnits[w[at:]]; v != 0 && w[at:] != "s" && len(w[:at]) > 1 && timeWords[w[:at]] {
			return v, w[at:]
		}
	}
	return 0, ""
}

func isSeconds(word string) bool { return listUnits[word] == 1 }

// notPlain says why the unit in a heading is not that of its times: it counts something per second,
// or a multiple of the unit.
func notPlain(list []headingWord, i int, following string) string {
	const rate = "a rate, which grows as times fall"
	if strings.HasPrefix(following, "^") || strings.HasPrefix(following, "⁻") {
		return rate
	}
	if i == 0 {
		return ""
	}
	before := list[i-1]
	slash := strings.Contains(list[i].gap, "/")
	switch {
	case before.text == "per" && (i < 2 || !timeWords[list[i-2].text]), slash && (before.number || !timeWords[before.text]):
		return rate
	case before.number && strings.Trim(list[i].gap, " *·") == "" && (i == 1 || before.gap != ""):
		return "multiples of a unit"
	}
	return ""
}
