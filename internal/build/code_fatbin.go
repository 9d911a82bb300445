package build

import (
	"bytes"

	"pawl/internal/native/cuda/cubin"
)

// hashFatbins hashes the device code that a launcher embeds; all of its bytes where it cannot be
// read.
func hashFatbins(sum *digest, data []byte) {
	section := cubin.ReadSection(data)
	var codes []string
	for _, entry := range section.Entries {
		code, err := "", entry.Err
		if err == nil {
			switch entry.Kind {
			case cubin.KindCubin:
				code, err = cubinHash(entry.Code, nil, true)
			case cubin.KindPTX:
				code = sha256Hex(plainPTX(entry.Code))
			default:
				code = sha256Hex(entry.Code)
			}
		}
		if err != nil {
			section.Whole = false
			break
		}
		codes = append(codes, string(entry.Header), code)
	}
	if !section.Whole {
		sum.bytes(data)
		return
	}
	sum.bytes(section.Rest)
	sum.add(codes)
}

// plainPTX returns PTX without comments on their own lines and without debug information: the
// directives .file and .loc, and the sections .debug_….
func plainPTX(text []byte) []byte {
	var plain []byte
	debug := false
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		switch {
		case len(words) == 0 || bytes.HasPrefix(words[0], []byte("//")):
			continue
		case debug:
			debug = words[0][0] != '}'
			continue
		case string(words[0]) == ".loc" || string(words[0]) == ".file":
			continue
		case string(words[0]) == ".section" && len(words) > 1 && bytes.HasPrefix(words[1], []byte(".debug_")):
			debug = !bytes.Contains(line, []byte("}"))
			continue
		}
		plain = append(plain, line...)
	}
	return plain
}
