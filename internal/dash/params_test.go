package dash

import (
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
