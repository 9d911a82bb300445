package store

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"time"

	"pawl/internal/result"
)

// made returns a check of a kernel on two configs, with so many samples each: the number gives it its
// ID, its commit and its times.
func made(n, samples int) *result.Report {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	sha := make([]byte, 20)
	for i := range sha {
		sha[i] = byte(random.Uint32())
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
	r := &result.Report{
		Schema: result.Schema, Kind: result.KindCheck, ID: fmt.Sprintf("%s-%012x", at.Format("20060102T150405Z"), n), Tool: result.Tool{Version: "0.1.0"},
		Command: []string{"pawl", "check"}, Started: at, Finished: at.Add(time.Minute), Outcome: &result.Outcome{Result: result.Passed},
		Spec: result.SpecRef{File: "pawl.yaml", SHA256: "00"}, Commit: &result.Commit{SHA: hex.EncodeToString(sha)}, Base: &result.BaseRef{Ref: "HEAD~1", SHA: fmt.Sprintf("%040x", n)},
		Origin: &result.Origin{Branch: "main"}, DeviceClass: "nvidia-h200", Machine: result.Fingerprint{OS: "linux", Kernel: "6.1.0", Arch: "amd64"},
	}
	for _, config := range []string{"training_512", "inference_4k"} {
		row := &result.Row{Kernel: "attention", Config: config, Cell: "cuda", Class: r.DeviceClass, Identity: fmt.Sprintf("%064x", n/10), Verdict: result.Maintained, Timing: timing(random, samples)}
		change := &result.Change{Median: random.NormFloat64() / 100, Paired: true}
		change.Low, change.High = change.Median-0.003, change.Median+0.003
		row.Sides = []*result.Side{{Role: result.Base, Commit: r.Base.SHA, Change: change, Row: &result.Row{Kernel: "attention", Config: config, Timing: timing(random, samples)}}}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func timing(random *rand.Rand, samples int) *result.Timing {
	t := &result.Timing{Repeat: 1, PairS: 1.5e-6, Stopped: "width"}
	for range samples {
		ms := 0.052 * (1 + random.NormFloat64()/50)
		t.Samples.Seconds = append(t.Samples.Seconds, float64(float32(ms))*1e-3-t.PairS)
		t.Samples.GHz = append(t.Samples.GHz, (11_700_000+random.NormFloat64()*1000)/6_600_000)
	}
	t.Stats = result.Stats{Count: samples, Median: 52.1e-6 * (1 + random.NormFloat64()/100), Low: 52e-6, High: 52.3e-6, RoofPct: 61.5}
	return t
}
