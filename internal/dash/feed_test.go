package dash

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// A feed is kept for all visitors: of a request it has the filters, and nothing else.
func TestFeedHasNoHost(t *testing.T) {
	s := serve(t, func(o *Options) { o.Hosts = []string{"dash.example.org"} })
	const address = "/moved.atom?days=90&q=gemm"
	first := s.get(address, func(r *http.Request) { r.Host = "dash.example.org" }).Body.String()
	if strings.Contains(first, "example.org") || s.page(address) != first {
		t.Errorf("the feed names the host that its first visitor has named: %.600s", first)
	}
	links := regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(first, -1)
	if len(links) < 3 {
		t.Errorf("%d links", len(links))
	}
	for _, link := range links {
		if !strings.HasPrefix(link[1], "/") || strings.HasPrefix(link[1], "//") {
			t.Errorf("a link leads to %s", link[1])
		}
	}
}
