package machine

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/pattern"
	"pawl/internal/result"
)

// Fingerprint reads what a number depends on besides the code. It takes about
// a millisecond, so that nobody needs to keep a copy that may be out of date.
// Compilers and Sandbox are left to those who know them.
func Fingerprint() result.Fingerprint { return live.fingerprint() }

func (h host) fingerprint() result.Fingerprint {
	info := parseCPUInfo(h.head("proc/cpuinfo", cpuInfoHead))
	memory, _ := h.meminfo("MemTotal:")
	return result.Fingerprint{
		OS:          h.osName(),
		Kernel:      h.text("proc/sys/kernel/osrelease"),
		Arch:        runtime.GOARCH,
		Libc:        h.libc(),
		CPU:         h.cpu(info),
		MemoryBytes: memory,
		Hypervisor:  h.hypervisor(info.flags),
		Clocksource: h.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
		Container:   h.container(),
	}
}

var (
	trademarks = pattern.New(`(?i)\((r|tm|c)\)`)
	// Some vendors append the nominal clock, others "CPU" and the clock.
	nominalClock = pattern.New(`(?i)(\bcpu\b\s*)?@\s*[0-9.]+\s*[gm]hz`)
	notSlug      = pattern.New(`[^a-z0-9]+`)
)

// Class returns the device class of the host: "host-" and a slug of the CPU model.
func Class(fp result.Fingerprint) string {
	model := trademarks.ReplaceAllString(fp.CPU.Model, " ")
	model = nominalClock.ReplaceAllString(model, " ")
	return "host-" + cmp.Or(Slug(model), fp.Arch, "unknown")
}

// Slug returns a product's name in lower case, words joined by hyphens.
func Slug(name string) string {
	return strings.Trim(notSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

func (h host) osName() string {
	fields := OSRelease(cmp.Or(h.text("etc/os-release"), h.text("usr/lib/os-release")))
	return cmp.Or(fields["PRETTY_NAME"], fields["NAME"], "Linux")
}

// OSRelease reads the shell-like assignments of os-release(5).
func OSRelease(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, found := strings.Cut(strings.TrimSpace(line), "=")
		if !found || strings.HasPrefix(key, "#") {
			continue
		}
		if unquoted, err := strconv.Unquote(value); err == nil {
			fields[key] = unquoted
		} else {
			fields[key] = strings.Trim(value, `'"`)
		}
	}
	return fields
}

// processors are the names of Go's architectures elsewhere.
var processors = map[string]struct {
	name string
	elf  elf.Machine
}{
	"amd64": {"x86_64", elf.EM_X86_64},
	"arm64": {"aarch64", elf.EM_AARCH64},
}

// libc reads the version out of the C library itself. Asking ldd would start a
// shell script.
func (h host) libc() string {
	processor := processors[runtime.GOARCH].name
	for _, folder := range []string{"lib/" + processor + "-linux-gnu", "lib64", "usr/lib64", "usr/lib"} {
		if version := glibcVersion(h.path(folder + "/libc.so.6")); version != "" {
			return "glibc " + version
		}
	}
	if h.exists("lib/ld-musl-" + processor + ".so.1") {
		return "musl"
	}
	return ""
}

// glibcVersion looks for the banner that the library prints when it is run as
// a program: "... stable release version 2.36."
func glibcVersion(file string) string {
	library, err := elf.Open(file)
	if err != nil {
		return ""
	}
	defer library.Close()
	// Some systems keep the libraries of 32-bit programs in the same places.
	if library.Machine != processors[runtime.GOARCH].elf {
		return ""
	}
	constants := library.Section(".rodata")
	if constants == nil {
		return ""
	}
	data, err := constants.Data()
	if err != nil {
		return ""
	}
	return glibcBanner(data)
}

func glibcBanner(data []byte) string {
	_, banner, found := bytes.Cut(data, []byte(" release version "))
	if !found {
		return ""
	}
	end := bytes.IndexFunc(banner, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(banner)
	}
	return string(bytes.TrimRight(banner[:end], "."))
}

// sign is a text that gives a hypervisor away.
type sign struct{ text, name string }

// find returns the name of the first sign in a text.
func find(signs []sign, text string) string {
	for _, s := range signs {
		if strings.Contains(text, s.text) {
			return s.name
		}
	}
	return ""
}

// firmware maps what virtual machines write into their DMI tables.
var firmware = []sign{
	{"VMware", "vmware"},
	{"VirtualBox", "virtualbox"},
	{"innotek", "virtualbox"},
	{"Amazon EC2", "amazon"},
	{"Google", "google"},
	{"Parallels", "parallels"},
	{"BHYVE", "bhyve"},
	{"Apple Virtualization", "apple"},
	{"Xen", "xen"},
	{"KVM", "kvm"},
	{"OpenStack", "kvm"},
	{"QEMU", "qemu"},
	{"Microsoft Corporation Virtual Machine", "hyperv"},
}

// guestClocks are offered as clock sources only to guests of one hypervisor.
var guestClocks = []sign{
	{"kvm-clock", "kvm"},
	{"hyperv", "hyperv"},
	{"xen", "xen"},
}

// hypervisor names what runs this machine, "yes" when that is all that is
// known, or "" on bare metal.
func (h host) hypervisor(flags []string) string {
	if kind := h.text("sys/hypervisor/type"); kind != "" {
		return kind
	}
	guest, x86 := slices.Contains(flags, "hypervisor"), slices.Contains(flags, "fpu")
	product := h.text("sys/class/dmi/id/product_name")
	// Clouds sell bare metal with the same vendor in its tables. On x86 the
	// flag tells, elsewhere the product's name.
	if (x86 && !guest) || strings.HasSuffix(product, ".metal") {
		return ""
	}
	table := h.text("sys/class/dmi/id/sys_vendor") + " " + product
	if name := find(firmware, table); name != "" || !guest {
		return name
	}
	clocks := h.text("sys/devices/system/clocksource/clocksource0/available_clocksource")
	return cmp.Or(find(guestClocks, clocks), "yes")
}

// container names the kind of container around this process, and the CPU time
// that its control group grants when that is less than the whole: both change
// timings, and neither shows in the number of cores.
func (h host) container() string {
	kind := h.containerKind()
	quota, limited := h.cpuQuota()
	if !limited {
		return kind
	}
	return fmt.Sprintf("%s, CPU quota %.4g cores", cmp.Or(kind, "control group"), quota)
}

func (h host) containerKind() string {
	groups := h.text("proc/self/cgroup")
	switch {
	case strings.Contains(groups, "kubepods") || h.exists("run/secrets/kubernetes.io"):
		return "kubernetes"
	case h.exists("run/.containerenv"):
		return "podman"
	case h.exists(".dockerenv"):
		return "docker"
	}
	if kind := h.text("run/systemd/container"); kind != "" {
		return kind
	}
	for _, kind := range []string{"docker", "libpod", "lxc", "containerd"} {
		if strings.Contains(groups, "/"+kind) {
			return kind
		}
	}
	return ""
}
