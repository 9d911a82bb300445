//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newestABI is the last Landlock version this file knows the rights of. A
// newer kernel is used as if it were this one.
const newestABI = 7

const (
	fsRead = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fsList = unix.LANDLOCK_ACCESS_FS_READ_DIR
	fsExec = unix.LANDLOCK_ACCESS_FS_EXECUTE
	// Device nodes are left out on purpose: nobody needs mknod in scratch.
	fsScratch = fsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	fsDevice = fsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	fsPlain  = fsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE

	// The kernel takes only these for a rule about something that is not a folder.
	fsForFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landlockABI asks the kernel for its Landlock version, 0 when it has none.
func landlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// handledFS returns every filesystem right the given ABI knows: what is handled
// and not granted by a rule is refused.
func handledFS(abi int) uint64 {
	var rights uint64 = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1
	for since, right := range map[int]uint64{
		2: unix.LANDLOCK_ACCESS_FS_REFER, 3: unix.LANDLOCK_ACCESS_FS_TRUNCATE, 5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
	} {
		if abi >= since {
			rights |= right
		}
	}
	return rights
}

// ruleset is a Landlock ruleset under construction.
type ruleset struct {
	fd      int
	handled uint64
	// pins are descriptors of the rules' places in procfs. A rule is tied to an inode, and procfs
	// creates a new one whenever the cached entry was dropped meanwhile: somebody has to hold these
	// as long as the process lives, or its rules are lost under memory pressure.
	pins []int
}

// newRuleset refuses all TCP, unless the program has a network of its own, which leads nowhere.
func newRuleset(abi int, noTCP bool) (*ruleset, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handledFS(abi)}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if abi >= 4 {
		if noTCP {
			attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
		size += unsafe.Sizeof(attr.Handled_access_net)
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size += unsafe.Sizeof(attr.Scoped)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return nil, fmt.Errorf("create Landlock ruleset: %w", errno)
	}
	return &ruleset{fd: int(fd), handled: attr.Handled_access_fs}, nil
}

// errSkipped is returned by grant for a missing path.
var errSkipped = errors.New("no such place")

// grant allows rights below a folder, or on a file.
func (r *ruleset) grant(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EACCES):
		// A path that this process cannot reach, the program it becomes cannot reach either.
		return errSkipped
	case err != nil:
		return fmt.Errorf("open %s: %w", path, err)
	}
	keep := false
	defer func() {
		if !keep {
			unix.Close(fd)
		}
	}()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("stat %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fsForFiles
	}
	if rights&r.handled == 0 { // as of a file of which the entries may be listed
		return nil
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("add Landlock rule for %s: %w", path, errno)
	}
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC {
		r.pins = append(r.pins, fd)
		keep = true
	}
	return nil
}

// restrictSelf puts the calling thread, and what it executes, under the rules.
func (r *ruleset) restrictSelf() error {
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0)
	if errno != 0 {
		return fmt.Errorf("enforce Landlock ruleset: %w", errno)
	}
	return unix.Close(r.fd)
}
