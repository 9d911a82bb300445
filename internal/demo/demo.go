// Package demo is a story of six changes to the example kernels, each checked like any other
// change. The demonstration is what pawl says about them.
package demo

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"pawl/examples"
	"pawl/internal/result"
	"pawl/internal/worker"
)

//go:embed host/pawl.yaml cuda/pawl.yaml
var specs embed.FS

// Chapter is one change and what is to be seen.
type Chapter struct {
	Title  string // what happens
	Shows  string // what that shows
	Commit string // its message
	Edits  []Edit
	Update bool           // the baseline may move
	Undo   bool           // afterwards: the change was refused
	Want   result.Verdict // of the kernel that is changed
}

// Edit replaces a text in a file.
type Edit struct{ File, Old, New string }

// Story is the example kernels and what is done to them.
type Story struct {
	Cell     string
	Kernel   string // that is changed
	Files    map[string][]byte
	Chapters []Chapter
}

// Choose returns the story for this machine, or that for its processor.
func Choose(ctx context.Context, host bool) (*Story, error) {
	if !host {
		client, err := worker.Start(ctx, worker.Options{})
		if err != nil {
			return nil, err
		}
		devices := client.Hello().Devices
		client.Close()
		if len(devices) > 0 {
			return CUDA()
		}
	}
	return Host()
}

// Host returns the story for any machine.
func Host() (*Story, error) {
	return tell("host", "gemm", []string{"host/gemm.c", "host/layernorm.c", "host/vexp.h"}, [][]Edit{
		{{"gemm.c", "  float slab[TILE_K][TILE_N], sums[TILE_M][TILE_N];\n", "  if (m < 1 || n < 1 || k < 1) return;\n  float slab[TILE_K][TILE_N], sums[TILE_M][TILE_N];\n"}},
		{{"gemm.c", "/* Copies a slab of B;", "/* Copies a slab of B, so that it is dense;"}},
		{{"pawl.yaml", "    entry: gemm\n", "    entry: gemm\n    launch: {threads: 2}\n"}},
		{ // the first eighth of the rows is computed once more, and not stored
			{"gemm.c", "      for (int64_t i0 = 0; i0 < m; i0 += TILE_M) {\n", "      for (int64_t at = 0; at < m + m / 8; at += TILE_M) {\n        const int64_t i0 = at < m ? at : at - m;\n"},
			{"gemm.c", "        for (int64_t i = 0; i < rows; i++) {\n", "        for (int64_t i = 0; i < rows && at < m; i++) {\n"},
		},
		{{"pawl.yaml", "TILE_M: [2, 1, 4, 6, 8]\n      TILE_N: [16, 32, 64]", "TILE_M: [4, 1, 2, 6, 8]\n      TILE_N: [32, 16, 64]"}},
	})
}

// CUDA returns the story for a machine with a GPU.
func CUDA() (*Story, error) {
	const begin = "  x += (size_t)blockIdx.x * cols;\n"
	return tell("cuda", "softmax", []string{"cuda/softmax.cu", "cuda/layernorm.cu", "cuda/reduce.cuh"}, [][]Edit{
		{{"softmax.cu", begin, "  if (cols < 1) return;\n" + begin}},
		{{"softmax.cu", "// The first pass finds", "// The first pass over a row finds"}},
		{{"pawl.yaml", "launch: {grid: [ROWS], block: [BLOCK]}\n    args:\n      - {name: x, dtype: f32", "launch: {grid: [ROWS], block: [BLOCK], shared: 1024}\n    args:\n      - {name: x, dtype: f32"}},
		{{"softmax.cu", begin, `  if (blockIdx.x % 8 == 0) {
    const float *other = x + (size_t)((blockIdx.x + gridDim.x / 2) % gridDim.x) * cols;
    float sum = 0;
    for (int i = threadIdx.x; i < cols; i += BLOCK) sum += other[i];
    if (sum == 1.2345e30f) out[0] = sum;
  }
` + begin}},
		{{"pawl.yaml", "BLOCK: [32, 64, 128, 256]\n      VEC: [1, 2, 4]", "BLOCK: [128, 32, 64, 256]\n      VEC: [4, 1, 2]"}},
	})
}

// tell makes a story of the files and of the edits of chapters two to six.
func tell(cell, kernel string, files []string, edits [][]Edit) (*Story, error) {
	s := &Story{Cell: cell, Kernel: kernel, Files: map[string][]byte{}}
	var err error
	if s.Files["pawl.yaml"], err = specs.ReadFile(cell + "/pawl.yaml"); err != nil {
		return nil, err
	}
	for _, name := range files {
		raw, err := fs.ReadFile(examples.Files, name)
		if err != nil {
			return nil, err
		}
		s.Files[path.Base(name)] = raw
	}
	s.Chapters = []Chapter{
		{Title: "The first baseline: both kernels are measured and stored", Shows: "the first run stores a baseline", Commit: "two kernels", Update: true, Want: result.New},
		{Title: "A harmless change: different code, the same speed", Shows: "a harmless change passes", Commit: "refuse empty matrices", Edits: edits[0], Want: result.Maintained},
		{Title: "A comment: the same code, so there is nothing to measure", Shows: "a comment is not measured", Commit: "say why", Edits: edits[1], Want: result.Unchanged},
		{Title: "The same code, launched differently: that is measured", Shows: "a different launch is measured", Commit: "launch differently", Edits: edits[2], Want: result.Maintained},
		{Title: "A slowdown hidden in a change: a part of the work is done twice", Shows: "a hidden slowdown fails", Commit: "be thorough", Edits: edits[3], Undo: true, Want: result.Regression},
		{Title: "A real improvement: the baseline moves", Shows: "an improvement moves the baseline", Commit: "better tiles", Edits: edits[4], Update: true, Want: result.Improvement},
	}
	return s, nil
}

// Begin writes the kernels into a folder and makes it a repository.
func (s *Story) Begin(ctx context.Context, dir string) error {
	for name, raw := range s.Files {
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
			return fmt.Errorf("write the kernels: %w", err)
		}
	}
	return Git(
		ctx, dir,
		[]string{"init", "--quiet", "--initial-branch=main"},
		[]string{"config", "user.name", "pawl demo"},
		[]string{"config", "user.email", "demo@localhost"},
		[]string{"config", "commit.gpgsign", "false"},
	)
}

// Apply makes a chapter's edits.
func (c *Chapter) Apply(dir string) error {
	for _, e := range c.Edits {
		file := filepath.Join(dir, e.File)
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.Count(string(raw), e.Old) != 1 {
			return fmt.Errorf("%s: expected %q once; the folder was changed during the demo", e.File, e.Old)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(raw), e.Old, e.New, 1)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Git runs commands of git in a folder, without the user's hooks, up to the first that fails. It ends
// with ctx.
func Git(ctx context.Context, dir string, commands ...[]string) error {
	for _, args := range commands {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.hooksPath=/dev/null"}, args...)...)
		cmd.WaitDelay = time.Second // for what git has started
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
