package draft

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pawl/internal/csource"
	"pawl/internal/pattern"
	"pawl/internal/spec"
)

var (
	versionNumber = pattern.New(`(_?(kernel|version|ver|v|naive|opt))?_?\d+$`)
	notForward    = pattern.New(`(?i)(back|bwd|grad|_d[xw]$|fused|cross|causal|triangular|autoregressive|masked|window|alibi|rope|bias|relu|gelu|quant|sparse|log_?softmax|rms)`)
	notPlainSum   = pattern.New(`(?i)(max|min|sq|abs|norm|dot|prod|mean|avg|average|dev|var|diff|err|exp|log|pow|weight|l1|l2|cum|prefix)`)
	elementWords  = pattern.New(`^(max|abs|sqrt|exp|exp2|log|log2|pow)f?$|^f(max|min|abs)f?$`)
)

// operation names the reference that a usual kernel has, told by its name and its arguments; "" where
// there is none.
func (d *draft) operation() string {
	name := strings.ToLower(d.Name)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
	}
	var in, out []int
	for i, a := range d.plan.args {
		if a.role == spec.RoleIn {
			in = append(in, i)
		}
		if a.role == spec.RoleOut || a.role == spec.RoleInOut {
			out = append(out, i)
		}
	}
	if len(out) == 0 || len(in) == 0 || d.unsure() {
		return ""
	}
	if formula := d.elementwise(in, out); formula != "" || notForward.MatchString(name) {
		return formula
	}
	first := out[0]
	overwrites := d.plan.args[first].role == spec.RoleOut
	switch {
	case has("attention", "attend", "attn", "flash", "sdpa") && overwrites && d.isAttention(in, first):
		return "attention"
	case has("softmax") && len(in) == 1 && len(out) == 1 && overwrites && d.scalarsAre() && d.dims(first) > 1 && d.shape(in[0]) == d.shape(first):
		return "softmax"
	case has("layernorm", "layer_norm") && overwrites && d.isLayernorm(in, out):
		return "layernorm"
	case (has("gemm", "matmul", "mat_mul", "matrixmul", "matrix_mul") || name == "mm" || strings.HasPrefix(name, "mm_")) && len(in) == 2 && len(out) == 1 && d.scalarsAre("alpha", "beta") && d.isGemm(in, first):
		return "gemm"
	case has("sum", "reduc", "max") && len(in) == 1 && len(out) == 1 && d.scalarsAre() && d.shape(first) == "[1]" && d.dims(in[0]) >= 1:
		if notPlainSum.MatchString(name) || d.changesElements(d.Params[in[0]].Name) {
			return ""
		}
		return "sum"
	}
	return ""
}

// changesElements reports whether a body computes with the elements of a buffer before it adds them:
// multiplies, squares or compares them.
func (d *draft) changesElements(name string) bool {
	for i, t := range d.reach {
		if i+1 < len(d.reach) && d.reach[i+1].Is("(") && elementWords.MatchString(t.Text) {
			return true
		}
		if t.Is("*") && i > 0 && i+1 < len(d.reach) && identifier.MatchString(d.reach[i-1].Text) && d.reach[i-1].Is(d.reach[i+1].Text) {
			return true
		}
		if !t.Is(name) || i+1 == len(d.reach) || !d.reach[i+1].Is("[") {
			continue
		}
		end := csource.SkipGroup(d.reach, i+1, "[", "]")
		factor := func(at int) bool { return at >= 0 && at < len(d.reach) && (d.reach[at].Is("*") || d.reach[at].Is("/")) }
		if factor(i-1) || factor(end+1) {
			return true
		}
	}
	return false
}

// unsure reports whether an argument is guessed.
func (d *draft) unsure() bool {
	return slices.ContainsFunc(d.plan.args, func(a planned) bool { return len(a.notes) > 0 })
}

// scalarsAre reports whether all floating-point scalars are among the names.
func (d *draft) scalarsAre(names ...string) bool {
	for _, p := range d.Params {
		if !p.Pointer && p.DType.Float() && !slices.Contains(names, strings.ToLower(p.Name)) {
			return false
		}
	}
	return true
}

