// Package sandbox has one file that may end the process.
package sandbox

import "os"

// End ends.
func End() { os.Exit(1) }
