package doctor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"pawl/internal/machine"
)

// system is the machine that is examined.
type system struct {
	root      string
	container bool

	manager string // apt-get, dnf, pacman, or empty when it is another
	ubuntu  bool
	nonFree bool   // Debian's section of that name, where NVIDIA's packages are, is in use
	sudo    string // "sudo ", or empty for root
}

func (s *system) path(name string) string { return filepath.Join(s.root, name) }

func (s *system) text(name string) string {
	data, _ := os.ReadFile(s.path(name)) // a missing file has no text
	return strings.TrimSpace(string(data))
}

// readDistribution finds the package manager from os-release(5), which is
// right in containers too, where a manager's program may be left out.
func (s *system) readDistribution() {
	if os.Geteuid() != 0 {
		s.sudo = "sudo "
	}
	release := machine.OSRelease(s.text("etc/os-release"))
	for _, id := range strings.Fields(release["ID"] + " " + release["ID_LIKE"]) {
		switch id {
		case "ubuntu":
			s.manager, s.ubuntu, s.nonFree = "apt-get", true, true
		case "debian":
			s.manager = "apt-get"
		case "fedora", "rhel", "centos":
			s.manager = "dnf"
		case "arch":
			s.manager = "pacman"
		}
	}
	lists, _ := filepath.Glob(s.path("etc/apt/sources.list.d/*"))
	for _, list := range append(lists, s.path("etc/apt/sources.list")) {
		if data, err := os.ReadFile(list); err == nil && bytes.Contains(data, []byte(" non-free")) {
			s.nonFree = true
		}
	}
}

// install returns the command that installs a package, under the name each
// distribution gives it; what is for those that pawl does not know.
func (s *system) install(apt, dnf, pacman, what string) string {
	switch {
	case s.manager == "apt-get" && apt != "":
		return s.sudo + "apt-get install -y " + apt
	case s.manager == "dnf" && dnf != "":
		return s.sudo + "dnf install -y " + dnf
	case s.manager == "pacman" && pacman != "":
		return s.sudo + "pacman -S --noconfirm " + pacman
	}
	return "install " + what
}

// installNVIDIA is install for what NVIDIA makes: not every Debian has it, and
// Fedora never.
func (s *system) installNVIDIA(apt, pacman, what string) string {
	if !s.nonFree {
		apt = ""
	}
	return s.install(apt, "", pacman, what)
}
