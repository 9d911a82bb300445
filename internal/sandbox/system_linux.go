//go:build linux && (amd64 || arm64)

package sandbox

import (
	"path/filepath"
	"slices"
)

// plainDevices are always there to read and write: they lead nowhere.
var plainDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// System lists what every dynamically linked program reads: libraries, what
// the loader needs to find them, what run-time systems ask about processors
// and memory, and the process's own /proc folder. Nothing in it is a
// person's: not the rest of /etc, no home, no /tmp, no /var.
func System() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store",
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload",
		"/etc/localtime", "/etc/locale.alias",
		"/sys/devices/system/cpu", "/sys/devices/system/node",
		"/sys/kernel/mm/transparent_hugepage", "/sys/kernel/mm/hugepages",
		"/sys/fs/cgroup",
		"/proc/self",
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/vmstat",
		"/proc/version", "/proc/filesystems", "/proc/sys/vm", "/proc/sys/kernel",
	}
}

// WithCUDA adds what the CUDA driver needs to start and to run kernels: its
// device nodes, what it asks about the PCI bus and memory, and its profiler about
// the clock, the name of its threads (written below /proc/self), and a local
// socket of its own.
func (p Policy) WithCUDA() Policy {
	p.Devices = slices.Concat(p.Devices, glob("/dev/nvidia*"))
	p.Read = slices.Concat(p.Read, glob("/sys/devices/pci*"),
		[]string{"/sys/bus/pci", "/sys/devices/system/memory", "/sys/devices/system/clocksource", "/proc/driver/nvidia", "/proc/devices"})
	p.ProcWritable = true
	p.LocalSockets = true
	return p
}

// WithFrameworks adds what frameworks of Python do where there is no GPU: JAX looks
// for devices of its maker on the PCI bus, and several name their threads, which is
// written below /proc/self. The rest of a PCI device, its memory too, stays closed.
func (p Policy) WithFrameworks() Policy {
	p.Read = slices.Concat(p.Read, []string{"/sys/bus/pci"}, glob("/sys/bus/pci/devices/*/vendor"), glob("/sys/bus/pci/devices/*/device"))
	p.ProcWritable = true
	return p
}

func glob(pattern string) []string {
	found, _ := filepath.Glob(pattern) // fails for a bad pattern only
	return found
}
