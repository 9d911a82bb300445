package dash

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// A database takes no bytes that are no text, and a terminal acts on some: neither gets them.
func TestAddressesAreText(t *testing.T) {
	s := serve(t, nil)
	for _, address := range []string{
		"/run/a%00b", "/run/%ff", "/run/%1b%5d0;harm%07", "/runs?before=%00", "/compare?a=%00&b=x", "/?q=%1b", "/?q=%c2%9b", "/?%00=x", "/?q=%zz", "/kernel?name=%ff&config=x",
		"/api/v1/runs/a%00b", "/api/v1/runs?before=%ff", "/api/v1/points?kernel=%7f",
	} {
		w := s.get(address, nil)
		if w.Code != http.StatusBadRequest || json.Valid(w.Body.Bytes()) != strings.HasPrefix(address, "/api/") {
			t.Errorf("%s: status %d: %.80s", address, w.Code, w.Body)
		}
	}
	for _, address := range []string{"/?q=caf%C3%A9+%E6%A0%B8", "/run/caf%C3%A9"} {
		if w := s.get(address, nil); w.Code == http.StatusBadRequest {
			t.Errorf("%s: status %d", address, w.Code)
		}
	}
	s.log("no run %s", "\x1b]0;harm\a\x9b\n")
	if got := s.logged.String(); got != "no run  ]0;harm \uFFFD \n" {
		t.Errorf("logged %q", got)
	}
}
