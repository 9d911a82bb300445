package check

import (
	"testing"

	"pawl/internal/build"
	"pawl/internal/lab"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// cudaJob is a version of a CUDA kernel, built: its code, and that of the whole file.
func cudaJob(t *testing.T, code, former string) *lab.Job {
	t.Helper()
	s, err := spec.Parse("pawl.yaml", []byte(`version: 1
kernels:
  k: {source: k.cu, entry: k, launch: {grid: 1, block: 1}, args: [{name: y, dtype: f32, shape: [1], role: out}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	job := lab.NewJob(".", s.Kernels[0].Default(), s.Kernels[0].Configs[0])
	job.Artifact = build.NewArtifact([]byte("cubin"), "k")
	job.Artifact.Code, job.Artifact.Former = code, former
	return job
}

// An identity that an older pawl stored is that of the whole file, and is recognised.
func TestFormerIdentity(t *testing.T) {
	candidate := cudaJob(t, "entry", "file")
	stored := cudaJob(t, "file", "").Identity() // as the older pawl computed it
	lost := &side{role: result.Best, lost: true}
	for name, test := range map[string]struct {
		base      *lab.Job
		entry     string
		unchanged bool // against the best-known version, without a base
		isBase    bool
	}{
		"of the same file":         {cudaJob(t, "entry", "file"), stored, true, true},
		"in today's form":          {cudaJob(t, "entry", "another file"), candidate.Identity(), true, true},
		"of another file":          {cudaJob(t, "another entry", "another file"), cudaJob(t, "yet another file", "").Identity(), false, false},
		"of the candidate's file":  {cudaJob(t, "another entry", "another file"), stored, true, false},
		"of the base's other file": {cudaJob(t, "another entry", "another file"), cudaJob(t, "another file", "").Identity(), false, true},
		"none":                     {cudaJob(t, "entry", ""), "", false, false},
	} {
		entry := &ratchet.Entry{Identity: test.entry, Commit: "1111111111111111111111111111111111111111"}
		alone := &planned{candidate: candidate, entries: entries{counts: entry}, versions: sides{best: lost}}
		if b := alone.pair(nil, false); b.unchanged != test.unchanged || b.isBest != test.unchanged {
			t.Errorf("%s: unchanged %t, best %t", name, b.unchanged, b.isBest)
		}
		beside := &planned{candidate: candidate, entries: entries{counts: entry}, versions: sides{base: &side{role: result.Base, job: test.base}, best: lost}}
		if beside.bestIsBase() != test.isBase {
			t.Errorf("%s: the base is the best %t", name, !test.isBase)
		}
		branch := &built{planned: &planned{candidate: candidate, entries: entries{branch: entry}}}
		if branch.isBranch() != test.unchanged {
			t.Errorf("%s: the branch has it %t", name, !test.unchanged)
		}
	}
	if row := candidate.Row(); !row.Is(stored) || !row.Is(row.Identity) || row.Is("") || cudaJob(t, "file", "file").Row().Former != "" {
		t.Errorf("%+v", row)
	}
}
