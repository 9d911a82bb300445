package forgetest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Every example of GitHub's own is what GitHub describes: else the validator is wrong.
func TestDescriptionAcceptsItsExamples(t *testing.T) {
	d, err := GitHub()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range d.Operations {
		for _, code := range []string{"200", "201"} {
			if schema := o.Replies[code]; len(schema) > 0 && o.Example != nil {
				var value any
				if err := json.Unmarshal(o.Example, &value); err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(o.Path, "/pulls") || strings.HasSuffix(o.Path, "/{pull_number}") { // the example's teams lack a type
					value = o.Like(t, map[string]any{"requested_teams": []any{}})
					if o.Example[0] == '[' {
						value = []any{value}
					}
				}
				if strings.HasSuffix(o.Path, "/jobs") { // the example's jobs lack a property that GitHub calls required
					value.(map[string]any)["jobs"].([]any)[0].(map[string]any)["created_at"] = "2020-01-20T17:42:40Z"
				}
				if strings.HasSuffix(o.Path, "/{job_id}") {
					value = o.Like(t, map[string]any{"created_at": "2020-01-20T17:42:40Z"})
				}
				if strings.HasSuffix(o.Path, "/{repo}") { // the examples' repositories lack a language
					like := o.Like(t, map[string]any{"language": nil})
					delete(like, "source")
					delete(like, "parent")
					value = like
				}
				if strings.HasSuffix(o.Path, "/protection") { // parts of the example lack required properties
					like := o.Like(t, nil)
					for _, part := range []string{"required_status_checks", "required_pull_request_reviews", "restrictions"} {
						delete(like, part)
					}
					value = like
				}
				if err := d.check(schema, value); err != nil {
					t.Errorf("%s %s: %v", o.Method, o.Path, err)
				}
			}
		}
	}
}

func TestDescriptionRefuses(t *testing.T) {
	d, err := GitHub()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/repos/o/r/issues/1/comments", `{"text":"x"}`},
		{"POST", "/repos/o/r/check-runs", `{"name":"x","head_sha":"0","output":{"title":"x"}}`},
		{"POST", "/repos/o/r/check-runs", `{"name":"x","head_sha":"0","status":"completed","conclusion":"fine"}`},
		{"POST", "/repos/o/r/check-runs", `{"name":"x","head_sha":"0","extern_id":"1"}`},
		{"GET", "/repos/o/r/pulls?state=opened", ""},
		{"GET", "/repos/o/r/pulls?limit=3", ""},
		{"GET", "/repos/o/r/pull", ""},
	} {
		at, err := url.Parse("http://x" + c.path)
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{Method: c.method, URL: at, Body: io.NopCloser(strings.NewReader(c.body))}
		if _, _, err := d.Request(r); err == nil {
			t.Errorf("%s %s %s is accepted", c.method, c.path, c.body)
		}
	}
}
