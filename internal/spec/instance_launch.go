package spec

import "math"

// Limits that hold on every CUDA device (compute capability 5.0 and later).
// What differs between devices is left to the driver.
var (
	gridLimits  = [3]int64{math.MaxInt32, 65535, 65535}
	blockLimits = [3]int64{1024, 1024, 64}
)

// MaxBlockThreads is how many threads a block has at the most, in all dimensions.
const MaxBlockThreads = 1024

const (
	maxClusterBlocks = 16
	maxHostThreads   = 1024
)

func (r *resolver) launch(cell string, l *Launch) InstanceLaunch {
	out := InstanceLaunch{
		Entry:                 l.Entry,
		Cooperative:           l.Cooperative,
		ProgrammaticDependent: l.ProgrammaticDependent,
	}
	if cell != CellCUDA {
		out.Threads = 1
		if l.Threads != nil {
			n, _ := r.integer(l.Threads, 1, maxHostThreads)
			out.Threads = int(n)
		}
		return out
	}
	if l.Grid == nil { // a launcher's
		return out
	}
	var gridOK, blockOK, clusterOK bool
	out.Grid, gridOK = r.extent(l.Grid, gridLimits)
	out.Block, blockOK = r.extent(l.Block, blockLimits)
	if threads := volume(out.Block); blockOK && threads > MaxBlockThreads {
		r.fail(l.Block[0], "has %d threads in all; at most %d are possible", threads, MaxBlockThreads)
	}
	if l.Cluster != nil {
		out.Cluster, clusterOK = r.extent(l.Cluster, [3]int64{maxClusterBlocks, maxClusterBlocks, maxClusterBlocks})
		if blocks := volume(out.Cluster); clusterOK && blocks > maxClusterBlocks {
			r.fail(l.Cluster[0], "has %d blocks in all; at most %d are possible", blocks, maxClusterBlocks)
			clusterOK = false
		}
		for i, f := range l.Cluster {
			if gridOK && clusterOK && out.Grid[i]%out.Cluster[i] != 0 {
				r.fail(f, "is %d and does not divide the grid's %d", out.Cluster[i], out.Grid[i])
			}
		}
	}
	if l.Shared != nil {
		out.Shared, _ = r.integer(l.Shared, 0, math.MaxInt32)
	}
	return out
}

// extent evaluates one to three formulas; the missing ones are 1.
func (r *resolver) extent(formulas []*Formula, limits [3]int64) (size [3]int64, ok bool) {
	size, ok = [3]int64{1, 1, 1}, true
	for i, f := range formulas {
		n, fine := r.integer(f, 1, limits[i])
		size[i], ok = n, ok && fine
	}
	return size, ok
}

func volume(size [3]int64) int64 { return size[0] * size[1] * size[2] }
