package cell

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	"pawl/internal/native/dl"
)

// The C library handles these two signals itself: from the first pthread_cancel on, or from the
// first setuid with threads.
const (
	signalCancel = 32
	signalSetxid = 33
)

// mapping is the memory of a file, as /proc/self/maps lists it; the zero mapping is nowhere.
type mapping struct {
	line       string
	start, end uint64
}

// libraryCode returns the mapping of the C library's code. Call it before anybody could have put
// something else there.
func libraryCode() mapping {
	cancel, err := dl.Loaded("pthread_cancel")
	if err != nil {
		return mapping{}
	}
	return mappingAt(uint64(cancel))
}

func mappingAt(address uint64) mapping {
	maps, _ := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		m := mapping{line: strings.TrimSuffix(line, "\n")}
		if _, err := fmt.Sscanf(m.line, "%x-%x ", &m.start, &m.end); err == nil && m.holds(address) {
			return m
		}
	}
	return mapping{}
}

func (m mapping) holds(address uint64) bool { return m.start <= address && address < m.end }

// pristine reports whether the mapping is unchanged, and all of its pages are the file's: the
// system makes a private copy of each page that somebody has written to.
func (m mapping) pristine() bool {
	smaps, _ := os.ReadFile("/proc/self/smaps")
	_, details, _ := strings.Cut("\n"+string(smaps), "\n"+m.line+"\n")
	copies := map[string]string{}
	for line := range strings.Lines(details) {
		name, value, _ := strings.Cut(line, ":")
		if strings.Contains(name, "-") {
			break // the next mapping
		}
		copies[name] = strings.TrimSpace(value)
	}
	return copies["Anonymous"] == "0 kB" && copies["Swap"] == "0 kB"
}

// librarysOwn reports whether an action is the C library's for one of its own signals: it points
// into the library's original code, and nobody has written there.
func (h *handlers) librarysOwn(signal int, action []byte) bool {
	if signal != signalCancel && signal != signalSetxid {
		return false
	}
	return h.library.holds(binary.NativeEndian.Uint64(action)) && h.library.pristine()
}
