package build

import (
	"strconv"
	"strings"

	"pawl/internal/native/cuda/cubin"
	"pawl/internal/pattern"
	"pawl/internal/result"
)

var (
	ptxasEntry  = pattern.New(`^ptxas info\s*: (?:Compiling entry function|Function properties for) '?([^' ]+)'?`)
	ptxasSpills = pattern.New(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	ptxasUsed   = pattern.New(`Used (\d+) registers`)
	ptxasShared = pattern.New(`(\d+)(?:\+(\d+))? bytes smem`)
)

// splitPTXAS reads the output of ptxas -v for each kernel, by symbol, and returns the rest of the
// compiler's output unchanged.
func splitPTXAS(output string) (map[string]result.Resources, string) {
	found := map[string]result.Resources{}
	var rest strings.Builder
	entry := ""
	for line := range strings.Lines(output) {
		spills := ptxasSpills.FindStringSubmatch(line)
		if !strings.HasPrefix(line, "ptxas info") && spills == nil {
			rest.WriteString(line)
			continue
		}
		if m := ptxasEntry.FindStringSubmatch(line); m != nil {
			entry = strings.TrimSpace(m[1])
		}
		if entry == "" {
			continue
		}
		r := found[entry]
		if spills != nil {
			r.Stack, r.SpillStores, r.SpillLoads = number(spills[1]), number(spills[2]), number(spills[3])
		}
		if m := ptxasUsed.FindStringSubmatch(line); m != nil {
			r.Registers = int(number(m[1]))
			for _, m := range ptxasShared.Regexp().FindAllStringSubmatch(line, -1) {
				r.Shared += number(m[1]) + number(m[2])
			}
		}
		found[entry] = r
	}
	return found, rest.String()
}

func number(digits string) int64 {
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}

// declaredConstants returns how many bytes of constant memory a cubin's source declares. It covers
// the whole module, as the driver counts it; ptxas no longer reports it for each kernel.
func declaredConstants(image []byte) (bytesUsed int64) {
	file, err := cubin.Open(image)
	if err != nil {
		return 0
	}
	for _, section := range file.Sections {
		if section.Name == ".nv.constant3" {
			bytesUsed += int64(section.Size)
		}
	}
	return bytesUsed
}
