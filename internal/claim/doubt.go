package claim

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/spec"
	"pawl/internal/unit"
	"pawl/internal/verify"
)

// Implausible marks a row whose numbers nobody can have measured as the report says. It is no proof:
// such a row is suspicious, and never passes a strict check.
const Implausible = "implausible"

// doubt adds findings to rows that are not plausible, and what the row's own clocks reveal. Nothing
// is ever taken back.
func (a *admission) doubt() {
	all := a.series()
	elapsed := a.report.Finished.Sub(a.report.Started).Seconds()
	copies := copied(all)
	total := 0.0
	for i, s := range all {
		row, t := s.row, s.timing
		suspect := func(format string, args ...any) {
			suspectRow(row, result.Finding{Exploit: Implausible, Severity: result.Suspicious, Message: s.whose() + fmt.Sprintf(format, args...)})
		}
		if same := copies[i]; same != nil {
			suspect("the same samples in the same order are there twice: also of %s", same.name())
		}
		if n := len(t.Samples.Seconds); n >= evenLeast && distinct(t.Samples.Seconds) == 1 {
			suspect("all %d samples are %s: no machine is that even", n, unit.Duration(t.Samples.Seconds[0]))
		}
		spent := 0.0
		for _, v := range t.Samples.Seconds {
			spent += v * float64(t.Repeat)
		}
		total += spent
		if most := min(t.WallS, elapsed) + wallSlack; spent > most {
			suspect("its samples add up to %s, but it was measured for %s", unit.Duration(spent), unit.Duration(min(t.WallS, elapsed)))
		}
		if !t.FirstSample.IsZero() && (t.FirstSample.Before(a.report.Started.Add(-clockSkew)) || t.FirstSample.After(a.report.Finished.Add(clockSkew))) {
			suspect("its first sample was taken at %s, outside of the run", t.FirstSample.Format("2006-01-02 15:04:05"))
		}
	}
	if lanes := a.lanes(); len(all) > 0 && total > elapsed*float64(lanes)+wallSlack {
		suspectRow(all[0].row, result.Finding{Exploit: Implausible, Severity: result.Suspicious, Message: fmt.Sprintf("all samples of the report add up to %s, but it took %s", unit.Duration(total), unit.Duration(elapsed))})
	}
	for _, row := range a.report.Rows {
		a.doubtRow(row)
	}
}

const (
	evenLeast = 30    // samples that cannot all be equal
	wallSlack = 0.005 // seconds by which clocks may differ
)

// lanes returns how many rows may have been measured at the same time.
func (a *admission) lanes() int {
	devices := map[string]bool{}
	for _, row := range a.report.Rows {
		devices[row.Device] = true
	}
	lanes := max(1, len(devices))
	for _, pool := range a.Base.Pools {
		lanes += pool.Workers
	}
	return lanes
}

// suspectRow adds a finding to a row, once.
func suspectRow(row *result.Row, f result.Finding) {
	if row.Verification == nil {
		row.Verification = &result.Verification{Integrity: result.Clean}
	}
	if v := row.Verification; !slices.ContainsFunc(v.Findings, func(other result.Finding) bool { return other.Exploit == f.Exploit && other.Message == f.Message }) {
		v.Suspect(f)
	}
}

// doubtRow looks at one row for what a check would have said of it.
func (a *admission) doubtRow(row *result.Row) {
	if row.Verdict == result.Unchanged || row.Verdict == result.Incorrect || row.Fault != nil {
		return
	}
	suspect := func(exploit, format string, args ...any) {
		suspectRow(row, result.Finding{Exploit: exploit, Severity: result.Suspicious, Message: fmt.Sprintf(format, args...)})
	}
	kernel, config := a.judges(row)
	if t := row.Timing; t != nil {
		var others []verify.Opponent
		for _, side := range row.Sides {
			if row.Play != nil && slices.Contains(row.Play.Sides, side.Role) && side.Row != nil {
				others = append(others, verify.Opponent{Timing: side.Row.Timing, Change: side.Change})
			}
		}
		for _, f := range verify.OfTiming(t, a.report.Method.Cache, others) {
			if v := row.Verification; v == nil || !slices.ContainsFunc(v.Findings, func(known result.Finding) bool { return known.Exploit == f.Exploit }) {
				suspectRow(row, f)
			}
		}
		if over := a.overRoof(row, kernel, config); over != "" {
			suspect(verify.InflatedWork, "%s", over)
		}
	}
	if kernel == nil || kernel.Oracle == nil {
		return
	}
	if v := row.Verification; v == nil || v.Passed == 0 {
		suspect(Implausible, "no answer was verified, but the base's pawl.yaml has an oracle")
		return
	}
	for _, c := range row.Verification.Cases {
		for _, o := range c.Outputs {
			if tol := kernel.Tolerance; tol.Rival == nil && (o.Rtol > tol.Rtol*(1+rounding) || o.Atol > tol.Atol*(1+rounding)) {
				suspect(Implausible, "answers were verified with atol %g, rtol %g; the base's pawl.yaml has atol %g, rtol %g", o.Atol, o.Rtol, tol.Atol, tol.Rtol)
				return
			}
		}
	}
}

// judges returns the kernel and config that judge a row: the base's, else the change's.
func (a *admission) judges(row *result.Row) (*spec.Kernel, *spec.Config) {
	base := a.rules.Kernel(row.Kernel)
	head := a.Head.Kernel(row.Kernel)
	config := base.Config(row.Config)
	if config == nil {
		config = head.Config(row.Config)
	}
	if base != nil {
		return base, config
	}
	return head, config
}

