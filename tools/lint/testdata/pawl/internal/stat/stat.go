// Package stat is a leaf that imports too much.
package stat

import (
	_ "unsafe" // want "internal/stat must not import unsafe: pointers that Go does not check"

	_ "pawl/internal/disk" // want "a leaf imports nothing of pawl"
)
