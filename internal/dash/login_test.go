package dash

import (
	"strings"
	"testing"
)

// The form that asks for a token has none in it, though somebody put his into the address.
func TestLoginFormHasNoToken(t *testing.T) {
	s := serve(t, func(o *Options) { o.Token = "correct-horse-battery" })
	for address, next := range map[string]string{
		"/?token=correct-horse-battery":                         `value="/"`,
		"/runs?kind=check&token=correct-horse-battery":          `value="/runs?kind=check"`,
		"/runs?%74oken=correct-horse-battery":                   `value="/runs"`,
		"/runs?Token=correct-horse-battery":                     `value="/runs"`,
		"/runs?kind=check&token=correct-horse-battery;x":        `value="/runs?kind=check"`,
		"/login?next=/runs%3Ftoken%3Dcorrect-horse-battery":     `value="/runs"`,
		"/login?next=/runs&token=correct-horse-battery":         `value="/runs"`,
		"/login?next=%2Fkernel%3Fname%3Dgemm%26config%3Dsquare": `value="/kernel?config=square&amp;name=gemm"`,
	} {
		body := s.get(address, nil).Body.String()
		if strings.Contains(body, "correct-horse-battery") {
			t.Errorf("%s: the form has the token", address)
		}
		if !strings.Contains(body, next) {
			t.Errorf("%s: the form does not lead to %s: %s", address, next, body)
		}
	}
}
