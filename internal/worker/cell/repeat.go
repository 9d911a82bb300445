package cell

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// requestsFile has what a cell was asked, for the runs of it that a profiler adds.
const requestsFile = "requests"

// fromRepeat handles application replay: a profiler runs the whole cell once for every pass, and only
// the first run has a worker to talk to. That run writes down what it is asked. The others do the
// same again and answer nobody; repeats reports whether this is one of them.
func fromRepeat(requests io.Reader, replies io.Writer) (in io.Reader, out io.Writer, repeats bool, err error) {
	if os.Getenv(ProfilerVariable) != "application" {
		return requests, replies, false, nil
	}
	path := filepath.Join(os.TempDir(), requestsFile)
	if earlier, err := os.Open(path); err == nil {
		return earlier, io.Discard, true, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, nil, false, fmt.Errorf("write down the requests: %w", err)
	}
	return io.TeeReader(requests, file), replies, false, nil
}
