package machine

import (
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

func TestFingerprintOfThisMachine(t *testing.T) {
	fp := Fingerprint()
	for name, value := range map[string]string{"os": fp.OS, "kernel": fp.Kernel, "cpu model": fp.CPU.Model, "flags": fp.CPU.Flags} {
		if value == "" {
			t.Errorf("%s is empty", name)
		}
	}
	if fp.Arch != runtime.GOARCH {
		t.Errorf("arch = %s, want %s", fp.Arch, runtime.GOARCH)
	}
	if fp.MemoryBytes < 1<<26 {
		t.Errorf("memory = %d bytes", fp.MemoryBytes)
	}
	if n := len(Usable()); fp.CPU.Cores < 1 || fp.CPU.Cores > n {
		t.Errorf("%d cores behind %d usable CPUs", fp.CPU.Cores, n)
	}
	if !strings.HasPrefix(Class(fp), "host-") {
		t.Errorf("class = %q", Class(fp))
	}
}

func TestFingerprintIsTheSameTwice(t *testing.T) {
	a, b := Fingerprint(), Fingerprint()
	first, second := marshal(t, a), marshal(t, b)
	if first != second {
		t.Errorf("two fingerprints differ:\n%s\n%s", first, second)
	}
}

func TestFingerprintNamesNoHost(t *testing.T) {
	name, err := os.Hostname()
	if err != nil || len(name) < 6 {
		t.Skip("this host has no name that could be told from other text")
	}
	if text := marshal(t, Fingerprint()); strings.Contains(text, name) {
		t.Errorf("fingerprint holds the host name: %s", text)
	}
}

func TestLibcAgreesWithGetconf(t *testing.T) {
	out, err := exec.Command("getconf", "GNU_LIBC_VERSION").Output()
	if err != nil {
		t.Skip("no getconf here")
	}
	if got, want := live.libc(), strings.TrimSpace(string(out)); got != want {
		t.Errorf("libc = %q, getconf says %q", got, want)
	}
}

func TestGlibcBanner(t *testing.T) {
	for banner, want := range map[string]string{
		"\x00GNU C Library (Debian GLIBC 2.36-9+deb12u4) stable release version 2.36.\nCopyright": "2.36",
		"GNU C Library (GNU libc) stable release version 2.41.9000.\n":                            "2.41.9000",
		"GNU C Library (GNU libc) development release version 2.42":                               "2.42",
		"something else": "",
	} {
		if got := glibcBanner([]byte(banner)); got != want {
			t.Errorf("glibcBanner(%q) = %q, want %q", banner, got, want)
		}
	}
}

func TestLibcWithoutGlibc(t *testing.T) {
	h := host{root: t.TempDir()}
	if got := h.libc(); got != "" {
		t.Errorf("libc = %q on an empty system", got)
	}
	h.write(t, "lib/ld-musl-"+processors[runtime.GOARCH].name+".so.1", "")
	h.write(t, "lib64/libc.so.6", "/* not an ELF file */")
	if got := h.libc(); got != "musl" {
		t.Errorf("libc = %q, want musl", got)
	}
}

func TestOSRelease(t *testing.T) {
	got := OSRelease("# comment=1\nNAME=Plain\nPRETTY_NAME=\"With \\\"quotes\\\"\"\nVERSION='single'\nnonsense\n")
	for key, want := range map[string]string{"NAME": "Plain", "PRETTY_NAME": `With "quotes"`, "VERSION": "single"} {
		if got[key] != want {
			t.Errorf("%s = %q, want %q", key, got[key], want)
		}
	}
	if len(got) != 3 {
		t.Errorf("read %v", got)
	}
}

func TestHypervisor(t *testing.T) {
	x86Guest, x86Metal := []string{"fpu", "hypervisor"}, []string{"fpu"}
	for name, c := range map[string]struct {
		flags           []string
		vendor, product string
		clocks, xenType string
		want            string
	}{
		"bare metal":           {flags: x86Metal, vendor: "Dell Inc.", product: "PowerEdge"},
		"metal of a cloud":     {flags: x86Metal, vendor: "Amazon EC2", product: "m5.metal"},
		"arm metal of a cloud": {flags: []string{"fp"}, vendor: "Amazon EC2", product: "c7g.metal"},
		"arm guest of a cloud": {flags: []string{"fp"}, vendor: "Amazon EC2", product: "c7g.large", want: "amazon"},
		"vmware":               {flags: x86Guest, vendor: "VMware, Inc.", product: "VMware7,1", want: "vmware"},
		"hyper-v":              {flags: x86Guest, vendor: "Microsoft Corporation", product: "Virtual Machine", want: "hyperv"},
		"surface laptop":       {flags: x86Metal, vendor: "Microsoft Corporation", product: "Surface Laptop"},
		"qemu":                 {flags: x86Guest, vendor: "QEMU", product: "Standard PC (Q35 + ICH9, 2009)", want: "qemu"},
		"xen":                  {flags: x86Guest, xenType: "xen", want: "xen"},
		"no tables, kvm clock": {flags: x86Guest, clocks: "kvm-clock tsc", want: "kvm"},
		"nothing but the flag": {flags: x86Guest, clocks: "tsc", want: "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			h := host{root: t.TempDir()}
			h.write(t, "sys/class/dmi/id/sys_vendor", c.vendor)
			h.write(t, "sys/class/dmi/id/product_name", c.product)
			h.write(t, "sys/hypervisor/type", c.xenType)
			h.write(t, "sys/devices/system/clocksource/clocksource0/available_clocksource", c.clocks)
			if got := h.hypervisor(c.flags); got != c.want {
				t.Errorf("hypervisor = %q, want %q", got, c.want)
			}
		})
	}
}

