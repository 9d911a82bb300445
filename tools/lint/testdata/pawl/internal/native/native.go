// Package native may import unsafe.
package native

import _ "unsafe"
