// Package nsighttest has a stand-in for Nsight Compute, for tests beside the fake CUDA driver: a
// script that starts a program, notes which kernels that launches between the start and the stop of
// its range, and writes reports and CSV files of them.
package nsighttest

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed ncu.sh
var script string

// Version is what the stand-in says of its version.
const Version = "Version 2025.3.1.0 (build 36398880) (public-release)"

// Ways in which the stand-in fails, for Use. Those with a colon are followed by an argument.
const (
	Works       = ""
	Refused     = "refused"      // the driver permits no counters
	Unknown     = "unknown:"     // and the names of the metrics that are not known, each followed by a comma
	Ignores     = "ignores:"     // likewise; it says nothing of them, as since 2025.3
	Blind       = "blind"        // it sees no kernel
	Hangs       = "hangs"        // a kernel never ends, and a helper has left the group of processes
	Crashes     = "crashes"      // by a signal
	Huge        = "huge"         // the report is larger than any may be
	HugeCSV     = "huge-csv"     // and so is its CSV
	ImportHangs = "import-hangs" // it does not end when it reads a report
	ImportFails = "import-fails" // it cannot read the report
)

// Make makes the stand-in, and returns its path.
func Make(t testing.TB, mode string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ncu")
	if err := os.WriteFile(path, []byte(strings.Replace(script, "@MODE@", mode, 1)), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// Use sets PAWL_NCU, so that this process and the workers that it starts run the stand-in as Nsight Compute.
func Use(t testing.TB, mode string) string {
	t.Helper()
	path := Make(t, mode)
	t.Setenv("PAWL_NCU", path)
	return path
}
