// Package score judges pawl's findings by kernels that are slow for one known reason each: does the
// first finding name it, is it gone in the repaired twin, does the diff name it, and is the gain within
// the stated bound. It reads what was recorded on a GPU, so that it needs none.
package score

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/advice"
	"pawl/internal/profile"
)

// Row is a plant at one size, or a healthy kernel.
type Row struct {
	Face, Size, Cause, Set string
	First                  string   // the first finding; "": none
	Top                    []string // the first three
	Headroom               float64  // that the first finding claims
	Bound                  float64  // of the finding that names the cause; 0: there is none, or it has no bound
	Gain                   float64  // measured time over that of the twin; 0: not measured
	Twin                   string   // the twin's first finding
	TwinHeadroom           float64
	Paired                 bool // the twin was profiled
	Gone                   bool // the twin's first finding does not name the cause, or claims next to nothing
	Named                  bool // the diff names the cause
	Sentence               string
	Rule                   string // ncu's own first rule; "": it was not asked, or says nothing
	Ruled                  bool   // ncu was asked
	RuleNames              bool   // the rule names the cause
}

// Table is the outcome.
type Table struct {
	Rows    []Row
	Sets    map[string]Totals
	Missing []string // kernels of the key that were not profiled or not timed
	Wrong   []string // kernels whose answers differ from those of their twins
	Pending []string // faces that changed after the recording, and are not scored until they are recorded again
}

// claimed is the headroom from which on a finding of a healthy kernel is a false alarm.
const claimed = 0.1

type kernel struct{ name, size string }

