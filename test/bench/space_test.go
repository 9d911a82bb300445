package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pawl/internal/formula"
	"pawl/internal/space"
)

const kernelTunerSpace = `
import gzip, json, sys, time
from importlib.metadata import version
from kernel_tuner.searchspace import Searchspace
with gzip.open(sys.argv[1]) as f:
    d = json.load(f)["ConfigurationSpace"]
params = {p["Name"]: list(eval(p["Values"])) for p in d["TuningParameters"]}
conditions = [c["Expression"] for c in d["Conditions"]]
best = 1e9
for i in range(3):
    start = time.perf_counter()
    s = Searchspace(dict(params), list(conditions), 1024)
    size = len(s.list)
    best = min(best, time.perf_counter() - start)
print(json.dumps({"seconds": best, "size": size, "version": version("kernel_tuner"), "params": list(params.items()), "conditions": conditions}))
`

// Spaces from the text of their constraints to all points, beside Kernel Tuner's, in one run.
// PAWL_TUNERS names a Python that has it.
func BenchmarkSpaceBesideKernelTuner(b *testing.B) {
	python := os.Getenv("PAWL_TUNERS")
	if python == "" {
		python = "python3"
	}
	for _, name := range []string{"gemm_milo", "hotspot_milo"} {
		b.Run(name, func(b *testing.B) {
			cmd := exec.Command(python, "-c", kernelTunerSpace, "../../internal/space/testdata/"+name+".T1.json.gz")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
				b.Skipf("%s has no Kernel Tuner: %v: %s", python, err, lines[len(lines)-1])
			}
			var theirs struct {
				Seconds    float64
				Size       int
				Version    string
				Params     [][2]any
				Conditions []string
			}
			if err := json.Unmarshal(out, &theirs); err != nil {
				b.Fatal(err)
			}
			b.Logf("Kernel Tuner %s: %d points", theirs.Version, theirs.Size)
			var params []space.Param
			for _, p := range theirs.Params {
				param := space.Param{Name: fmt.Sprint(p[0])}
				for _, v := range p[1].([]any) {
					param.Values = append(param.Values, formula.Int(int64(v.(float64))))
				}
				params = append(params, param)
			}
			for b.Loop() {
				var constraints []*formula.Expr
				for _, text := range theirs.Conditions {
					expr, err := formula.Parse(text)
					if err != nil {
						b.Fatal(err)
					}
					constraints = append(constraints, expr)
				}
				s, err := space.New(params, constraints)
				if err != nil {
					b.Fatal(err)
				}
				n := 0
				for range s.All() {
					n++
				}
				if n != theirs.Size {
					b.Fatalf("%d points, Kernel Tuner %s has %d", n, theirs.Version, theirs.Size)
				}
			}
			b.ReportMetric(theirs.Seconds*1e3, "kerneltuner-ms")
			b.ReportMetric(theirs.Seconds/(b.Elapsed().Seconds()/float64(b.N)), "x-kerneltuner")
		})
	}
}
