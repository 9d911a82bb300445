package sandbox

import "os"

// Abort ends where it must not.
func Abort() { os.Exit(1) } // want "os.Exit is for the faces"
