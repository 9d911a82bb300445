package dash

import (
	"regexp"
	"strings"
	"testing"

	"pawl/internal/dash/dashtest"
	"pawl/internal/store"
)

// Kernels and configs stand in the order of the numbers in their names, wherever they are listed.
func TestKernelsInOrder(t *testing.T) {
	dir := t.TempDir()
	story := dashtest.Usual(end)
	story.Commits, story.Searches = 2, 0
	story.Kernels = []dashtest.Kernel{{Name: "k10", Configs: []string{"n"}, BaseS: 1e-5}, {Name: "k1", Configs: []string{"n_16", "n_128", "n_4"}, BaseS: 1e-5}, {Name: "k2", Configs: []string{"n"}, BaseS: 1e-5}}
	if err := story.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	s := serveIn(t, dir, nil)
	const want = "k1/n_4 k1/n_16 k1/n_128 k2/n k10/n"
	var list struct{ Series []store.Series }
	s.json("/api/v1/series", &list)
	var names []string
	for _, one := range list.Series {
		names = append(names, one.Kernel+"/"+one.Config)
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the API lists %s", got)
	}
	link := regexp.MustCompile(`/kernel\?class=[^"]*&amp;config=([a-z0-9_]+)&amp;name=(k\d+)"`)
	for address, want := range map[string]string{"/": want, "/kernel?name=k1": "k1/n_4 k1/n_16 k1/n_128"} {
		names = nil
		for _, found := range link.FindAllStringSubmatch(s.page(address), -1) {
			if name := found[2] + "/" + found[1]; len(names) == 0 || names[len(names)-1] != name {
				names = append(names, name)
			}
		}
		if got := strings.Join(names, " "); !strings.HasPrefix(got, want) {
			t.Errorf("%s lists %s", address, got)
		}
	}
}
