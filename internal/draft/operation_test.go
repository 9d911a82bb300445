package draft

import (
	"strings"
	"testing"
)

// A wrong oracle accuses a right kernel: what computes with the elements before it adds them is no sum.
func TestPlainSums(t *testing.T) {
	for source, plain := range map[string]bool{
		"void sum(const float *x, float *y, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; *y = s; }":                                 true,
		"void reduce(const float *x, float *y, int n) { float s = 0; for (int i = 0; i < 8 * n; i++) s += x[i]; y[0] = s; }":                        true,
		"void total_sum(const double *x, double *y, int n) { double a = 0; for (int i = 0; i < n; i++) { double v = x[i]; a = a + v; } y[0] = a; }": true,
		"void sumsq(const float *x, float *y, int n) { float s = 0; for (int i = 0; i < n; i++) s = fma(x[i], x[i], s); *y = s; }":                  false,
		"void sum_kernel(const float *x, float *y, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i] * x[i]; *y = s; }":                   false,
		"void sum(const float *x, float *y, int n) { float s = 0; for (int i = 0; i < n; i++) { float v = x[i]; s += v * v; } *y = s; }":            false,
		"void sum(const float *x, float *y, int n) { float s = 0; for (int i = 0; i < n; i++) s += 0.5f * x[i]; *y = s; }":                          false,
		"void sum(const float *x, float *y, int n) { float s = 0; for (int i = 0; i < n; i++) s += fabsf(x[i]); *y = s; }":                          false,
		"void reduce_mean(const float *x, float *y, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; *y = s / n; }":                     false,
		"void reduce_min(const float *x, float *y, int n) { float s = x[0]; for (int i = 0; i < n; i++) s = x[i] < s ? x[i] : s; *y = s; }":         false,
	} {
		text := string(Write(Find("k.c", []byte(source), nil)))
		if strings.Contains(text, "oracle: sum\n") != plain {
			t.Errorf("%s\n%s", source, text)
		}
	}
}

// Nor is the logarithm of a softmax a softmax.
func TestOtherSoftmax(t *testing.T) {
	body := "(const float *x, float *y, int rows, int columns) { for (int r = 0; r < rows; r++) for (int c = 0; c < columns; c++) y[r * columns + c] = x[r * columns + c]; }"
	for name, found := range map[string]bool{"softmax": true, "log_softmax": false, "logsoftmax": false} {
		text := string(Write(Find("k.c", []byte("void "+name+body), nil)))
		if strings.Contains(text, "oracle: softmax\n") != found {
			t.Errorf("%s\n%s", name, text)
		}
	}
}
