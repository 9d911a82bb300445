// Fakegpu is pawl on a machine with two GPUs and 16 cores that do not exist: its worker asks for
// them without any sign of a driver, and its cells use the fake driver of package
// cudafake, which stands behind the end of this binary. A cell reads no other file
// and sees no environment, and so that is the place where it can find it. For the same
// reason the time that the driver takes is a part of this binary.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

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

// Milliseconds that the driver takes, set when this program is linked: for cuInit, for a
// context, and for the end of a process that has called cuInit.
var initMS, contextMS, endMS = "0", "0", "0"

// Variables of the process that asks the driver for its devices, each with a file's name.
const (
	askedVariable  = "FAKEGPU_ASKED"  // gets a line with the process, whenever one has answered
	answerVariable = "FAKEGPU_ANSWER" // without it the process does not answer
	endVariable    = "FAKEGPU_END"    // without it the process does not end
)

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
	asks := slices.Equal(os.Args[1:], []string{"cell", "devices"})
	if asks {
		waitFor(answerVariable)
	}
	code := cli.Run(ctx, os.Stdin, os.Stdout, os.Stderr, os.Args[1:]) //nolint:forbidden // as the real main does
	if asks {
		noteAsked()
		waitFor(endVariable)
		time.Sleep(time.Duration(milliseconds(endMS)) * time.Millisecond)
	}
	return code
}

func milliseconds(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// waitFor waits for the file that a variable names.
func waitFor(variable string) {
	path := os.Getenv(variable)
	for path != "" {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func noteAsked() {
	path := os.Getenv(askedVariable)
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(file, os.Getpid())
		file.Close()
	}
	if err != nil {
		panic(err)
	}
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
		fake.Set("init_ms", milliseconds(initMS))
		fake.Set("context_ms", milliseconds(contextMS))
	}
	return err
}
