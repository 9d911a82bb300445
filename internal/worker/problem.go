package worker

import (
	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

// Problem returns the request that gives a cell an instance's arguments and launches. Symbols are
// the launches' names in the artifact.
func Problem(in *spec.Instance, symbols []string) wire.Prepare {
	cuda := in.Variant.Kernel.Cell == spec.CellCUDA
	m := wire.Prepare{Threads: 1, Pin: !cuda}
	for i, launch := range in.Launches {
		m.Threads = max(m.Threads, launch.Threads)
		if cuda {
			m.Launches = append(m.Launches, wire.Launch{
				Entry: symbols[i], Args: launch.Args, Grid: dims(launch.Grid), Block: dims(launch.Block), Cluster: dims(launch.Cluster),
				Shared: uint32(launch.Shared), Cooperative: launch.Cooperative, ProgrammaticDependent: launch.ProgrammaticDependent,
			})
		}
	}
	for _, arg := range in.Args {
		a := wire.Arg{Name: arg.Name, DType: string(arg.DType), Buffer: arg.Buffer, Shared: arg.Symbol != ""}
		if cuda {
			a.Symbol = arg.Symbol
		}
		if arg.Buffer {
			a.Shape = arg.Shape
			a.Count, a.Role, a.Init, a.Params = arg.Elements, string(arg.Role), arg.Init.Kind, arg.Init.Args
		} else if arg.TensorMap != nil {
			a.TensorMap = new(wire.TensorMap(*arg.TensorMap))
		} else {
			a.Value = arg.Scalar.String()
		}
		m.Args = append(m.Args, a)
	}
	return m
}

func dims(n [3]int64) [3]uint32 { return [3]uint32{uint32(n[0]), uint32(n[1]), uint32(n[2])} }
