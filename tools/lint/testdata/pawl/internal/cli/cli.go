// Package cli is a face, which may print.
package cli

import (
	"fmt"
	"os"

	_ "pawl/internal/disk"
	_ "pawl/internal/stat" // want "a face asks services"
)

// End prints and ends.
func End() {
	fmt.Println("the end")
	os.Exit(1)
}
