package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"pawl/internal/machine"
	"pawl/internal/roof"
	"pawl/internal/sandbox"
	"pawl/internal/unit"
)

// little is the free space below which runs are likely to fail.
const little = 512 << 20

const elsewhere = "export XDG_CACHE_HOME=/path/to/another/folder"

func (s *system) machine(cacheDir string) []probe {
	return []probe{
		single(Check{Group: Machine, Name: "sandbox", Gives: "keeps candidate code and its compilers away from your files and network"},
			func(_ context.Context, c *Check) { describeSandbox(c, sandbox.Probe()) }),
		single(Check{Group: Machine, Name: "pinning", Gives: "steadier timings: kernels stay on one core"}, lookPinning),
		single(Check{Group: Machine, Name: "memory", Gives: "room for arguments"}, lookMemory),
		single(Check{Group: Machine, Name: "cache folder", Gives: "reuses earlier builds"},
			func(ctx context.Context, c *Check) { lookCache(ctx, c, cacheDir) }),
	}
}

func describeSandbox(c *Check, level sandbox.Level) {
	missing := level.Missing
	level.Missing = nil
	c.Status, c.Value = OK, level.String()
	if len(missing) == 0 {
		return
	}
	c.Status = Limited
	if level.Landlock == 0 && (level.Seccomp == "" || level.Seccomp == sandbox.SeccompNone) {
		c.Status = Missing
	}
	c.Note = strings.Join(missing, "; ")
	c.Fix = "run Linux 6.2 or later, with landlock in the list of /sys/kernel/security/lsm"
}

// lookPinning pins a thread, because a container may allow the asking and
// refuse the doing.
func lookPinning(_ context.Context, c *Check) {
	core, usable := machine.QuietCore(), machine.Usable()
	refused := make(chan error)
	go func() {
		// Never unlocked: the thread ends with its goroutine.
		runtime.LockOSThread()
		var set unix.CPUSet
		set.Set(core)
		refused <- unix.SchedSetaffinity(0, &set)
	}()
	if err := <-refused; err != nil {
		c.Status, c.Note = Limited, fmt.Sprintf("the kernel refuses to pin to CPU %d: %v", core, err)
		c.Fix = "allow sched_setaffinity in the container's seccomp profile"
		return
	}
	c.Status, c.Value = OK, fmt.Sprintf("CPU %d of %d", core, len(usable))
	if len(usable) == 1 {
		c.Status, c.Note = Limited, "everything else also runs on this CPU"
		c.Fix = "a machine, container or job with two CPUs or more"
	}
}

func lookMemory(_ context.Context, c *Check) {
	available, known := machine.MemoryAvailable()
	if !known {
		c.Status, c.Note = Limited, "the Linux kernel does not report it"
		return
	}
	c.Status, c.Value = OK, unit.Bytes(available)+" available"
	if available < little {
		c.Status, c.Note = Limited, "large configs will not fit"
		c.Fix = "close other programs, or raise the container's memory limit"
	}
}

func lookCache(ctx context.Context, c *Check, dir string) {
	if dir = cmp.Or(dir, os.Getenv("PAWL_CACHE")); dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			c.Status, c.Note, c.Fix = Limited, err.Error(), elsewhere
			return
		}
		dir = filepath.Join(user, "pawl")
	}
	c.Path = dir
	if err := writable(dir); err != nil {
		c.Status, c.Note, c.Fix = Limited, err.Error(), elsewhere
		return
	}
	c.Status, c.Value = OK, unit.Bytes(folderSize(ctx, dir))+" used"
	var disk unix.Statfs_t
	if unix.Statfs(existing(dir), &disk) != nil {
		return
	}
	if free := int64(disk.Bavail) * int64(disk.Bsize); free < little {
		c.Status, c.Note = Limited, unit.Bytes(free)+" left on its disk"
		c.Fix = "free some disk space, or " + elsewhere
	}
}

// writable tries it. A folder that is not there yet is not made: whether it
// could be is up to the nearest one that is.
func writable(dir string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		if err := unix.Access(existing(dir), unix.W_OK|unix.X_OK); err != nil {
			return fmt.Errorf("cannot be created in %s: %w", existing(dir), err)
		}
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return errors.New("is not a folder")
	}
	file, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return fmt.Errorf("not writable: %w", err)
	}
	// The file proves it; that it closes and goes again is beside the point.
	_ = file.Close()
	_ = os.Remove(file.Name())
	return nil
}

// existing returns the nearest folder above dir, or dir itself, that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// folderSize counts what it can read until it is told to stop.
func folderSize(ctx context.Context, dir string) int64 {
	var bytes int64
	// Errors inside belong to files that come and go.
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil || !entry.Type().IsRegular() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// peaks reports whether it is known what this machine can do at best.
func (s *system) peaks(cacheDir, hostClass string) probe {
	folder := roof.Folder()
	if cacheDir != "" {
		folder = filepath.Join(cacheDir, "peaks")
	}
	class := hostClass
	if models := s.gpuModels(); len(models) > 0 {
		class = machine.Slug(models[0])
	}
	return single(Check{Group: Machine, Name: "peaks", Gives: "the percentage of the machine's peaks that a kernel reaches"},
		func(_ context.Context, c *Check) { lookPeaks(c, folder, class) })
}

func lookPeaks(c *Check, folder, class string) {
	const fix = "pawl calibrate --roofline"
	found, err := roof.Load(folder, class)
	switch {
	case err != nil:
		c.Status, c.Note, c.Fix = Limited, err.Error(), fix
	case found == nil:
		c.Status, c.Note, c.Fix = Missing, "not measured yet: "+class, fix
	default:
		c.Status, c.Path = OK, roof.Path(folder, class)
		c.Value = class + ", measured " + found.Measured.Format("2006-01-02")
	}
}
