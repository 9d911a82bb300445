package ratchet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"pawl/internal/result"
)

// Fingerprint summarizes what an entry's numbers depend on besides its code.
type Fingerprint struct {
	ID       string `json:"id"` // equal if everything that matters is equal
	Device   string `json:"device"`
	Driver   string `json:"driver,omitempty"`
	Compiler string `json:"compiler,omitempty"`
}

// FingerprintOf returns the fingerprint of a row measured on a machine. It leaves out meaningless
// changes from boot to boot, and the parts that belong to another kind of cell.
func FingerprintOf(m result.Fingerprint, row *result.Row) Fingerprint {
	f := Fingerprint{Device: m.CPU.Model}
	if row.Build != nil {
		f.Compiler = row.Build.Compiler
	}
	parts := map[string]any{"arch": m.Arch, "cell": row.Cell, "compiler": f.Compiler}
	if gpu := m.GPU; gpu != nil {
		f.Device, f.Driver = gpu.Name, gpu.Driver
		parts["gpu"] = []any{gpu.Name, gpu.Arch, gpu.Driver, gpu.SMs, gpu.MemoryBytes, gpu.PowerLimitW, gpu.MaxGHz, gpu.ECC, gpu.ComputeMode}
	} else {
		parts["cpu"] = []any{m.CPU.Model, m.CPU.Cores, m.CPU.Threads, m.CPU.MaxGHz, m.CPU.Governor, m.CPU.Turbo, m.CPU.Flags}
		parts["system"] = []any{m.Libc, m.Hypervisor, m.Container}
	}
	raw, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("ratchet: %v", err)) // a machine's numbers are finite
	}
	sum := sha256.Sum256(raw)
	f.ID = hex.EncodeToString(sum[:6])
	return f
}
