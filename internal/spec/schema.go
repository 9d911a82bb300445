package spec

import (
	"bytes"
	_ "embed"
)

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of pawl.yaml, for editors. It
// knows every key; names, formulas and sizes are checked by Parse alone.
func Schema() []byte { return bytes.Clone(schema) }
