package result

import "fmt"

// Faultf returns a fault whose message is formatted as by fmt.Sprintf.
func Faultf(cause Cause, format string, args ...any) *Fault {
	return &Fault{Cause: cause, Message: fmt.Sprintf(format, args...)}
}

// WithHint adds what the user can do about the fault.
func (f *Fault) WithHint(hint string) *Fault {
	f.Hint = hint
	return f
}
