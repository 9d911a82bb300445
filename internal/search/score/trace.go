package score

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"pawl/internal/search/recorded"
)

// maxLine bounds a line of a trace: numbers of a million settings.
const maxLine = 16 << 20

// WriteTrace writes runs as JSON lines, so that anyone can score them.
func WriteTrace(w io.Writer, runs []*Run) error {
	enc := json.NewEncoder(w)
	for _, r := range runs {
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("write the trace: %w", err)
		}
	}
	return nil
}

// ReadTrace reads the runs of a trace, whoever wrote it. All must be runs on the given spaces. The name of
// the file is for errors.
func ReadTrace(r io.Reader, file string, spaces []*recorded.Space) ([]*Run, error) {
	sizes := map[string]int{}
	for _, s := range spaces {
		sizes[s.Name] = s.Len()
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var runs []*Run
	number := 0
	for lines.Scan() {
		if number++; len(lines.Bytes()) == 0 {
			continue
		}
		run := &Run{}
		if err := json.Unmarshal(lines.Bytes(), run); err != nil {
			return nil, fmt.Errorf(`%s:%d: expected {"space", "strategy", "seed", "seq"}: %w`, file, number, err)
		}
		size, found := sizes[run.Space]
		if !found {
			return nil, fmt.Errorf("%s:%d: space %q is not among those given: name its recording on the command line", file, number, run.Space)
		}
		seen := map[int]bool{}
		for _, n := range run.Seq {
			if n < 0 || n >= size {
				return nil, fmt.Errorf("%s:%d: seq: %d: expected the number of one of the %d settings of %s", file, number, n, size, run.Space)
			}
			if seen[n] {
				return nil, fmt.Errorf("%s:%d: seq: setting %d is there twice: one that is tried again costs nothing, leave it out", file, number, n)
			}
			seen[n] = true
		}
		runs = append(runs, run)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s:%d: %w", file, number+1, err)
	}
	return runs, nil
}
