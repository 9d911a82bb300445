// Package report shows a Report: as text for a terminal, Markdown and HTML for
// people who read it elsewhere, CSV for other programs, JSON for everything. It
// reads the Report and nothing else.
package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"pawl/internal/disk"
	"pawl/internal/result"
)

// Endings are the file endings a report can be written as.
var Endings = []string{".json", ".md", ".html", ".csv"}

// Ending is a file's ending, in lower case.
func Ending(file string) string { return strings.ToLower(filepath.Ext(file)) }

// WriteFile writes the report in the form its ending names, whole or not at all.
func WriteFile(file string, r *result.Report) error {
	var data []byte
	var err error
	switch Ending(file) {
	case ".json":
		data, err = r.Encode()
	case ".md":
		data = []byte(Markdown(r))
	case ".html":
		data, err = HTML(r)
	case ".csv":
		data, err = CSV(r)
	default:
		err = fmt.Errorf("write %s: expected a file ending in %s", file, strings.Join(Endings, ", "))
	}
	if err != nil {
		return err
	}
	return disk.Write(file, data)
}
