package explain

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/report"
	"pawl/internal/result"
)

var update = flag.Bool("update", false, "write the golden files again")

// What people see of recorded profiles, whole.
func TestGolden(t *testing.T) {
	folder := t.TempDir()
	all := unpack(t, folder, "h200_planted_curated.csv.gz", "all.csv", nil)
	code := unpack(t, folder, "h200_planted.sass.gz", "all.sass", nil)
	before := unpack(t, folder, "h200_planted_curated.csv.gz", "before.csv", only("copy_ok"))
	after := unpack(t, folder, "h200_planted_curated.csv.gz", "after.csv", only("load_bad"))
	details := unpack(t, folder, "h200_planted_details.csv.gz", "details.csv", nil)
	file := func(name, kernel string) *result.Report {
		a, err := File(t.Context(), name, Options{Tool: tool, Kernel: kernel, SASS: code})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	diff := func(x, y string) *result.Report {
		a, err := Compare(t.Context(), x, y, Options{Tool: tool, SASS: code, After: code})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	light := func(r *result.Report) string {
		return strings.ReplaceAll(picture(t, r), "><", ">\n<")
	}
	for name, got := range map[string]string{
		"overview.txt": text(t, file(all, ""), false),
		"two.txt":      text(t, file(all, "sum_rows"), false),
		"verbose.txt":  text(t, file(all, "spill_ok"), true),
		"details.txt":  text(t, file(details, "gemm_bad"), true),
		"diff.txt":     text(t, diff(before, after), false),
		"left.txt":     text(t, diff(all, before), true),
		"two.md":       report.Markdown(file(all, "sum_rows")),
		"one.svg.txt":  light(file(all, "gemm_bad")),
		"diff.svg.txt": light(diff(before, after)),
	} {
		got = strings.ReplaceAll(got, folder+string(filepath.Separator), "")
		golden := filepath.Join("testdata", "golden", name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}
