package machine

import (
	"cmp"
	"regexp"
	"strings"

	"pawl/internal/result"
)

var (
	trademarks = regexp.MustCompile(`(?i)\((r|tm|c)\)`)
	// Some vendors append the nominal clock, others "CPU" and the clock.
	nominalClock = regexp.MustCompile(`(?i)(\bcpu\b\s*)?@\s*[0-9.]+\s*[gm]hz`)
	notSlug      = regexp.MustCompile(`[^a-z0-9]+`)
)

// Class returns the device class of the host: "host-" and a slug of the CPU model.
func Class(fp result.Fingerprint) string {
	model := trademarks.ReplaceAllString(fp.CPU.Model, " ")
	model = nominalClock.ReplaceAllString(model, " ")
	return "host-" + cmp.Or(Slug(model), fp.Arch, "unknown")
}

// Slug returns a product's name in lower case, words joined by hyphens.
func Slug(name string) string {
	return strings.Trim(notSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
}
