package dash

import (
	"net/http"
	"testing"
)

// A browser or proxy that has an answer says so in any of the forms of RFC 9110, and gets it packed only if it takes that.
func TestConditionsAndCodings(t *testing.T) {
	s := serve(t, nil)
	tag := s.get("/", nil).Header().Get("ETag")
	for given, want := range map[string]int{
		tag: 304, "W/" + tag: 304, `"other", ` + tag: 304, `"a,b",W/` + tag + ` , "c"`: 304, "*": 304, " * ": 304,
		"": 200, `"other"`: 200, `W/"other"`: 200, `"` + tag: 200, tag[1 : len(tag)-1]: 200,
	} {
		if got := s.get("/", func(r *http.Request) { r.Header.Set("If-None-Match", given) }).Code; got != want {
			t.Errorf("If-None-Match: %s: status %d, want %d", given, got, want)
		}
	}
	for given, want := range map[string]string{
		"gzip": "gzip", "br, gzip;q=0.5": "gzip", "GZIP": "gzip", "*": "gzip", "deflate, *;q=0.1": "gzip",
		"": "", "gzip;q=0": "", "gzip; q=0.000, br": "", "*;q=0": "", "gzip;q=0, *": "", "identity": "", "xgzip": "", "gzip;q=x": "",
	} {
		if got := s.get("/", func(r *http.Request) { r.Header.Set("Accept-Encoding", given) }).Header().Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding: %s: coding %q, want %q", given, got, want)
		}
	}
}
