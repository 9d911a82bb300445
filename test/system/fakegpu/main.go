// Fakegpu is pawl on a machine with two GPUs and 16 cores that do not exist: its worker asks for
// them without any sign of a driver, and its cells use the fake driver of package
// cudafake, which stands behind the end of this binary. A cell reads no other file
// and sees no environment, and so that is the place where it can find it.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"pawl/internal/cli"
	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/sandbox"
	"pawl/internal/worker"
)

func main() {
	if sandbox.EnterIfAsked(os.Args) {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx)
	stop()
	os.Exit(code) //nolint:forbidden // as the real main does
}

func run(ctx context.Context) int {
	var err error
	switch {
	case slices.Equal(os.Args[1:], []string{"worker"}):
		err = worker.Serve(ctx, os.Stdin, os.Stdout, worker.ServeOptions{AskDriver: true, Cores: 16}) //nolint:forbidden // a worker's streams
		if err == nil {
			return 0
		}
	case len(os.Args) > 2 && os.Args[1] == "cell" && (os.Args[2] == "cuda" || os.Args[2] == "devices"):
		err = install()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err) //nolint:forbidden // as the real main does
		return 1
	}
	return cli.Run(ctx, os.Stdin, os.Stdout, os.Stderr, os.Args[1:]) //nolint:forbidden // as the real main does
}

// install takes the driver from behind the end of this binary, where its length is
// the last word.
func install() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	all, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	end := len(all) - 8
	library := all[end-int(binary.LittleEndian.Uint64(all[end:])) : end]
	file, err := os.CreateTemp("", "libcuda-*.so.1") // in a cell's scratch folder
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(library)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	fake, err := cudafake.InstallFrom(file.Name())
	if err == nil {
		fake.Set("megabytes", 16<<10)
	}
	return err
}
