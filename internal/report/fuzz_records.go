package report

import (
	"strconv"

	"pawl/internal/result"
)

var fuzzFields = []string{
	"kernel", "verdict", "fault", "integrity", "oracle", "lane", "case", "fill", "seed", "batch", "runs", "replay", "result", "reason",
	"output", "count", "wrong", "nans", "never_written", "max_abs", "max_rel", "rms", "atol", "rtol", "exact", "rival_max_abs", "rival_rms",
	"worst_index", "worst_got", "worst_want", "smallest_failing", "stored", "wall_s",
}

// fuzzRecords has one line for every output of every case; a kernel without cases
// has one as well.
func fuzzRecords(r *result.Report) [][]string {
	records := [][]string{fuzzFields}
	for _, t := range triedRows(r) {
		kernel := []string{t.row.Kernel, string(t.row.Verdict), cause(t.row), string(t.v.Integrity), t.v.Oracle}
		if len(t.v.Cases) == 0 {
			records = append(records, append(kernel, make([]string, len(fuzzFields)-len(kernel))...))
		}
		for _, c := range t.v.Cases {
			records = append(records, caseRecords(kernel, c)...)
		}
	}
	return records
}

func caseRecords(kernel []string, c *result.Case) [][]string {
	names := map[fate]string{passed: "pass", wrong: "fail", skipped: "skipped"}
	reason := why(c)
	if c.Skipped != "" {
		reason = c.Skipped
	}
	begin := append(append([]string{}, kernel...), c.Lane, sizes(c), c.Fill, strconv.FormatUint(c.Seed, 10), strconv.Itoa(c.Batch), strconv.Itoa(c.Repeats),
		strconv.FormatBool(c.Replay), names[fateOf(c)], reason)
	smallest := ""
	if c.Shrunk != nil {
		smallest = sizes(c.Shrunk)
	}
	end := []string{smallest, c.Stored, number(c.WallS)}
	const ofOutput = 16
	if len(c.Outputs) == 0 {
		return [][]string{append(append(begin, make([]string, ofOutput)...), end...)}
	}
	var out [][]string
	for i := range c.Outputs {
		out = append(out, append(append(append([]string{}, begin...), outputFields(&c.Outputs[i])...), end...))
	}
	return out
}

func outputFields(o *result.OutputError) []string {
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	abs, rel, rms := errorsOf(o)
	fields := []string{
		o.Name, whole(o.Count), whole(o.Wrong), whole(o.NaNs), whole(o.Blank), zero(abs), relativeField(abs, rel), zero(rms), zero(o.Atol), zero(o.Rtol),
		strconv.FormatBool(o.Exact), number(o.RivalMaxAbs), number(o.RivalRMS),
	}
	if o.Worst == nil {
		return append(fields, "", "", "")
	}
	return append(fields, place("", o.Worst.Index), o.Worst.Got, o.Worst.Want)
}
