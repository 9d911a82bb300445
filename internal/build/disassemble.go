package build

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/native/cuda/cubin"
	"pawl/internal/result"
	"pawl/internal/sandbox"
)

const (
	// disassemblerVariable names the disassembler, or a folder that has one.
	disassemblerVariable = "PAWL_DISASSEMBLER"

	disassemblerDeadline = time.Minute
	listingMost          = 256 << 20 // bytes; a kernel of a megabyte has 20 of them
)

// disassemblers are NVIDIA's, the one that needs no other first. cuobjdump starts nvdisasm, and that
// of CUDA 13 refuses cubins of CUDA 12.0.
var disassemblers = []string{"nvdisasm", "cuobjdump"}

// Listing is the machine code of a cubin, as a disassembler writes it.
type Listing struct {
	Text    string
	Tool    string // the program
	Sandbox *result.Sandbox
}

// FindDisassembler returns the program that lists a cubin's instructions. The fault says how to get
// one.
func FindDisassembler() (string, *result.Fault) {
	const hint = "pip install nvidia-cuda-nvdisasm, install the CUDA toolkit, or name nvdisasm in " + disassemblerVariable
	if named := os.Getenv(disassemblerVariable); named != "" {
		if isDir(named) {
			if found := disassemblerIn(named); found != "" {
				return found, nil
			}
		} else if path, err := lookPath(named); err == nil {
			return path, nil
		}
		return "", newFault(result.CauseUnsupported, hint, "%s names %s, where there is no disassembler", disassemblerVariable, named)
	}
	for _, name := range disassemblers {
		if path, err := lookPath(name); err == nil {
			return path, nil
		}
	}
	var folders []string
	for _, home := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), "/usr/local/cuda"} {
		if filepath.IsAbs(home) {
			folders = append(folders, filepath.Join(home, "bin"))
		}
	}
	for _, wheel := range pythonPackages() {
		folders = append(folders, filepath.Join(wheel, "bin"))
		if filepath.Base(wheel) == "nvidia" { // each package of CUDA 12 has a folder of its own; Triton brings one, too
			folders = append(folders, filepath.Join(wheel, "cuda_nvdisasm", "bin"), filepath.Join(wheel, "cuda_nvcc", "bin"), filepath.Join(wheel, "..", "triton", "backends", "nvidia", "bin"))
		}
	}
	for _, folder := range folders {
		if found := disassemblerIn(folder); found != "" {
			return found, nil
		}
	}
	return "", newFault(result.CauseUnsupported, hint, "no nvdisasm and no cuobjdump: not on PATH, in CUDA_HOME, CUDA_PATH, /usr/local/cuda, nor among the packages of python3")
}

func disassemblerIn(folder string) string {
	for _, name := range disassemblers {
		if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return path
		}
	}
	return ""
}

// Disassemble lists the instructions of a cubin. The disassembler reads what a compiler has made of
// candidate source: it runs in the sandbox of compilers, and for a minute at most.
func (b *Builder) Disassemble(ctx context.Context, image []byte) (*Listing, *result.Fault) {
	tool, fault := FindDisassembler()
	if fault != nil {
		return nil, fault
	}
	parent, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", tempName, os.Getpid()))
	if err != nil {
		return nil, noTemp(err)
	}
	defer os.RemoveAll(parent)
	temp := filepath.Join(parent, "cubin")
	file := filepath.Join(temp, "kernel.cubin")
	if err := cmp.Or(os.Mkdir(temp, 0o700), os.WriteFile(file, image, 0o600)); err != nil {
		return nil, internal("write the cubin for the disassembler", err)
	}
	var folders folderSet
	folders.addProgram(tool, "")
	args := []string{tool, "-c", file}
	if strings.HasPrefix(filepath.Base(tool), "cuobjdump") {
		args = []string{tool, "-sass", file}
	}
	run := &command{
		args: args, name: filepath.Base(tool), task: "listing the kernel's instructions", dir: temp, temp: temp, wait: disassemblerDeadline, most: listingMost, limits: b.limits(),
		fence: newFence(b.sandbox, temp, "", &compiler{Command: []string{tool}, Folders: slices.DeleteFunc(folders, sandbox.Broad)}),
	}
	text, fault := run.run(ctx)
	switch {
	case fault != nil:
		return nil, fault.WithHint(cmp.Or(fault.Hint, strings.TrimSpace(text[:min(len(text), 500)])))
	case len(text) > listingMost:
		return nil, newFault(result.CauseUnsupported, "", "%s lists more than %d MiB of instructions", run.name, listingMost>>20)
	}
	return &Listing{Text: text, Tool: tool, Sandbox: run.fence.report()}, nil
}

// DeviceCode returns the cubins of an artifact: the artifact itself, or those of the fat binaries
// that a launcher embeds.
func (a *Artifact) DeviceCode() ([][]byte, error) {
	object, err := a.Read()
	if err != nil {
		return nil, err
	}
	if _, err := cubin.Open(object); err == nil {
		return [][]byte{object}, nil
	}
	file, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, fmt.Errorf("find device code: %w", err)
	}
	var found [][]byte
	for _, section := range file.Sections {
		if section.Name != ".nv_fatbin" && section.Name != "__nv_relfatbin" {
			continue
		}
		data, err := section.Data()
		if err != nil {
			return nil, fmt.Errorf("find device code: %s: %w", section.Name, err)
		}
		for _, entry := range cubin.ReadSection(data).Entries {
			if entry.Kind == cubin.KindCubin && entry.Err == nil {
				found = append(found, entry.Code)
			}
		}
	}
	return found, nil
}
