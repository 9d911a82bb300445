package nvml

import (
	"errors"
	"unsafe"

	"pawl/internal/native/dl"
)

// UUID identifies the GPU across machines and restarts, in the form that nvidia-smi prints.
func (v Device) UUID() (string, error) {
	buffer := make([]byte, 96)
	err := v.l.call(&v.l.getUUID, v.handle, uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)))
	return dl.Text(buffer), err
}

// pciInfo is an nvmlPciInfo_t.
type pciInfo struct {
	_                                [16]byte
	domain, bus, device, id, boardID uint32
	busID                            [32]byte
}

// PCIBus returns where the GPU is on the PCI bus, as 00000000:1B:00.0.
func (v Device) PCIBus() (string, error) {
	var info pciInfo
	err := v.l.call(&v.l.getPCIInfo, v.handle, uintptr(unsafe.Pointer(&info)))
	return dl.Text(info.busID[:]), err
}

// MemoryTotal returns the size of the GPU's memory in bytes.
func (v Device) MemoryTotal() (uint64, error) {
	var memory struct{ total, free, used uint64 } // an nvmlMemory_t
	err := v.l.call(&v.l.getMemoryInfo, v.handle, uintptr(unsafe.Pointer(&memory)))
	return memory.total, err
}

// MIG reports whether the GPU is divided into instances. One that cannot be divided is not.
func (v Device) MIG() (bool, error) { return v.mode(&v.l.getMIGMode) }

// ECC reports whether the GPU's memory corrects errors. One that cannot does not.
func (v Device) ECC() (bool, error) { return v.mode(&v.l.getECCMode) }

// mode asks whether something is on now. After a restart that may change, which is not asked.
func (v Device) mode(p *proc) (bool, error) {
	var now, pending uint32
	err := v.l.call(p, v.handle, uintptr(unsafe.Pointer(&now)), uintptr(unsafe.Pointer(&pending)))
	if errors.Is(err, ErrNotSupported) {
		return false, nil
	}
	return now == 1, err
}
