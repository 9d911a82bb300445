package machine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/result"
)

const cpuFolder = "sys/devices/system/cpu/"

// cpuInfoHead holds the first CPU of any machine's /proc/cpuinfo; the whole
// file takes milliseconds on machines with hundreds of CPUs.
const cpuInfoHead = 16 << 10

func (h host) cpu(info cpuInfo) result.CPU {
	usable := h.usable()
	cores := h.groups(usable, "core_cpus_list", "thread_siblings_list")
	return result.CPU{
		Model:   info.name(),
		Sockets: h.sockets(),
		Cores:   len(cores), // behind the usable CPUs
		Threads: max(1, slices.Max(cores)),
		Caches:  h.caches(usable[0]),
		// Those of a desktop differ. A machine with hundreds of CPUs has them all alike, and
		// reading each would take milliseconds.
		MaxGHz:   h.highestGHz(usable[:min(len(usable), 32)], "cpuinfo_max_freq"),
		Governor: h.text(fmt.Sprintf(cpuFolder+"cpu%d/cpufreq/scaling_governor", usable[0])),
		Turbo:    h.turbo(),
		Features: info.features(),
		Flags:    flagsHash(info.flags),
	}
}

// flagsHash does not depend on the order, which kernels have changed.
func flagsHash(flags []string) string {
	if len(flags) == 0 {
		return ""
	}
	sorted := slices.Sorted(slices.Values(flags))
	sum := sha256.Sum256([]byte(strings.Join(sorted, " ")))
	return hex.EncodeToString(sum[:])
}

// sockets counts the processor packages. Zero means unknown.
func (h host) sockets() int {
	packages := h.groups(h.online(), "package_cpus_list", "core_siblings_list")
	if slices.Contains(packages, 0) {
		return 0
	}
	return len(packages)
}

// groups returns the sizes of the groups that CPUs form, by their neighbour lists: 0 for a CPU
// without one. A list has a present name and the one from before Linux 5.2. It needs one reading
// per group, not one per CPU.
func (h host) groups(ids []int, name, oldName string) []int {
	var sizes []int
	seen := map[int]bool{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		folder := fmt.Sprintf(cpuFolder+"cpu%d/topology/", id)
		members := h.cpuList(folder + name)
		if len(members) == 0 {
			members = h.cpuList(folder + oldName)
		}
		sizes = append(sizes, len(members))
		for _, m := range members {
			seen[m] = true
		}
	}
	return sizes
}

func (h host) caches(id int) []result.Cache {
	var caches []result.Cache
	for _, index := range h.glob(fmt.Sprintf(cpuFolder+"cpu%d/cache/index[0-9]*", id)) {
		level, ok := h.integer(index + "/level")
		if !ok {
			continue
		}
		bytes, ok := parseSize(h.text(index + "/size"))
		if !ok {
			continue
		}
		caches = append(caches, result.Cache{
			Level: int(level),
			Type:  strings.ToLower(h.text(index + "/type")),
			Bytes: bytes,
		})
	}
	slices.SortStableFunc(caches, func(a, b result.Cache) int { return a.Level - b.Level })
	return caches
}

// parseSize reads sizes as sysfs writes them: 48K, 32M.
func parseSize(text string) (int64, bool) {
	number := strings.TrimRight(text, "KMG")
	shift := map[string]uint{"": 0, "K": 10, "M": 20, "G": 30}
	by, ok := shift[text[len(number):]]
	n, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || n < 0 || n > (1<<62)>>by {
		return 0, false
	}
	return n << by, true
}

// highestGHz returns the highest of the CPUs' clocks that a file of cpufreq names; 0 if unknown.
func (h host) highestGHz(ids []int, name string) float64 {
	var highest int64
	for _, id := range ids {
		khz, ok := h.integer(fmt.Sprintf(cpuFolder+"cpu%d/cpufreq/", id) + name)
		if !ok {
			break
		}
		highest = max(highest, khz)
	}
	return float64(highest) / 1e6
}

// turbo asks the drivers in the order of their authority: intel_pstate ignores
// the generic switch, and amd_pstate has one per policy only.
func (h host) turbo() string {
	disabled := map[string]string{"0": "on", "1": "off"}
	enabled := map[string]string{"0": "off", "1": "on"}
	boost := cmp.Or(h.text(cpuFolder+"cpufreq/boost"), h.text(cpuFolder+"cpufreq/policy0/boost"))
	return cmp.Or(disabled[h.text(cpuFolder+"intel_pstate/no_turbo")], enabled[boost])
}
