package machine

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// cgroupFolders returns the control groups, innermost first, whose limits of
// a controller bind this process, and whether they are of version 2. Inside a
// container the path may name folders of the host that are not mounted here;
// those read as "no limit" and the mounted root, last in the list, still binds.
func (h host) cgroupFolders(controller string) (folders []string, v2 bool) {
	const mount = "sys/fs/cgroup"
	base, group := "", ""
	for line := range strings.Lines(h.text("proc/self/cgroup")) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		switch {
		case slices.Contains(strings.Split(fields[1], ","), controller):
			base, group, v2 = path.Join(mount, controller), fields[2], false
		case fields[0] == "0" && fields[1] == "" && base == "":
			base, group, v2 = mount, fields[2], true
		}
	}
	if base == "" {
		return nil, false
	}
	// Clean keeps a path with ".." inside the mount.
	for group = path.Clean("/" + group); group != "/"; group = path.Dir(group) {
		folders = append(folders, base+group)
	}
	return append(folders, base), v2
}

// cpuQuota returns the CPU time, in cores, that control groups grant this process.
func (h host) cpuQuota() (cores float64, limited bool) {
	folders, v2 := h.cgroupFolders("cpu")
	for _, folder := range folders {
		var quota, period int64
		if v2 {
			granted, per, _ := strings.Cut(h.text(folder+"/cpu.max"), " ")
			quota, period = parsePositive(granted), parsePositive(per)
		} else {
			quota = parsePositive(h.text(folder + "/cpu.cfs_quota_us"))
			period = parsePositive(h.text(folder + "/cpu.cfs_period_us"))
		}
		if quota <= 0 || period <= 0 {
			continue
		}
		if c := float64(quota) / float64(period); !limited || c < cores {
			cores, limited = c, true
		}
	}
	return cores, limited
}

// cgroupMemory returns how many more bytes control groups let this process have.
func (h host) cgroupMemory() (bytes int64, limited bool) {
	limitFile, usedFile, cacheKey := "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"
	folders, v2 := h.cgroupFolders("memory")
	if v2 {
		limitFile, usedFile, cacheKey = "/memory.max", "/memory.current", "inactive_file"
	}
	for _, folder := range folders {
		limit := parsePositive(h.text(folder + limitFile))
		used := parsePositive(h.text(folder + usedFile))
		// Version 1 writes "no limit" as the largest page-aligned number.
		if limit < 0 || limit >= 1<<62 || used < 0 {
			continue
		}
		// Page cache counts as used but gives way before anything is killed.
		room := max(0, limit-used+max(0, statValue(h.text(folder+"/memory.stat"), cacheKey)))
		if !limited || room < bytes {
			bytes, limited = room, true
		}
	}
	return bytes, limited
}

// parsePositive reads a number that is not negative, else -1: "max" and "-1"
// both mean that there is no limit.
func parsePositive(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// statValue finds a key in lines of "key value [unit]", else -1.
func statValue(text, key string) int64 {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == key {
			return parsePositive(fields[1])
		}
	}
	return -1
}
