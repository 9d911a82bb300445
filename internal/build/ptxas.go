package build

import (
	"debug/elf"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"pawl/internal/native/cuda/cubin"
	"pawl/internal/result"
)

var (
	ptxasEntry  = regexp.MustCompile(`^ptxas info\s*: (?:Compiling entry function|Function properties for) '?([^' ]+)'?`)
	ptxasSpills = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	ptxasUsed   = regexp.MustCompile(`Used (\d+) registers`)
	ptxasShared = regexp.MustCompile(`(\d+)(?:\+(\d+))? bytes smem`)
)

// splitPTXAS reads what ptxas -v says of each kernel, by symbol, and returns the
// rest of the compiler's output as it was.
func splitPTXAS(output string) (map[string]result.Resources, string) {
	found := map[string]result.Resources{}
	var rest strings.Builder
	entry := ""
	for line := range strings.Lines(output) {
		spills := ptxasSpills.FindStringSubmatch(line)
		if !strings.HasPrefix(line, "ptxas info") && spills == nil {
			rest.WriteString(line)
			continue
		}
		if m := ptxasEntry.FindStringSubmatch(line); m != nil {
			entry = strings.TrimSpace(m[1])
		}
		if entry == "" {
			continue
		}
		r := found[entry]
		if spills != nil {
			r.Stack, r.SpillStores, r.SpillLoads = number(spills[1]), number(spills[2]), number(spills[3])
		}
		if m := ptxasUsed.FindStringSubmatch(line); m != nil {
			r.Registers = int(number(m[1]))
			for _, m := range ptxasShared.FindAllStringSubmatch(line, -1) {
				r.Shared += number(m[1]) + number(m[2])
			}
		}
		found[entry] = r
	}
	return found, rest.String()
}

func number(digits string) int64 {
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}

// declaredConstants is how many bytes of constant memory a cubin's source declares.
// It is all of a module's, as the driver counts it; ptxas no longer says it of each
// kernel.
func declaredConstants(image []byte) (bytesUsed int64) {
	file, err := cubin.Open(image)
	if err != nil {
		return 0
	}
	for _, section := range file.Sections {
		if section.Name == ".nv.constant3" {
			bytesUsed += int64(section.Size)
		}
	}
	return bytesUsed
}

// cubinHash hashes what a cubin does when loaded: code, constants, attributes,
// shared memory and initialised globals, without names, notes and debug
// information.
func cubinHash(image []byte) (string, error) {
	file, err := cubin.Open(image)
	if err != nil {
		return "", fmt.Errorf("read the cubin: %w", err)
	}
	sum := newDigest("pawl cubin 1")
	sum.number(uint64(file.ByteOrder.Uint32(image[48:52]))) // e_flags: the architecture
	for _, section := range file.Sections {
		kind := cubinSection(section.Name)
		if kind == "" {
			continue
		}
		sum.field(kind)
		sum.number(uint64(section.Flags))
		sum.number(section.Size)
		sum.number(uint64(section.Info >> 24)) // registers, where the architecture keeps them there
		if section.Type == elf.SHT_NOBITS {
			continue
		}
		data, err := section.Data()
		if err != nil {
			return "", fmt.Errorf("read section %s: %w", section.Name, err)
		}
		sum.bytes(data)
	}
	return sum.hex(), nil
}

// cubinSection is the kind of a section that counts, without the kernel's name;
// "" for those that do not.
func cubinSection(name string) string {
	for _, kind := range []string{".text.", ".nv.constant", ".nv.shared.", ".nv.global", ".nv.info", ".rel.text", ".rela.text", ".rodata"} {
		if strings.HasPrefix(name, kind) {
			return kind
		}
	}
	return ""
}
