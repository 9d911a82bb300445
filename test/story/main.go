// Command story makes a project with a long history in a folder, for tests that run the shipped binary.
package main

import (
	"context"
	"os"
	"time"

	"pawl/internal/dash/dashtest"
)

func main() {
	if len(os.Args) != 2 {
		panic("usage: story FOLDER")
	}
	if err := dashtest.Usual(time.Now()).Write(context.Background(), os.Args[1]); err != nil {
		panic(err)
	}
}