// Plants reads key.csv and plan.txt of a folder and the recording in another, and judges.
func Plants(folder, recorded string) (*Table, error) {
	key, err := table(filepath.Join(folder, "key.csv"))
	if err != nil {
		return nil, err
	}
	work, err := readPlan(filepath.Join(folder, "plan.txt"))
	if err != nil {
		return nil, err
	}
	launches, err := table(filepath.Join(recorded, "launches.csv.gz"))
	if err != nil {
		return nil, err
	}
	times, err := table(filepath.Join(recorded, "times.csv.gz"))
	if err != nil {
		return nil, err
	}
	rules, err := table(filepath.Join(recorded, "rules.csv.gz"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	verified, err := table(filepath.Join(recorded, "verify.csv.gz"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	raw, err := read(filepath.Join(recorded, "raw.csv.gz"))
	if err != nil {
		return nil, err
	}
	file, err := profile.Read("raw.csv", raw)
	if err != nil {
		return nil, err
	}
	names := map[string]kernel{}
	for _, l := range launches {
		names[l["id"]] = kernel{l["kernel"], l["size"]}
	}
	profiles := map[kernel][]*profile.Profile{}
	for _, l := range file.Launches {
		k, known := names[l.ID]
		if !known {
			return nil, fmt.Errorf("launch %s of raw.csv is not in launches.csv", l.ID)
		}
		profiles[k] = append(profiles[k], profile.Of(l))
	}
	seconds, wall := map[kernel]float64{}, map[kernel]float64{}
	for _, t := range times {
		k := kernel{t["kernel"], t["size"]}
		launched := max(1, number(t["launches"]))
		seconds[k], wall[k] = number(t["median_us"])*1e-6/launched, number(t["wall_us"])*1e-6/launched
	}
	j := judge{profiles: profiles, work: work, seconds: seconds, wall: wall, catalogue: advice.Builtin()}
	made := &Table{Sets: map[string]Totals{}}
	pending, err := os.ReadFile(filepath.Join(recorded, "pending.txt"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	made.Pending = strings.Fields(string(pending))
	for _, v := range verified {
		if v["wrong"] != "0" {
			made.Wrong = append(made.Wrong, v["kernel"]+"/"+v["size"])
		}
	}
	total, first := launchesOf(times), firstRules(rules)
	for _, line := range key {
		if slices.Contains(made.Pending, line["face"]) {
			continue
		}
		for _, size := range []string{"small", "large"} {
			k := kernel{line["face"], size}
			row, ok := j.row(line, size, total)
			if !ok || row.Cause != "" && (row.Gain == 0 || !row.Paired) {
				made.Missing = append(made.Missing, k.name+"/"+size)
			}
			if !ok {
				continue
			}
			rule, ruled := first[k]
			row.Rule, row.Ruled = rule["rule"], ruled
			row.RuleNames = slices.Contains(strings.Fields(rule["causes"]), row.Cause)
			made.add(row)
		}
	}
	return made, nil
}

// firstRules returns what ncu's rules put first.
func firstRules(rules []map[string]string) map[kernel]map[string]string {
	first := map[kernel]map[string]string{}
	for _, r := range rules {
		if r["place"] == "1" {
			first[kernel{r["kernel"], r["size"]}] = r
		}
	}
	return first
}

// launchesOf returns how many launches a kernel has, and the time of all of them.
func launchesOf(times []map[string]string) map[kernel]float64 {
	total := map[kernel]float64{}
	for _, t := range times {
		total[kernel{t["kernel"], t["size"]}] = max(number(t["median_us"]), number(t["wall_us"])*float64(count(number(t["launches"]) > 1)))
	}
	return total
}

type judge struct {
	profiles      map[kernel][]*profile.Profile
	work          map[kernel]plan
	seconds, wall map[kernel]float64
	catalogue     *advice.Catalogue
}

func (j judge) side(k kernel) advice.Side {
	double, half := j.work[k].double, j.work[k].half
	e := advice.Evidence{Seconds: j.seconds[k], Flops: j.work[k].flops, Bytes: j.work[k].bytes, Double: &double, Half: &half, Launches: j.work[k].launches}
	if j.work[k].launches > 1 {
		e.Wall = j.wall[k]
		// ncu has profiled one launch of several: the declared work is that of all.
		e.Flops, e.Bytes = e.Flops/float64(j.work[k].launches), e.Bytes/float64(j.work[k].launches)
	}
	e.Profile = profile.Mean(j.profiles[k])
	e.Profile.Complete()
	return advice.Side{Evidence: e, Repeats: j.profiles[k]}
}

func (j judge) row(line map[string]string, size string, total map[kernel]float64) (Row, bool) {
	slow, fast := kernel{line["face"], size}, kernel{line["face"] + "_fixed", size}
	if len(j.profiles[slow]) == 0 {
		return Row{}, false
	}
	r := Row{Face: line["face"], Size: size, Cause: line["cause"], Set: line["set"]}
	mine := j.side(slow)
	said := j.catalogue.Judge(advice.Gather(mine.Evidence))
	for _, f := range said.Findings[:min(3, len(said.Findings))] {
		r.Top = append(r.Top, f.ID)
		if f.ID == r.Cause {
			r.Bound = f.Bound
		}
	}
	if len(said.Findings) > 0 {
		r.First, r.Headroom = said.Findings[0].ID, said.Findings[0].Headroom
	}
	if len(j.profiles[fast]) == 0 {
		return r, true
	}
	if total[slow] > 0 && total[fast] > 0 {
		r.Gain = total[slow] / total[fast]
	}
	theirs := j.side(fast)
	r.Paired = true
	other := j.catalogue.Judge(advice.Gather(theirs.Evidence))
	if len(other.Findings) > 0 {
		r.Twin, r.TwinHeadroom = other.Findings[0].ID, other.Findings[0].Headroom
	}
	r.Gone = r.Twin != r.Cause || r.TwinHeadroom <= claimed
	cause := j.catalogue.Explain(theirs, mine, r.Gain)
	r.Named, r.Sentence = cause.Finding != nil && cause.Finding.ID == r.Cause, cause.Sentence
	return r, true
}

// plan is what a plant declares.
type plan struct {
	flops, bytes float64
	launches     int
	double, half bool
}

// readPlan reads the lines of plan.txt that say what is declared.
func readPlan(file string) (map[kernel]plan, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	found := map[kernel]plan{}
	var now kernel
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		p := found[now]
		switch {
		case f[0] == "kernel" && len(f) >= 6:
			now = kernel{f[1], f[2]}
			p = plan{flops: number(f[4]), bytes: number(f[5])}
		case f[0] == "buffer":
			p.double, p.half = p.double || f[2] == "f64", p.half || f[2] == "f16" || f[2] == "bf16"
		case f[0] == "launch":
			p.launches++
		default:
			continue
		}
		found[now] = p
	}
	return found, nil
}

func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return v
}

// table reads a CSV file with a heading.
func table(file string) ([]map[string]string, error) {
	raw, err := read(file)
	if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
	if err != nil || len(lines) == 0 {
		return nil, fmt.Errorf("%s: no table: %w", file, err)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// read reads a file, unpacked where its name ends in .gz.
func read(file string) ([]byte, error) {
	raw, err := os.ReadFile(file)
	if err != nil || !strings.HasSuffix(file, ".gz") {
		return raw, err
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return io.ReadAll(z)
}
