package dash

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// A parameter that cannot be read is an error everywhere: an answer without it would be taken for one with it.
func TestParametersThatCannotBeRead(t *testing.T) {
	s := serve(t, nil)
	const of = "kernel=attention&config=training_2k"
	for _, address := range []string{
		"/api/v1/moved?days=abc", "/api/v1/moved?days=0", "/api/v1/moved?days=366", "/api/v1/moved?way=sideways", "/moved?days=x", "/moved?way=x", "/moved.txt?days=x", "/moved.atom?way=x",
		"/api/v1/points?from=zzz&" + of, "/api/v1/points?to=zzz&" + of, "/api/v1/line?from=zzz&" + of, "/api/v1/line?limit=0&" + of, "/api/v1/line?limit=x&" + of,
		"/api/v1/runs?commit=zz", "/runs?commit=zz", "/api/v1/runs?commit=" + strings.Repeat("a", 65),
	} {
		if w := s.get(address, nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d: %.80s", address, w.Code, w.Body)
		}
	}
	var line apiLine
	s.json("/api/v1/line?"+of, &line)
	all := len(line.Commit)
	s.json("/api/v1/line?limit=5&"+of, &line)
	if len(line.Commit) != 5 || len(line.Index) != 5 || all <= 5 {
		t.Errorf("%d of %d commits with limit=5", len(line.Commit), all)
	}
	for _, address := range []string{"/api/v1/moved?days=14&way=faster", "/api/v1/runs?commit=" + line.Commit[0][:7], "/api/v1/runs?commit=ABC", "/api/v1/points?from=" + line.Commit[1] + "&to=" + line.Commit[3][:9] + "&" + of, "/runs?commit="} {
		s.page(address)
	}
	if page := s.page("/moved?days=14"); !strings.Contains(page, "<option selected>14</option>") {
		t.Error("a page of 14 days does not say so")
	}
}

// A name that nothing can have is an error which says the names that there are: an empty list would be taken for the
// answer.
func TestNamesThatAreNotKnown(t *testing.T) {
	s := serve(t, nil)
	for address, says := range map[string]string{
		"/runs?kind=chek": "bench, check, compare, profile, tune, fuzz, selftest", "/runs?outcome=ok": "passed, failed, undecided, unjudged, interrupted",
		"/runs?verdict=slower": "regression, inconclusive", "/?verdict=Regression": "regression, inconclusive", "/moved?verdict=x": "improvement, new", "/moved.txt?verdict=x": "improvement, new",
		"/moved?way=up":          "slower, faster",
		"/api/v1/runs?kind=chek": "bench, check", "/api/v1/runs?outcome=ok": "passed, failed", "/api/v1/runs?verdict=x": "regression, inconclusive", "/api/v1/series?verdict=x": "regression, inconclusive",
		"/api/v1/moved?verdict=x": "regression, inconclusive",
	} {
		if w := s.get(address, nil); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), says) || json.Valid(w.Body.Bytes()) != strings.HasPrefix(address, "/api/") {
			t.Errorf("%s: status %d, expected %q: %s", address, w.Code, says, w.Body)
		}
	}
	for _, address := range []string{"/runs?kind=&outcome=&verdict=", "/runs?kind=check&outcome=passed&verdict=maintained", "/?verdict=regression", "/api/v1/runs?kind=selftest&verdict=rejected"} {
		s.page(address)
	}
}

// A part of a line that would end before it begins is an error; what one config's line does not have may be of another's.
func TestPartOfALine(t *testing.T) {
	s := serve(t, nil)
	const of = "config=training_2k"
	var line apiLine
	s.json("/api/v1/line?kernel=attention&"+of, &line)
	early, late := line.Commit[2], line.Commit[7]
	for _, page := range []string{"/api/v1/line?kernel=attention&" + of, "/api/v1/points?kernel=attention&" + of, "/kernel?name=attention&" + of, "/kernel?name=attention"} {
		for ends, want := range map[string]int{"&from=" + early + "&to=" + late: 200, "&from=" + early + "&to=" + early: 200, "&from=" + late + "&to=" + early: 400} {
			if w := s.get(page+ends, nil); w.Code != want || want == 400 && !strings.Contains(w.Body.String(), "or a later commit") {
				t.Errorf("%s: status %d, want %d", page+ends, w.Code, want)
			}
		}
	}
	s.page("/kernel?name=attention&from=" + strings.Repeat("0", 40))
}

// Lists without elements are lists.
func TestNoListIsNull(t *testing.T) {
	s := serve(t, nil)
	for _, address := range []string{"/api/v1/runs/" + newest(s), "/api/v1/runs?kernel=nothing", "/api/v1/moved?q=nothing", "/api/v1/series?q=nothing"} {
		if body := s.page(address); strings.Contains(body, ":null") {
			t.Errorf("%s: %.300s", address, body)
		}
	}
	reply, err := answerJSON(lineColumns(nil))
	if err != nil || strings.Contains(string(reply.body), "null") {
		t.Errorf("a line without commits: %s, %v", reply.body, err)
	}
}
