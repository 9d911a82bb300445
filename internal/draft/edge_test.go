package draft

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A stencil reads beside its own element, and loops or guards keep it away from the edge: the grid
// ends there. Where nobody understands what keeps it away, the shape is a guess.
func TestEdges(t *testing.T) {
	const sum = "in[p] + in[p - 1] + in[p + 1] + in[p - w] + in[p + w]"
	grid := func(body string) string {
		return "void f(const float *in, float *out, int h, int w) {\nfor (int i = 0; i < h; i++)\nfor (int j = 0; j < w; j++) {\n" + body + "\n}\n}"
	}
	line := func(body string) string {
		return "void f(const float *in, float *out, int n) {\nint p = 0;\nfor (int i = 0; i < n; i++) {\n" + body + "\n}\n}"
	}
	for name, c := range map[string]struct {
		source string
		shapes []string // of in and out, with their TODO
	}{
		"loops": {
			"void f(const float *in, float *out, int h, int w) {\nfor (int i = 1; i < h - 1; i++)\nfor (int j = 1; j < w - 1; j++)\nout[i * w + j] = in[(i - 1) * w + j] + in[(i + 1) * w + j];\n}",
			[]string{"[H, W]", "[H, W]"},
		},
		"a guard":                 {grid("if (i > 0 && i + 1 < h && j > 0 && j + 1 < w) out[i * w + j] = in[(i + 1) * w + j];"), []string{"[H, W]", "[H, W]"}},
		"a border":                {grid("long p = (long)i * w + j;\nif (i == 0 || j == 0 || i == h - 1 || j == w - 1) out[p] = in[p]; else out[p] = " + sum + ";"), []string{"[H, W]", "[H, W]"}},
		"a border with a name":    {grid("long p = i * w + j;\nint border = i == 0 || j == 0 || i == h - 1 || j == w - 1;\nout[p] = border ? in[p] : " + sum + ";"), []string{"[H, W]", "[H, W]"}},
		"the inside has a name":   {grid("int p = i * w + j, below = p + w;\nint inside = i > 0 && i < h - 1 && j > 0 && j < w - 1;\nif (inside) out[p] = in[below]; else out[p] = 0;"), []string{"[H, W]", "[H, W]"}},
		"the border is left out":  {grid("int p = i * w + j;\nif (i == 0 || i == h - 1) continue;\nout[p] = in[p + w] + in[p];"), []string{"[H, W]", `["H * W - W"]`}},
		"nobody understands it":   {grid("int p = i * w + j;\nif (inside(i, j, h, w)) out[p] = " + sum + ";"), []string{`["H * W + W"] TODO`, "[H, W]"}},
		"rows that are not there": {"void f(const float *in, float *out, int h, int w) {\nfor (int i = 0; i < h - 1; i++)\nfor (int j = 0; j < w; j++)\nout[i * w + j] = in[(i + 1) * w + j] - in[i * w + j];\n}", []string{"[H, W]", `["H * W - W"]`}},
		"one dimension":           {"void f(const float *in, float *out, int n) {\nfor (int i = 0; i < n - 1; i++) out[i] = in[i + 1] - in[i];\n}", []string{"[N]", `["N - 1"]`}},
		"made of itself":          {line("int k = k && i;\nif (k) out[i] = in[i];"), []string{"[N]", "[N]"}},
		"changed since":           {line("int q = i, k = q + 1;\nq = 0;\nif (q != n - 1) out[k] = in[k];"), []string{`["N + 1"]`, `["N + 1"]`}},
		"changed in the branch":   {line("int q = i, k = q + 1;\nif (n > 7) { q = 0; }\nif (q < 3) out[k] = in[k];"), []string{`["N + 1"]`, `["N + 1"]`}},
		"changed by the loop":     {line("if (i != n - 1) out[p] = in[p];\np++;"), []string{"[N]", "[N]"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := string(Write(Find("k.c", []byte(c.source), func(string) []byte { return nil })))
			var got []string
			for _, m := range regexp.MustCompile(`name: (?:in|out), .*shape: (\[.*?\]), role.*`).FindAllStringSubmatch(text, -1) {
				if strings.Contains(m[0], "TODO: check the shape") {
					m[1] += " TODO"
				}
				got = append(got, m[1])
			}
			if !slices.Equal(got, c.shapes) {
				t.Errorf("%q, want %q\n%s", got, c.shapes, text)
			}
		})
	}
}
