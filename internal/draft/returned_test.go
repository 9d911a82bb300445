package draft

import (
	"strings"
	"testing"
)

// An answer that a function returns is in no buffer, and the draft says how to get it into one. A function
// that writes a buffer may return what it likes.
func TestReturnedAnswers(t *testing.T) {
	for source, returned := range map[string]bool{
		"float f(const float *x, const float *y, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i] * y[i]; return s; }": true,
		"float f(float *x, float *y, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i] * y[i]; return s; }":             true,
		"double f(double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }":                           true,
		"const float *f(const float *x, int n) { for (int i = 0; i < n; i++) if (x[i] > 0) return x + i; return 0; }":             true,
		"void *f(const float *x, int n) { for (int i = 0; i < n; i++) if (x[i] > 0) return (void *)(x + i); return 0; }":          true,
		"int f(const float *x, char odd, struct pair *p, int n) { return 0; }":                                                    false, // no kernel
		"int f(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = x[i]; return 0; }":                           false,
		"int f(float *x, int n) { for (int i = 0; i < n; i++) x[i] += 1; return n; }":                                             false,
		"int f(const float *x, float *y, int n) { return somewhere(x, y, n); }":                                                   false,
		"void f(const float *x, int n) { for (int i = 0; i < n; i++) total += x[i]; }":                                            false,
	} {
		text := string(Write(Find("k.c", []byte(source), nil)))
		want := "TODO: f returns its answer, and pawl sees only buffers: let another function write it to one, such as void f_to(..., float *out) { *out = f(...); }"
		if strings.HasPrefix(source, "double") {
			want = strings.Replace(want, "float", "double", 1)
		}
		if strings.Contains(text, want) != returned {
			t.Errorf("%s\n%s", source, text)
		}
	}
}

// A scalar whose name says what it usually is gets that value, and a comment that is no TODO.
func TestUsualScalars(t *testing.T) {
	text := string(Write(Find("k.c", []byte("void f(float *y, const float *x, float alpha, float shift, int n) { for (int i = 0; i < n; i++) y[i] = alpha * x[i] + shift; }"), nil)))
	for _, want := range []string{
		"{name: alpha, dtype: f32, value: 1.0} # usual for this name; yours may differ\n",
		"{name: shift, dtype: f32, value: 1.0} # TODO: check the value\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
