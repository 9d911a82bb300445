package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch  = unix.AUDIT_ARCH_AARCH64
	foreignBit = 0 // 32-bit calls come under an architecture of their own
)

// This architecture has none of the calls that newer ones have replaced.
var (
	archForks     []sysCall
	archRefused   []sysCall
	archPathCalls []pathCall
)
