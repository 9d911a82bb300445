package dash

import (
	"net/url"

	"pawl/internal/store"
)

// site says where things are.
type site struct {
	versions map[string]string
}

// Asset returns the address of a file of the pages.
func (l site) Asset(name string) string { return "/static/" + name + "?v=" + l.versions[name] }

// Home returns the address of the overview.
func (l site) Home() string { return "/" }

// Page returns the address of a page that has a name of its own.
func (l site) Page(name string) string { return "/" + name }

// Kernel returns the address of a kernel.
func (l site) Kernel(name string) string { return "/kernel?" + url.Values{"name": {name}}.Encode() }

// Series returns the address of one config of a kernel on one class of devices.
func (l site) Series(s store.Series) string {
	return "/kernel?" + url.Values{"name": {s.Kernel}, "config": {s.Config}, "class": {s.Class}}.Encode()
}

// Run returns the address of a run.
func (l site) Run(id string) string { return "/run/" + url.PathEscape(id) }

// Compare returns the address of a comparison of two runs, in one series or all.
func (l site) Compare(a, b string) string {
	return "/compare?" + url.Values{"a": {a}, "b": {b}}.Encode()
}

// Across returns the address of a comparison of two runs of one series.
func (l site) Across(of store.Series, a, b string) string {
	return "/compare?" + url.Values{"a": {a}, "b": {b}, "kernel": {of.Kernel}, "config": {of.Config}}.Encode()
}

// Line returns where a script finds the line of a series.
func (l site) Line(s store.Series) string {
	return "/api/v1/line?" + url.Values{"kernel": {s.Kernel}, "config": {s.Config}, "class": {s.Class}}.Encode()
}