// overRoof says by how much a row is faster than its device class can be; "": it is not, or nobody
// knows.
func (a *admission) overRoof(row *result.Row, kernel *spec.Kernel, config *spec.Config) string {
	folder := a.Peaks
	if folder == "" {
		folder = filepath.Join(a.Base.Dir, ".pawl", "peaks")
	}
	peaks, err := roof.Load(folder, row.Class)
	if err != nil || peaks == nil || kernel == nil || config == nil || !(row.Timing.Median() > 0) {
		return ""
	}
	in, err := kernel.Default().At(config)
	if err != nil {
		return ""
	}
	cores := 1
	for _, l := range in.Launches {
		cores = max(cores, l.Threads)
	}
	cell, seconds := peaks.Cell, row.Timing.Median()
	if cell != spec.CellHost {
		cores = 1
	}
	n := float64(cores)
	bound, known := peaks.Bind(roof.Work{
		GBps: in.Bytes / seconds / 1e9 / n, GFLOPS: in.Flops / seconds / 1e9 / n, Seconds: seconds, GHz: row.Timing.Stats.GHz,
		Footprint: in.Footprint / int64(cores), Caches: roof.Caches(cell, a.report.Machine), Float: roof.Float(in),
	})
	if !known || cell != spec.CellHost && !bound.Over() || cell == spec.CellHost && !bound.Beyond() {
		return ""
	}
	return fmt.Sprintf("%s of the roof: the kernel would do %s", unit.PercentPlain(bound.Fraction), bound)
}

// series is the samples of a row, or of one of its sides.
type series struct {
	row    *result.Row
	role   result.Role
	timing *result.Timing
}

func (s *series) name() string {
	if s.role == "" {
		return s.row.Name()
	}
	return fmt.Sprintf("%s (%s)", s.row.Name(), s.role)
}

func (s *series) whose() string {
	if s.role == "" {
		return ""
	}
	return fmt.Sprintf("of the %s version: ", s.role)
}

// series lists all samples of the report that decide something.
func (a *admission) series() []*series {
	var out []*series
	for _, row := range a.report.Rows {
		add := func(role result.Role, t *result.Timing) {
			if t != nil && len(t.Samples.Seconds) > 0 {
				out = append(out, &series{row, role, t})
			}
		}
		add("", row.Timing)
		for _, side := range row.Sides {
			if side.Row != nil {
				add(side.Role, side.Row.Timing)
			}
		}
	}
	return out
}

func distinct(samples []float64) int {
	seen := map[float64]bool{}
	for _, v := range samples {
		seen[v] = true
	}
	return len(seen)
}

// chance is how often measured samples may look copied, in all of a report.
const chance = 1e-9

// copied finds stretches of samples that are there twice, also if one is a multiple of the other, and
// returns for each series another one, or itself, that has the same. How long a stretch must be
// depends on how often single steps are equal: a coarse clock gives few values.
func copied(all []*series) []*series {
	out := make([]*series, len(all))
	every, count := make([][]int64, len(all)), 0
	for i, s := range all {
		every[i] = steps(s.timing.Samples.Seconds)
		count += len(every[i])
	}
	type found struct{ series, at int }
	seen := map[int]map[uint64]found{} // by length of the stretch
	for i, values := range every {
		length := stretch(values, count)
		if length == 0 || length > len(values) {
			continue
		}
		if seen[length] == nil {
			seen[length] = map[uint64]found{}
		}
		for at := 0; at+length <= len(values); at += length {
			seen[length][hash(values[at:at+length])] = found{i, at}
		}
	}
	for length, known := range seen {
		for i, values := range every {
			for at := 0; at+length <= len(values); at++ {
				if first, twice := known[hash(values[at:at+length])]; twice && (first.series != i || first.at != at) {
					if out[i] = all[first.series]; out[first.series] == nil {
						out[first.series] = all[i]
					}
					break
				}
			}
		}
	}
	return out
}

// stepSize is the relative difference that counts as one: less than any clock tells apart, and more
// than arithmetic loses.
const stepSize = 1e-7

// steps returns how much longer each sample is than the one before.
func steps(seconds []float64) []int64 {
	var out []int64
	for i := 1; i < len(seconds); i++ {
		out = append(out, int64(math.Round(math.Log(seconds[i]/seconds[i-1])/stepSize)))
	}
	return out
}

// stretch returns how many steps in a row cannot be equal by chance, among count, as a power of two;
// 0: they are so alike that nothing follows.
func stretch(values []int64, count int) int {
	if len(values) == 0 {
		return 0
	}
	seen := map[int64]int{}
	for _, v := range values {
		seen[v]++
	}
	equal := 0.0 // the chance that two steps are equal
	for _, n := range seen {
		p := float64(n) / float64(len(values))
		equal += p * p
	}
	if equal > 0.9 {
		return 0
	}
	// Neighbours are alike: twice the length that independent steps would need.
	least := 2 * math.Log(float64(count)*float64(count)/chance) / -math.Log(equal)
	length := 8
	for float64(length) < least {
		length *= 2
	}
	return length
}

// hash is FNV-1a, mixed.
func hash(values []int64) uint64 {
	h := uint64(14695981039346656037)
	for _, v := range values {
		h = (h ^ uint64(v)) * 1099511628211
		h ^= h >> 29
	}
	return h
}
