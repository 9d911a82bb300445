// Package check is a service that knows a face.
package check

import (
	_ "pawl/internal/cli" // want "a service does not know which face called it"
	_ "pawl/internal/disk"
)
