package machine

// MemoryAvailable returns how many bytes this process could still use without
// swapping or being killed: the machine's, or what its control group leaves.
func MemoryAvailable() (int64, bool) { return live.memoryAvailable() }

func (h host) memoryAvailable() (int64, bool) {
	available, ok := h.meminfo("MemAvailable:")
	if room, limited := h.cgroupMemory(); limited && (!ok || room < available) {
		return room, true
	}
	return available, ok
}

// meminfo reads one line of /proc/meminfo, in bytes.
func (h host) meminfo(key string) (int64, bool) {
	kib := statValue(h.text("proc/meminfo"), key)
	if kib < 0 || kib > 1<<50 {
		return 0, false
	}
	return kib << 10, true
}
