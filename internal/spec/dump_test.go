package spec

import (
	"fmt"
	"strings"

	"pawl/internal/formula"
)

// dump writes a whole Spec with its default instances, so that goldens show
// everything a file means.
func dump(s *Spec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "file %s dir %s class %q\n", s.File, s.Dir, s.DeviceClass)
	fmt.Fprintf(&b, "gate %+v\n", s.Gate)
	if s.Fuzz != nil {
		fmt.Fprintf(&b, "fuzz sample %d specials %s\n", s.Fuzz.Sample, s.Fuzz.Specials)
		for _, axis := range s.Fuzz.Matrix {
			fmt.Fprintf(&b, "  axis %s at %s: %s\n", axis.Name, axis.Pos, valueTexts(axis.Values))
		}
	}
	if s.CI != (CI{}) {
		fmt.Fprintf(&b, "ci %+v\n", s.CI)
	}
	for _, p := range s.Pools {
		fmt.Fprintf(&b, "pool %s %d %q cleanup %q\n", p.Name, p.Workers, p.Launch, p.Cleanup)
	}
	for _, k := range s.Kernels {
		fmt.Fprintf(&b, "\nkernel %s at %s: %s %s flags %q\n", k.Name, k.Pos, k.Cell, k.Source, k.Flags)
		if k.Python != "" {
			fmt.Fprintf(&b, "  python %s framework %q\n", k.Python, k.Framework)
		}
		for _, l := range k.Launches {
			if k.Launcher {
				fmt.Fprintf(&b, "  launcher %s %q, stream after %d\n", l.Entry, l.Args, l.Stream)
			}
		}
		for _, p := range k.Params {
			fmt.Fprintf(&b, "  param %s %s\n", p.Name, valueTexts(p.Values))
		}
		for _, f := range k.Constraints {
			fmt.Fprintf(&b, "  constraint %s at %s\n", f.Text, f.Pos)
		}
		for _, f := range k.Requires {
			fmt.Fprintf(&b, "  requires %s at %s\n", f.Text, f.Pos)
		}
		fmt.Fprintf(&b, "  deterministic %t, variables %q, sizes %q\n", k.Deterministic, k.Variables(), k.Sizes())
		if k.Oracle != nil {
			fmt.Fprintf(&b, "  oracle %q %q %q\n", k.Oracle.Builtin, k.Oracle.Kernel, k.Oracle.Python)
			if k.Oracle.Elementwise != "" {
				fmt.Fprintf(&b, "  elementwise %s\n", k.Oracle.Elementwise)
			}
		}
		fmt.Fprintf(&b, "  tolerance atol %g rtol %g, usual %g\n", k.Tolerance.Atol, k.Tolerance.Rtol, k.Tolerance.Usual)
		if rival := k.Tolerance.Rival; rival != nil {
			fmt.Fprintf(&b, "  rival %q %q at %s, %g times\n", rival.Kernel, rival.Python, rival.Pos, k.Tolerance.Factor)
		}
		fmt.Fprintf(&b, "  variants %d, default %s, defines %q\n", len(names(k)), k.Default().Name(), k.Default().Defines())
		for _, c := range k.Configs {
			in, err := k.Default().At(c)
			if err != nil {
				fmt.Fprintf(&b, "  %v\n", err)
				continue
			}
			fmt.Fprintf(&b, "  config %s: flops %g bytes %g footprint %d\n", c.Name, in.Flops, in.Bytes, in.Footprint)
			for _, l := range in.Launches {
				fmt.Fprintf(&b, "    launch %+v\n", l)
			}
			for _, a := range in.Args {
				if a.Symbol != "" {
					fmt.Fprintf(&b, "    symbol %s:\n", a.Symbol)
				}
				if a.Buffer {
					fmt.Fprintf(&b, "    buffer %s %s %v %d B %s %s%v\n", a.Name, a.DType, a.Shape, a.Bytes, a.Role, a.Init.Kind, a.Init.Args)
				} else if a.TensorMap != nil {
					fmt.Fprintf(&b, "    tensor map %s %+v\n", a.Name, *a.TensorMap)
				} else {
					fmt.Fprintf(&b, "    scalar %s %s %s\n", a.Name, a.DType, a.Scalar)
				}
			}
		}
	}
	for _, f := range s.Findings {
		fmt.Fprintf(&b, "finding %s at %s: %s, confidence %g\n", f.ID, f.Pos, f.Title, f.Confidence)
		for _, c := range f.When {
			fmt.Fprintf(&b, "  when %s at %s\n", c.Text, c.Pos)
		}
		for _, x := range f.Unless {
			fmt.Fprintf(&b, "  unless %s at %s: %s\n", x.If.Text, x.If.Pos, x.Why)
		}
		if f.Gain != nil {
			fmt.Fprintf(&b, "  gain %s at %s\n", f.Gain.Text, f.Gain.Pos)
		}
		fmt.Fprintf(&b, "  evidence %q %q\n", f.Evidence.Text, f.Evidence.Facts)
		fmt.Fprintf(&b, "  first %q deeper %q next %q\n", f.First, f.Deeper, f.Next)
	}
	for _, pos := range s.TODOs {
		fmt.Fprintf(&b, "todo at %s\n", pos)
	}
	return b.String()
}

func valueTexts(values []formula.Value) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, valueText(v))
	}
	return strings.Join(texts, " ")
}
