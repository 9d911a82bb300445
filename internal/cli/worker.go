package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"pawl/internal/worker"
	"pawl/internal/worker/cell"
)

func newWorker(e *env) *cobra.Command {
	lease := worker.DefaultLease
	cmd := &cobra.Command{
		Use: "worker", Short: "run kernels for another pawl, connected by stdin and stdout", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := worker.Serve(cmd.Context(), e.stdin, e.stdout, worker.ServeOptions{Tool: e.tool(), Lease: lease})
			if errors.Is(err, worker.ErrLease) {
				return fmt.Errorf("worker: %w (%v)", err, lease)
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&lease, "lease", lease, "exit after this long without a message")
	return cmd
}

func newCell(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "cell KIND", Short: "run candidate code for a worker", Hidden: true, Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			switch args[0] {
			case "devices": // for a worker, which does not open the driver itself
				found, err := cell.Devices()
				if err != nil {
					return err
				}
				return json.NewEncoder(e.stdout).Encode(found)
			case "unlock":
				signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
				return worker.Unlock(e.stdin, args[1])
			}
			requests, replies := os.NewFile(cell.RequestFD, "requests"), os.NewFile(cell.ReplyFD, "replies")
			if !isPipe(requests) || !isPipe(replies) {
				return errors.New("cell: not meant to be started by hand; only a worker starts cells")
			}
			err := cell.Serve(args[0], requests, replies)
			if errors.Is(err, cell.ErrMute) {
				return &outcomeError{cell.ExitMute, ""}
			}
			return err
		},
	}
}

func isPipe(f *os.File) bool {
	if f == nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}
