package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestHowToApply(t *testing.T) {
	params := map[string]string{"BLOCK_M": "128", "PAD": "true", "T": "ns::half", "SCALE": "0.5"}
	order := []string{"T", "BLOCK_M", "GONE"}
	for cell, want := range map[string]string{
		"cuda": `sh: pawl tune gemm-f16 --last --apply
yaml: params:
  T: ["ns::half", …]
  BLOCK_M: [128, …]
  PAD: [true, …]
  SCALE: [0.5, …]
sh: nvcc -DT=ns::half -DBLOCK_M=128 -DPAD=1 -DSCALE=0.5 …
cmake: target_compile_definitions(your_target PRIVATE T=ns::half BLOCK_M=128 PAD=1 SCALE=0.5)
`,
		"host": "sh: cc -DT=ns::half -DBLOCK_M=128 -DPAD=1 -DSCALE=0.5 …\n",
		"python": `python: gemm_f16(…, T="ns::half", BLOCK_M=128, PAD=True, SCALE=0.5)
`,
	} {
		got := ""
		for _, way := range HowToApply("gemm-f16", cell, order, params) {
			got += way.Language + ": " + way.Text + "\n"
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", cell, got, want)
		}
	}
	if ways := HowToApply("gemm", "cuda", nil, nil); ways != nil {
		t.Errorf("without params: %v", ways)
	}
}

// TestHowToApplyWorks: the compiler takes the options as they are shown.
func TestHowToApplyWorks(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no cc")
	}
	source := filepath.Join(t.TempDir(), "k.c")
	text := "#if BLOCK_M != 128 || PAD != 1\n#error wrong\n#endif\nchar text[] = WORD;\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, way := range HowToApply("k", "host", nil, map[string]string{"BLOCK_M": "128", "PAD": "true", "WORD": `"a $b's"`}) {
		if options, ok := strings.CutPrefix(way.Text, "cc "); ok {
			line := cc + " " + strings.TrimSuffix(options, " …") + " -fsyntax-only " + source
			if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", line, err, out)
			}
		}
	}
}
