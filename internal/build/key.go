package build

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"pawl/internal/sandbox"
)

// format changes whenever older cache entries must no longer be found.
const format = "pawl artifact 11"

// digest hashes fields, each preceded by its length, so that no two lists of
// fields hash alike.
type digest struct{ hash.Hash }

func newDigest(purpose string) *digest {
	d := &digest{sha256.New()}
	d.add(purpose)
	return d
}

// hashOf returns the hash of these values for one purpose.
func hashOf(purpose string, values ...any) string {
	d := newDigest(purpose)
	d.add(values...)
	return d.hex()
}

// add hashes texts, lists of texts, bytes and numbers.
func (d *digest) add(values ...any) {
	for _, value := range values {
		switch v := value.(type) {
		case string:
			d.bytes([]byte(v))
		case []string:
			d.number(uint64(len(v)))
			for _, s := range v {
				d.bytes([]byte(s))
			}
		case []byte:
			d.bytes(v)
		case uint64:
			d.number(v)
		default:
			panic(fmt.Sprintf("hash a %T", value))
		}
	}
}

func (d *digest) files(deps []dependency) {
	for _, dep := range deps {
		d.add(dep.Path, dep.SHA256)
	}
}

func (d *digest) number(n uint64) {
	d.Write(binary.LittleEndian.AppendUint64(nil, n))
}

func (d *digest) bytes(b []byte) {
	d.number(uint64(len(b)))
	d.Write(b)
}

func (d *digest) hex() string { return hex.EncodeToString(d.Sum(nil)) }

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// dependency is a file that went into a build, by the path the compiler gave, or one that was
// looked for and missing.
type dependency struct {
	Path   string
	SHA256 string // "": it was not there
}

// keyOf returns the key of the artifact that a recipe makes of these files.
func keyOf(recipe string, deps []dependency) string {
	d := newDigest(format)
	d.add(recipe)
	d.files(deps)
	return d.hex()
}

// permitted returns a recipe's hash for what compilers may read in this run: an artifact that was
// compiled with more permissions is not for a run with fewer. It also covers the named variables,
// by which a script in a compiler's place may choose what to do.
func permitted(hash string, mode sandbox.Mode) string {
	named, set := os.Getenv(readVariable), namedVariables()
	if mode != sandbox.Off && named == "" && len(set) == 0 {
		return hash
	}
	d := newDigest("permitted")
	d.add([]string{hash, named}, set)
	if mode == sandbox.Off {
		d.add(mode.String())
	}
	return d.hex()
}

// target is what -march=native and its tuning depend on.
var target = sync.OnceValue(func() string {
	d := newDigest("target")
	var uts unix.Utsname
	if unix.Uname(&uts) == nil {
		d.add(unix.ByteSliceToString(uts.Machine[:]))
	}
	d.add(cpuLines())
	return d.hex()
})

// cpuLines returns the lines of /proc/cpuinfo that identify the first CPU's model and features. No
// more is read: listing every core of a large machine takes milliseconds.
func cpuLines() []string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return nil
	}
	defer file.Close()
	var lines []string
	for scan := bufio.NewScanner(file); scan.Scan() && scan.Text() != ""; {
		name, _, _ := strings.Cut(scan.Text(), ":")
		if slices.Contains([]string{
			"vendor_id", "cpu family", "model", "flags", "cache size",
			"CPU implementer", "CPU variant", "CPU part", "Features", "isa",
		}, strings.TrimSpace(name)) {
			lines = append(lines, scan.Text())
		}
	}
	return lines
}

// environment returns the variables that change what a compiler reads or writes.
func environment() []string {
	var set []string
	for _, name := range []string{
		"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX",
		"SOURCE_DATE_EPOCH",
	} {
		if value, ok := os.LookupEnv(name); ok {
			set = append(set, name+"="+value)
		}
	}
	return set
}
