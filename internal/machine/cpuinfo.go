package machine

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// cpuInfo is what /proc/cpuinfo says of one CPU.
type cpuInfo struct {
	model       string
	flags       []string // the kernel's feature list, in its order
	implementer string   // arm64 names its CPUs by numbers only
	part        string
}

// cpuInfoFields walks the "key : value" lines of /proc/cpuinfo. The blank line
// that ends a CPU comes as two empty strings.
func cpuInfoFields(text string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for line := range strings.Lines(text) {
			key, value, found := strings.Cut(line, ":")
			if !found && strings.TrimSpace(line) != "" {
				continue
			}
			if !yield(strings.TrimSpace(key), strings.TrimSpace(value)) {
				return
			}
		}
	}
}

// parseCPUInfo reads the first CPU of /proc/cpuinfo; the others repeat it.
func parseCPUInfo(text string) cpuInfo {
	var info cpuInfo
	for key, value := range cpuInfoFields(text) {
		switch key {
		case "":
			if info.flags != nil {
				return info
			}
		case "model name", "cpu":
			info.model = cmp.Or(info.model, strings.Join(strings.Fields(value), " "))
		case "flags", "Features", "isa":
			info.flags = strings.Fields(value)
		case "CPU implementer":
			info.implementer = value
		case "CPU part":
			info.part = value
		}
	}
	return info
}

// maxMHz returns the highest clock of all CPUs in /proc/cpuinfo.
func maxMHz(text string) (float64, bool) {
	highest := 0.0
	for key, value := range cpuInfoFields(text) {
		if key != "cpu MHz" {
			continue
		}
		if mhz, err := strconv.ParseFloat(value, 64); err == nil && !math.IsInf(mhz, 0) && mhz > highest {
			highest = mhz
		}
	}
	return highest, highest > 0
}

// name returns the model name, made from the numbers where there is no other.
func (c cpuInfo) name() string {
	if c.model != "" || c.implementer == "" {
		return c.model
	}
	if name, ok := armParts[c.implementer+" "+c.part]; ok {
		return name
	}
	return "ARM implementer " + c.implementer + " part " + c.part
}

// armParts names the arm64 processors found in servers and boards that run
// kernels, from Arm's and the vendors' MIDR tables.
var armParts = map[string]string{
	"0x41 0xd08": "ARM Cortex-A72",
	"0x41 0xd0b": "ARM Cortex-A76",
	"0x41 0xd0c": "ARM Neoverse-N1",
	"0x41 0xd40": "ARM Neoverse-V1",
	"0x41 0xd42": "ARM Cortex-A78AE",
	"0x41 0xd49": "ARM Neoverse-N2",
	"0x41 0xd4f": "ARM Neoverse-V2",
	"0x41 0xd83": "ARM Neoverse-V3AE",
	"0x41 0xd84": "ARM Neoverse-V3",
	"0x41 0xd8e": "ARM Neoverse-N3",
	"0x46 0x001": "Fujitsu A64FX",
	"0x48 0xd01": "HiSilicon Kunpeng-920",
	"0x4e 0x004": "NVIDIA Carmel",
	"0x61 0x022": "Apple M1",
	"0x61 0x023": "Apple M1",
	"0xc0 0xac3": "Ampere-1",
	"0xc0 0xac4": "Ampere-1a",
}

// notable are the features that change what a compiler makes of a kernel,
// under the names people use. The flag of neon is asimd.
var notable = []struct{ flag, name string }{
	{"sse4_2", "sse4.2"},
	{"avx", "avx"},
	{"f16c", "f16c"},
	{"fma", "fma"},
	{"avx2", "avx2"},
	{"avx_vnni", "avx-vnni"},
	{"avx512f", "avx512f"},
	{"avx512_vnni", "avx512-vnni"},
	{"avx512_bf16", "avx512-bf16"},
	{"avx512_fp16", "avx512-fp16"},
	{"amx_tile", "amx"},
	{"amx_int8", "amx-int8"},
	{"amx_bf16", "amx-bf16"},
	{"amx_fp16", "amx-fp16"},
	{"asimd", "neon"},
	{"asimdhp", "fp16"},
	{"asimddp", "dotprod"},
	{"i8mm", "i8mm"},
	{"bf16", "bf16"},
	{"sve", "sve"},
	{"sve2", "sve2"},
	{"sme", "sme"},
}

func (c cpuInfo) features() string {
	var names []string
	for _, n := range notable {
		if slices.Contains(c.flags, n.flag) {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, " ")
}
