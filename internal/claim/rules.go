package claim

import (
	"fmt"
	"reflect"
	"slices"

	"pawl/internal/spec"
	"pawl/internal/unit"
)

// loosened names the rules of the base that the change's pawl.yaml would loosen or change. A check
// uses the base's, so these say what a reviewer should look at.
func loosened(base, head *spec.Spec) []string {
	if head == nil {
		return []string{"the change's pawl.yaml cannot be read"}
	}
	return Differences(base, head)
}

// Differences names the rules that differ from one pawl.yaml to another.
func Differences(base, head *spec.Spec) []string {
	var out []string
	note := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, rule := range []struct {
		name     string
		was, now float64
	}{
		{"gate.regression", base.Gate.Regression, head.Gate.Regression},
		{"gate.improvement", base.Gate.Improvement, head.Gate.Improvement},
		{"gate.claim", base.Gate.Claim, head.Gate.Claim},
		{"gate.cv", base.Gate.CV, head.Gate.CV},
	} {
		if rule.was != rule.now {
			note("%s: %s becomes %s", rule.name, unit.PercentPlain(rule.was), unit.PercentPlain(rule.now))
		}
	}
	if base.DeviceClass != head.DeviceClass {
		note("device_class: %q becomes %q", base.DeviceClass, head.DeviceClass)
	}
	for _, was := range base.Kernels {
		now := head.Kernel(was.Name)
		if now == nil {
			note("kernel %s is removed", was.Name)
			continue
		}
		for _, config := range was.Configs {
			switch other := now.Config(config.Name); {
			case other == nil:
				note("config %s/%s is removed", was.Name, config.Name)
			case !slices.EqualFunc(config.Vars, other.Vars, func(v, w spec.Var) bool { return v.Name == w.Name && v.Value.String() == w.Value.String() }):
				note("config %s/%s has other values", was.Name, config.Name)
			}
		}
		if oracleWords(was.Oracle) != oracleWords(now.Oracle) {
			note("oracle of %s: %s becomes %s", was.Name, oracleWords(was.Oracle), oracleWords(now.Oracle))
		}
		if a, b := was.Tolerance, now.Tolerance; a.Atol != b.Atol || a.Rtol != b.Rtol || a.Factor != b.Factor || oracleWords(a.Rival) != oracleWords(b.Rival) {
			note("tolerance of %s: atol %g, rtol %g becomes atol %g, rtol %g", was.Name, a.Atol, a.Rtol, b.Atol, b.Rtol)
		}
		if was.Deterministic && !now.Deterministic {
			note("%s is no longer deterministic", was.Name)
		}
		for _, arg := range was.Args {
			if at := slices.IndexFunc(now.Args, func(other *spec.Arg) bool { return other.Name == arg.Name }); at >= 0 && !reflect.DeepEqual(arg.Init, now.Args[at].Init) {
				note("argument %s of %s is filled differently", arg.Name, was.Name)
			}
		}
		if formulaText(was.Work.Flops) != formulaText(now.Work.Flops) || formulaText(was.Work.Bytes) != formulaText(now.Work.Bytes) {
			note("work of %s changes", was.Name)
		}
	}
	return out
}

func formulaText(f *spec.Formula) string {
	if f == nil {
		return ""
	}
	return f.Text
}

// oracleWords says where right answers come from.
func oracleWords(o *spec.Oracle) string {
	switch {
	case o == nil:
		return "none"
	case o.Builtin != "":
		return o.Builtin
	case o.Kernel != "":
		return "kernel " + o.Kernel
	case o.Python != "":
		return "python " + o.Python
	}
	return "elementwise " + shown(o.Elementwise)
}
