// Command pawl lets GPU-kernel performance turn one way only: forward.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"pawl/internal/cli"
	"pawl/internal/sandbox"
)

func main() {
	if sandbox.EnterIfAsked(os.Args) {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := cli.Run(ctx, os.Stdin, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(code)
}
