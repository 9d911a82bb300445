// Package forgetest is for tests: GitHub's own description of its API, which validates every request
// and reply of a server on loopback, and such a server with jobs and runners.
package forgetest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// Description is what GitHub's OpenAPI file says about the requests that pawl makes. tools/github-openapi
// makes it.
type Description struct {
	Operations []*Operation               `json:"operations"`
	Defs       map[string]json.RawMessage `json:"$defs"`
}

// Operation is a request that GitHub knows.
type Operation struct {
	Method  string                     `json:"method"`
	Path    string                     `json:"path"`
	Query   map[string]json.RawMessage `json:"query"`
	Body    json.RawMessage            `json:"body"`
	Replies map[string]json.RawMessage `json:"replies"`
	Example json.RawMessage            `json:"example"`

	pattern *regexp.Regexp
}

//go:embed github.json
var githubJSON []byte

// GitHub returns the description.
var GitHub = sync.OnceValues(func() (*Description, error) {
	var d Description
	if err := json.Unmarshal(githubJSON, &d); err != nil {
		return nil, err
	}
	for _, o := range d.Operations {
		o.pattern = regexp.MustCompile("^" + regexp.MustCompile(`\\\{path\\\}$`).ReplaceAllString(
			regexp.MustCompile(`\\\{[a-z_]+\\\}`).ReplaceAllStringFunc(regexp.QuoteMeta(o.Path), func(name string) string {
				if name == `\{path\}` {
					return name
				}
				return "[^/]+"
			}), ".+") + "$")
	}
	return &d, nil
})

// Find returns the operation of a request; nil: GitHub has none, or the description lacks it.
func (d *Description) Find(method, path string) *Operation {
	for _, o := range d.Operations {
		if o.Method == method && o.pattern.MatchString(path) {
			return o
		}
	}
	return nil
}

var compiled sync.Map // schema → *jsonschema.Resolved

// check validates a value against a schema of the description.
func (d *Description) check(schema json.RawMessage, value any) error {
	known, found := compiled.Load(string(schema))
	if !found {
		needed := map[string]json.RawMessage{}
		d.collect(schema, needed)
		raw, err := json.Marshal(map[string]any{"$defs": needed, "allOf": []json.RawMessage{schema}})
		if err != nil {
			return err
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			return fmt.Errorf("schema: %w", err)
		}
		known = resolved
		compiled.Store(string(schema), resolved)
	}
	return known.(*jsonschema.Resolved).Validate(value)
}

var reference = regexp.MustCompile(`"#/\$defs/([^"]+)"`)

func (d *Description) collect(schema json.RawMessage, into map[string]json.RawMessage) {
	for _, found := range reference.FindAllSubmatch(schema, -1) {
		if name := string(found[1]); into[name] == nil {
			into[name] = d.Defs[name]
			d.collect(d.Defs[name], into)
		}
	}
}

// Request validates a request, and returns its operation and its body.
func (d *Description) Request(r *http.Request) (*Operation, map[string]any, error) {
	o := d.Find(r.Method, r.URL.Path)
	if o == nil {
		return nil, nil, fmt.Errorf("%s %s: GitHub's description has no such request", r.Method, r.URL.Path)
	}
	for name, values := range r.URL.Query() {
		schema, known := o.Query[name]
		if !known {
			return nil, nil, fmt.Errorf("%s %s: unknown parameter %s", r.Method, o.Path, name)
		}
		if err := d.check(schema, parameter(values[0])); err != nil && d.check(schema, values[0]) != nil {
			return nil, nil, fmt.Errorf("%s %s: parameter %s: %w", r.Method, o.Path, name, err)
		}
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, nil, err
	}
	var body map[string]any
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &body); err != nil {
			return nil, nil, err
		}
	}
	if (o.Body == nil) != (len(raw) == 0) {
		return nil, nil, fmt.Errorf("%s %s: body %q, described %v", r.Method, o.Path, raw, o.Body != nil)
	}
	if o.Body != nil {
		if err := d.check(o.Body, body); err != nil {
			return nil, nil, fmt.Errorf("%s %s: body: %w", r.Method, o.Path, err)
		}
		// GitHub ignores what it does not know: a misspelt property would do nothing.
		for name := range body {
			if !strings.Contains(string(o.Body), strconv.Quote(name)) {
				return nil, nil, fmt.Errorf("%s %s: the description has no property %s", r.Method, o.Path, name)
			}
		}
	}
	return o, body, nil
}

func parameter(text string) any {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n
	}
	if yes, err := strconv.ParseBool(text); err == nil {
		return yes
	}
	return text
}

// Reply validates a reply.
func (d *Description) Reply(o *Operation, code int, raw []byte) error {
	schema, known := o.Replies[strconv.Itoa(code)]
	if !known {
		return fmt.Errorf("%s %s: a reply %d is not described", o.Method, o.Path, code)
	}
	if len(schema) == 0 || string(schema) == "null" {
		if len(raw) > 0 {
			return fmt.Errorf("%s %s: reply %d has no body", o.Method, o.Path, code)
		}
		return nil
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	if err := d.check(schema, value); err != nil {
		return fmt.Errorf("%s %s: reply %d: %w", o.Method, o.Path, code, err)
	}
	return nil
}

// Like returns GitHub's own example of a reply (of a list: its first item), with some properties
// replaced.
func (o *Operation) Like(t testing.TB, with map[string]any) map[string]any {
	t.Helper()
	var out map[string]any
	var list []map[string]any
	if json.Unmarshal(o.Example, &list) == nil {
		out = list[0]
	} else if err := json.Unmarshal(o.Example, &out); err != nil {
		t.Fatal(err)
	}
	maps.Copy(out, with)
	return out
}
