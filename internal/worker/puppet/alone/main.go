// Alone is a puppet in a binary of its own, for tests with the race detector: built
// with it, a cell takes ten times as long to start.
package main

import (
	"os"

	"pawl/internal/worker/puppet"
)

func main() {
	puppet.StandIn(os.Args, os.Stdin, os.Stdout) //nolint:forbidden // a worker's streams
}
