package dispatch

import (
	"encoding/json"
	"strconv"

	"pawl/internal/disk"
)

// Schema is the version of the JSON.
const Schema = 1

type jsonTable struct {
	Schema   int            `json:"schema"`
	Kernel   string         `json:"kernel"`
	Run      string         `json:"run"`
	Commit   string         `json:"commit,omitempty"`
	Dirty    bool           `json:"dirty,omitempty"`
	Device   string         `json:"device_class"`
	Tool     string         `json:"pawl"`
	Fallback map[string]any `json:"fallback"`
	Entries  []jsonEntry    `json:"entries"`
}

type jsonEntry struct {
	Config string         `json:"config"`
	Vars   map[string]any `json:"vars"`
	Params map[string]any `json:"params"`
}

// JSON writes the table as JSON.
func (t *Table) JSON() ([]byte, error) {
	out := jsonTable{
		Schema: Schema, Kernel: t.Kernel, Run: t.Run, Commit: t.Commit, Dirty: t.Dirty, Device: t.Device, Tool: t.Tool,
		Fallback: typed(t.Params, t.Fallback), Entries: []jsonEntry{},
	}
	for _, e := range t.Entries {
		out.Entries = append(out.Entries, jsonEntry{e.Config, typed(t.Vars, e.Vars), typed(t.Params, e.Params)})
	}
	return disk.JSON(out)
}

func typed(columns []Column, texts []string) map[string]any {
	object := map[string]any{}
	for i, c := range columns {
		switch c.Type {
		case Integer:
			object[c.Name] = json.Number(texts[i])
		case Real:
			v, _ := strconv.ParseFloat(texts[i], 64)
			object[c.Name] = v
		case Boolean:
			object[c.Name] = texts[i] == "true"
		default:
			object[c.Name] = texts[i]
		}
	}
	return object
}