// dims returns the number of a buffer's dimensions.
func (d *draft) dims(i int) int { return len(d.dimensions(i)) }

func (d *draft) isLayernorm(in, out []int) bool {
	x, columns := -1, ""
	for _, i := range in {
		if d.shape(i) == d.shape(out[0]) && x < 0 {
			x = i
		}
	}
	all := d.dimensions(out[0])
	if x < 0 || len(all) < 2 || !d.scalarsAre("eps", "epsilon") || len(in) > 3 {
		return false
	}
	columns = "[" + all[len(all)-1] + "]"
	for _, i := range in {
		known := slices.Contains([]string{"weight", "bias", "gamma", "beta", "w", "b", "g"}, strings.ToLower(d.Params[i].Name))
		if i != x && (!known || d.shape(i) != columns) {
			return false
		}
	}
	for _, i := range out[1:] {
		if name := strings.ToLower(d.Params[i].Name); name != "mean" && name != "rstd" {
			return false
		}
	}
	return true
}

// isGemm reports whether shapes are those of a product: a [M, K], b [K, N] and the output [M, N].
func (d *draft) isGemm(in []int, out int) bool {
	a, b, c := d.dimensions(in[0]), d.dimensions(in[1]), d.dimensions(out)
	if len(a) != 2 || len(b) != 2 || len(c) != 2 {
		return false
	}
	return a[0] == c[0] && b[1] == c[1] && a[1] == b[0] || a[0] == c[0] && b[0] == c[1] && a[1] == b[1]
}

func (d *draft) isAttention(in []int, out int) bool {
	if len(in) != 3 || !d.scalarsAre("scale", "softmax_scale", "sm_scale") {
		return false
	}
	for at, i := range in {
		name := strings.ToLower(d.Params[i].Name)
		if !strings.HasPrefix(name, []string{"q", "k", "v"}[at]) || d.shape(i) != d.shape(out) || d.dims(i) < 2 {
			return false
		}
	}
	return true
}

// elementwise names the formula of kernels that compute every element alone, told by their names.
func (d *draft) elementwise(in, out []int) string {
	if len(out) != 1 {
		return ""
	}
	for _, i := range in {
		if d.shape(i) != d.shape(out[0]) || d.Params[i].Width != d.Params[out[0]].Width {
			return ""
		}
	}
	name := strings.ReplaceAll(strings.ToLower(d.Name), "_", "")
	name = strings.TrimSuffix(strings.TrimRight(name, "0123456789"), "kernel")
	operand := func(n int) string { return d.Params[in[n]].Name }
	overwrites := d.plan.args[out[0]].role == spec.RoleOut
	written := "" // the formula
	switch {
	case regexp.MustCompile(`^(vec(tor)?|array|elementwise|matrix|mat)?add(vec(tor)?s?)?$`).MatchString(name) && len(in) == 2 && overwrites && d.scalarsAre():
		written = fmt.Sprintf("%s + %s", operand(0), operand(1))
	case regexp.MustCompile(`^(vec(tor)?|elementwise)?mul(tiply)?$`).MatchString(name) && len(in) == 2 && overwrites && d.scalarsAre():
		written = fmt.Sprintf("%s * %s", operand(0), operand(1))
	case regexp.MustCompile(`^[sd]?axpy$`).MatchString(name) && len(in) == 1 && !overwrites:
		for _, p := range d.Params {
			if !p.Pointer && p.DType.Float() {
				written = fmt.Sprintf("%s * %s + %s", p.Name, operand(0), d.Params[out[0]].Name)
			}
		}
	case regexp.MustCompile(`^relu(forward)?$`).MatchString(name) && len(in) == 1 && overwrites && d.scalarsAre():
		written = fmt.Sprintf("max(%s, 0)", operand(0))
	}
	if written == "" {
		return ""
	}
	return "{elementwise: " + yamlText(written) + "}"
}
