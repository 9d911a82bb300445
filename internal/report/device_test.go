package report

import (
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/term"
)

const (
	firstGPU  = "GPU-5f6c0a1e-0000-4a4b-9c1d-aaaaaaaa1234"
	secondGPU = "GPU-0d1e2f3a-0000-4a4b-9c1d-bbbbbbbb1234"
)

// shared returns a bench whose rows were measured on these GPUs.
func shared(uuids ...string) *result.Report {
	r := pictured()
	r.Machine.GPU = &result.GPU{Name: "NVIDIA H200", UUID: firstGPU}
	r.DeviceClass = "nvidia-h200"
	r.Rows = r.Rows[:2]
	for i, uuid := range uuids {
		r.Rows[i].Device = uuid
	}
	return r
}

func forms(t *testing.T, r *result.Report) map[string]string {
	t.Helper()
	var text strings.Builder
	if err := Text(&text, r, TextOptions{Style: term.Style{}}); err != nil {
		t.Fatal(err)
	}
	raw, err := CSV(r)
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, r)
	checkPage(t, page)
	return map[string]string{"text": text.String(), "markdown": Markdown(r), "csv": string(raw), "html": page}
}

// Where several GPUs shared the rows, every form says which measured what.
func TestDevices(t *testing.T) {
	for form, got := range forms(t, shared(firstGPU, secondGPU)) {
		names := []string{"2 × NVIDIA H200", "…a1234", "…b1234"}
		switch form {
		case "csv":
			names = []string{firstGPU, secondGPU}
		case "html", "markdown":
			names = append(names, "…a1234 is "+firstGPU, "…b1234 is "+secondGPU)
		}
		for _, want := range append(names, "device") {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not say %q:\n%s", form, want, got)
			}
		}
	}
}

// One GPU, or one that alone came to a number, needs no column.
func TestOneDevice(t *testing.T) {
	failed := shared(firstGPU, secondGPU)
	failed.Rows[1].Timing, failed.Rows[1].Fault = nil, &result.Fault{Stage: "measure", Cause: result.CauseCrash, Message: "ended by a signal"}
	for name, r := range map[string]*result.Report{"none named": shared(), "the same": shared(firstGPU, firstGPU), "one measured": failed} {
		for form, got := range forms(t, r) {
			if strings.Contains(got, "…a1234") || strings.Contains(got, "2 × ") || form == "csv" && strings.Contains(got, "device") {
				t.Errorf("%s: %s:\n%s", name, form, got)
			}
		}
	}
}
