package gpu

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/result"
)

// What is wrong with kernels whose answers are right is found by compute-sanitizer,
// by the tool that is for it and at its line.
func TestSanitize(t *testing.T) {
	need(t)
	source, err := os.ReadFile(filepath.Join("testdata", "sanitize.cu"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(source), "\n")
	wrong := map[string]string{"reads_past_end": "memcheck", "races": "racecheck", "reads_nothing": "initcheck", "diverges": "synccheck"}
	p := &project{t: t, dir: t.TempDir(), env: append(os.Environ(), "XDG_CACHE_HOME="+cache, "NO_COLOR=1")}
	p.write("sanitize.cu", string(source))
	spec := "version: 1\nconfigs: {c: {N: 1000}}\nkernels:\n"
	for _, name := range []string{"sound", "reads_past_end", "races", "reads_nothing", "diverges"} {
		spec += "  " + name + `:
    source: sanitize.cu
    entry: ` + name + `
    launch: {grid: "ceildiv(N, 256)", block: 256}
    args:
      - {name: x, dtype: f32, shape: [N]}
      - {name: y, dtype: f32, shape: [N], role: out}
      - {name: s, dtype: f32, shape: [64], role: scratch}
      - {name: n, dtype: i64, value: N}
    oracle: {elementwise: "2 * x"}
    tolerance: {atol: 0, rtol: 1e-7}
`
	}
	p.write("pawl.yaml", spec)
	cmd := exec.Command(pawl, "fuzz", "--sample", "1", "--plain", "--sanitize", "--json")
	cmd.Dir, cmd.Env = p.dir, p.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	report, err := result.Decode(stdout.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	for _, r := range report.Rows {
		v := r.Verification
		if len(v.Sanitizer) != 4 {
			t.Fatalf("%s: %d tools ran; %+v %+v", r.Kernel, len(v.Sanitizer), r.Fault, report.Warnings)
		}
		for _, one := range v.Sanitizer {
			if one.Skipped != "" {
				t.Errorf("%s: %s was skipped: %s\n%s", r.Kernel, one.Tool, one.Skipped, one.Raw)
			}
			if one.Tool != wrong[r.Kernel] {
				if r.Kernel == "sound" && (one.Errors > 0 || len(one.Findings) > 0) {
					t.Errorf("%s: %s: %+v", r.Kernel, one.Tool, one.Findings)
				}
				continue
			}
			at := slices.IndexFunc(lines, func(line string) bool { return strings.HasSuffix(line, "// "+r.Kernel) }) + 1
			place := fmt.Sprintf("sanitize.cu:%d", at) // a race has two, of which either may come first
			if !slices.ContainsFunc(one.Findings, func(f result.SanitizerFinding) bool {
				return fmt.Sprintf("%s:%d", f.File, f.Line) == place || strings.Contains(f.Note, " at "+place+" in ")
			}) {
				t.Errorf("%s: %s does not name sanitize.cu:%d: %+v\n%s", r.Kernel, one.Tool, at, one.Findings, one.Raw)
			}
		}
		failed := r.Fault != nil && r.Fault.Cause == result.CauseSanitizer
		if failed != (r.Kernel != "sound") {
			t.Errorf("%s: %+v", r.Kernel, r.Fault)
		}
	}
}
