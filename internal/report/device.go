package report

import (
	"fmt"
	"slices"
	"strings"

	"pawl/internal/result"
)

// devices are the GPUs that shared the rows, sorted; none where one measured them all.
func devices(all []line) []string {
	var out []string
	for _, l := range all {
		if l.row.Device != "" && measured(l.row) && !slices.Contains(out, l.row.Device) {
			out = append(out, l.row.Device)
		}
	}
	if len(out) < 2 {
		return nil
	}
	slices.Sort(out)
	return out
}

// deviceColumn says which GPU measured a row.
func deviceColumn(uuids []string) column {
	return column{
		head: "device", field: "device",
		text:  func(r *result.Row) string { return shortDevice(r.Device, uuids) },
		value: func(r *result.Row) string { return r.Device },
	}
}

// shortDevice is the end of a GPU's name, as much of it as tells it from the others.
func shortDevice(uuid string, all []string) string {
	const least = 4
	for n := least; n < len(uuid); n++ {
		end := uuid[len(uuid)-n:]
		if !slices.ContainsFunc(all, func(other string) bool { return other != uuid && strings.HasSuffix(other, end) }) {
			return "…" + end
		}
	}
	return uuid
}

// deviceFact says which GPUs the short names stand for.
func deviceFact(uuids []string) fact {
	names := make([]string, len(uuids))
	for i, uuid := range uuids {
		names[i] = fmt.Sprintf("%s is %s", shortDevice(uuid, uuids), uuid)
	}
	return fact{"devices", strings.Join(names, ", ")}
}
