package render

import (
	"bytes"
	"fmt"
	"html/template"

	"pawl/internal/plot"
	"pawl/internal/report/view"
)

// Fragment is a page in parts, for a page of somebody else's. Its elements need Style.
type Fragment struct {
	Summary  template.HTML // what the run came to, from its heading to the links to its sections
	Sections template.HTML
}

// Fragments renders a view as parts of a page.
func Fragments(v view.View) (f Fragment, err error) {
	for name, to := range map[string]*template.HTML{"summary": &f.Summary, "sections": &f.Sections} {
		var b bytes.Buffer
		if err := pageTemplate().ExecuteTemplate(&b, name, v); err != nil {
			return Fragment{}, fmt.Errorf("render HTML: %w", err)
		}
		*to = template.HTML(bytes.Map(visible, b.Bytes()))
	}
	return f, nil
}

// Style returns the style sheet of all pages.
func Style() (string, error) {
	var b bytes.Buffer
	for _, name := range []string{"style", "check style", "verify style"} {
		if err := pageTemplate().ExecuteTemplate(&b, name, nil); err != nil {
			return "", fmt.Errorf("render the style sheet: %w", err)
		}
	}
	return b.String() + "\n" + plot.Style, nil
}
