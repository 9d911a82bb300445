package render

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"

	"pawl/internal/plot"
	"pawl/internal/report/view"
	"pawl/internal/unit"
)

var (
	//go:embed page.tmpl
	pageText string
	//go:embed document.tmpl
	documentText string
	//go:embed part.tmpl
	partText string
	//go:embed plot.tmpl
	plotText string
	//go:embed style.tmpl
	styleText string
)

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.Must(template.New("page").Funcs(template.FuncMap{
		"plotStyle": func() template.CSS { return template.CSS(plot.Style) },
		"page":      page, "linked": linked, "amount": amount, "brief": brief, "arranged": arranged,
		"trim": strings.TrimSpace, "excerpt": excerpt,
		"under":     func(text string) bool { return strings.HasPrefix(text, "  ") }, // belongs to the line above
		"caption":   func(m view.Map) string { return tileMap{m}.caption() },
		"tiles":     func(m view.Map) template.HTML { return tileMap{m}.svg() },
		"edges":     func(m view.Map) string { return tileMap{m}.edges() },
		"addressOf": addressOf, "sourceOf": sourceOf,
		"axis": axis, "dot": dot, "levelAxis": levelAxis, "cells": cells, "steps": steps, "strip": strip, "spread": spread,
	}).Parse(pageText)).Parse(documentText + partText + plotText + styleText))
})

// HTML renders a view as one page that needs nothing else: no network, no script, no
// font. It holds summaries of the samples, not the samples.
func HTML(v view.View) ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, v); err != nil {
		return nil, fmt.Errorf("render HTML: %w", err)
	}
	return bytes.Map(visible, b.Bytes()), nil
}

// addressOf returns the address of a picture that stands in the page itself. Its styles end with it.
func addressOf(svg string) template.URL { return template.URL(address(svg)) }

// sourceOf is addressOf for one of several pictures that a page picks from.
func sourceOf(svg string) template.Srcset { return template.Srcset(address(svg)) }

func address(svg string) string {
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(svg))
}

// page returns the sections of a page.
func page(v view.View) []view.Section {
	var out []view.Section
	for _, s := range v.Sections {
		if s.ID == "sanitizer" {
			s = bounded(s)
		}
		if s.Shown(view.HTML) {
			out = append(out, s)
		}
	}
	return out
}

// arranged returns a table with what rows came to beside their names: on a narrow screen
// the rest is out of sight.
func arranged(t *view.Table) *view.Table {
	at := slices.IndexFunc(t.Columns, func(c view.Column) bool { return c.Badge })
	if at <= 1 || t.Look != "results" {
		return t
	}
	made := *t
	made.Columns = slices.Insert(slices.Delete(slices.Clone(t.Columns), at, at+1), 1, t.Columns[at])
	made.Rows = slices.Clone(t.Rows)
	for i, row := range t.Rows {
		made.Rows[i].Cells = slices.Insert(slices.Delete(slices.Clone(row.Cells), at, at+1), 1, row.Cells[at])
	}
	return &made
}

// linked reports whether the top of the page names a section.
func linked(id string) bool { return id != "notes" && id != "details" }

// amount returns how much a section has, where that is worth knowing before.
func amount(s view.Section) int {
	if !slices.Contains([]string{"failures", "problems", "warnings"}, s.ID) {
		return 0
	}
	return len(s.Items) + len(s.Lines)
}

// brief returns a tool's badge without the reason of a skip, which has a line of its own.
func brief(t view.Tool) view.Cell {
	if t.Skipped != "" {
		t.Badge.Text = t.Brief
	}
	return t.Badge
}

// bounded leaves out what a page has no room for, and says so.
func bounded(s view.Section) view.Section {
	const most = 1000
	kernels, told, left := s.Parts, 0, 0
	s.Parts = nil
	for _, k := range kernels {
		if len(s.Parts) == most {
			left += len(k.Tools)
			continue
		}
		k.Tools = slices.Clone(k.Tools)
		for i := range k.Tools {
			t := &k.Tools[i]
			shown := min(len(t.Findings), most-told)
			left += len(t.Findings) - shown
			told += shown
			t.Findings = t.Findings[:shown]
			if t.Raw == "" || told == most {
				t.Raw = ""
				continue
			}
			told++
		}
		s.Parts = append(s.Parts, k)
	}
	if left > 0 {
		s.Parts = append(s.Parts, view.Section{Lines: []view.Line{{Text: unit.Count(left) + " more in the JSON report"}}})
	}
	return s
}