func TestContainer(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"none":       {map[string]string{"proc/self/cgroup": "0::/user.slice\n"}, ""},
		"docker":     {map[string]string{".dockerenv": ""}, "docker"},
		"podman":     {map[string]string{"run/.containerenv": "engine=podman"}, "podman"},
		"kubernetes": {map[string]string{".dockerenv": "", "proc/self/cgroup": "0::/kubepods/burstable/pod1"}, "kubernetes"},
		"nspawn":     {map[string]string{"run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"},
		"by cgroup":  {map[string]string{"proc/self/cgroup": "1:cpu:/lxc/box"}, "lxc"},
		"quota of the container's root": {map[string]string{
			".dockerenv": "", "proc/self/cgroup": "0::/../../elsewhere", "sys/fs/cgroup/cpu.max": "400000 100000",
		}, "docker, CPU quota 4 cores"},
		"tightest of several quotas": {map[string]string{
			"proc/self/cgroup":                        "2:cpu,cpuacct:/a/b\n0::/\n",
			"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us":    "50000",
			"sys/fs/cgroup/cpu/a/cpu.cfs_period_us":   "100000",
			"sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us":  "200000",
			"sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us": "100000",
		}, "control group, CPU quota 0.5 cores"},
	} {
		t.Run(name, func(t *testing.T) {
			h := host{root: t.TempDir()}
			for file, data := range c.files {
				h.write(t, file, data)
			}
			if got := h.container(); got != c.want {
				t.Errorf("container = %q, want %q", got, c.want)
			}
		})
	}
}

// Nothing may fail on a machine that tells nothing.
func TestEmptyMachine(t *testing.T) {
	h := host{root: t.TempDir()}
	fp := h.fingerprint()
	if fp.OS != "Linux" || fp.CPU.Cores != 1 || fp.CPU.Threads != 1 {
		t.Errorf("fingerprint = %+v", fp)
	}
	s := h.state("before")
	if s.GHz != nil || s.TemperatureC != nil || s.Load1 != nil {
		t.Errorf("state = %+v, want nothing but when", s)
	}
	if _, ok := h.memoryAvailable(); ok {
		t.Error("memory is known")
	}
	if got := h.quietCore(h.usable()); got != 0 {
		t.Errorf("quiet core = %d", got)
	}
}

func marshal(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func BenchmarkFingerprint(b *testing.B) {
	for b.Loop() {
		Fingerprint()
	}
}

func BenchmarkState(b *testing.B) {
	for b.Loop() {
		live.state("during")
	}
}
