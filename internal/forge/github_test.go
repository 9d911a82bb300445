package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func post(t *testing.T, f Forge, c Comment) Posted {
	t.Helper()
	if c.Pull == 0 {
		c.Pull, c.Name = 7, "pawl"
	}
	if c.SHA == "" {
		c.SHA = headSHA
	}
	posted, err := f.Comment(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return posted
}

func TestCommentSticks(t *testing.T) {
	s := newGitHubServer(t)
	if got := post(t, s.forge(), Comment{Text: "one", Run: 1}); got != Created {
		t.Errorf("first: %s", got)
	}
	if got := post(t, s.forge(), Comment{Text: "one", Run: 1}); got != Unchanged {
		t.Errorf("the same again: %s", got)
	}
	if got := post(t, s.forge(), Comment{Text: "two", Run: 2}); got != Updated {
		t.Errorf("another text: %s", got)
	}
	if len(s.comments) != 1 || !strings.HasSuffix(s.comments[0]["body"].(string), "run=2 -->\ntwo") {
		t.Errorf("comments: %v", s.comments)
	}
	if got := post(t, s.forge(), Comment{Text: "other", Pull: 7, Name: "pawl-cpu"}); got != Created || len(s.comments) != 2 {
		t.Errorf("another name: %s, %d comments", got, len(s.comments))
	}
}

// Anybody can write the marker: only the token's own comments are updated.
func TestCommentLeavesStrangersAlone(t *testing.T) {
	s := newGitHubServer(t)
	mine := Comment{Name: "pawl", SHA: headSHA, Run: 99}.hidden()
	s.addComment("stranger", mine+"this is fast, trust me")
	s.addComment("octopawl", "> "+mine+"quoted by the bot")
	s.comments = append(s.comments, s.addComment("ghost", mine))
	s.comments[len(s.comments)-1]["user"] = nil
	before := fmt.Sprint(s.comments)
	if got := post(t, s.forge(), Comment{Text: "slower", Run: 1}); got != Created {
		t.Errorf("posted: %s", got)
	}
	if got := fmt.Sprint(s.comments[:4]); got != before {
		t.Errorf("somebody else's comment was changed:\n%s\n%s", before, got)
	}
}

func TestCommentOfAnActionsToken(t *testing.T) {
	s := newGitHubServer(t)
	s.login = ""
	post(t, s.forge(), Comment{Text: "one"})
	post(t, s.forge(), Comment{Text: "two"})
	if len(s.comments) != 1 {
		t.Errorf("%d comments", len(s.comments))
	}
}

// Two runs that raced have left two comments. The next keeps the oldest.
func TestCommentDuplicates(t *testing.T) {
	s := newGitHubServer(t)
	s.pageSize = 2
	mine := Comment{Name: "pawl", SHA: otherSHA, Run: 1}.hidden()
	for i := range 3 {
		s.addComment("octopawl", mine+strconv.Itoa(i))
		s.addComment("somebody", "nice")
	}
	if got := post(t, s.forge(), Comment{Text: "new", Run: 2}); got != Updated {
		t.Errorf("posted: %s", got)
	}
	own := 0
	for _, c := range s.comments {
		if strings.HasPrefix(c["body"].(string), "<!-- pawl:pawl ") {
			own++
		}
	}
	if own != 1 || len(s.comments) != 4 || !strings.HasSuffix(s.comments[0]["body"].(string), "new") {
		t.Errorf("comments: %v", s.comments)
	}
}

// A run of an older commit, or an older run of the same commit, writes nothing.
func TestCommentStale(t *testing.T) {
	s := newGitHubServer(t)
	if got := post(t, s.forge(), Comment{Text: "old", SHA: otherSHA, Run: 9}); got != Stale || len(s.comments) != 0 {
		t.Errorf("another commit: %s, %v", got, s.comments)
	}
	post(t, s.forge(), Comment{Text: "second", Run: 2})
	if got := post(t, s.forge(), Comment{Text: "first", Run: 1}); got != Stale {
		t.Errorf("an older run: %s", got)
	}
	// The push comes while pawl reads the comments.
	s.pushed = func() { s.pull(7)["head"].(map[string]any)["sha"] = otherSHA }
	if got := post(t, s.forge(), Comment{Text: "third", Run: 3}); got != Stale {
		t.Errorf("a push meanwhile: %s", got)
	}
	if !strings.HasSuffix(s.comments[0]["body"].(string), "second") {
		t.Errorf("overwritten: %v", s.comments[0]["body"])
	}
	s.pushed = nil
	s.pull(7)["head"].(map[string]any)["sha"] = headSHA
	s.pull(7)["state"] = "closed"
	if got := post(t, s.forge(), Comment{Text: "fourth", Run: 4}); got != Stale {
		t.Errorf("a closed pull request: %s", got)
	}
}

// What the pull request's own job claims never replaces what was measured in its stead, however late it
// comes and however many jobs it gives the check's name. A claim that came first does not stay, either.
func TestClaimsDoNotReplaceMeasurements(t *testing.T) {
	s := newGitHubServer(t)
	check := func(run int64, vouched bool, want Posted) {
		t.Helper()
		got, err := s.forge().Check(t.Context(), Check{Name: "pawl", SHA: headSHA, Run: run, Conclusion: Neutral, Title: "x", Summary: "x", Vouched: vouched})
		if err != nil || got != want {
			t.Errorf("check of run %d, vouched %t: %s, %v; want %s", run, vouched, got, err, want)
		}
	}
	comment := func(run int64, vouched bool, want Posted) {
		t.Helper()
		if got := post(t, s.forge(), Comment{Text: fmt.Sprint(run), Run: run, Vouched: vouched}); got != want {
			t.Errorf("comment of run %d, vouched %t: %s; want %s", run, vouched, got, want)
		}
	}
	for _, one := range []struct {
		run     int64
		vouched bool
		check   Posted
		comment Posted
	}{
		{9, false, Created, Created},
		{5, true, Created, Updated}, // the claim was quicker
		{11, false, Stale, Stale},
		{4, true, Stale, Stale},
		{6, true, Created, Updated},
		{6, true, Unchanged, Unchanged},
	} {
		check(one.run, one.vouched, one.check)
		comment(one.run, one.vouched, one.comment)
	}
	for range 150 { // jobs of a workflow that the pull request adds
		_, _ = s.forge().(*github).call(t.Context(), request{method: http.MethodPost, path: "/repos/o/r/check-runs", body: map[string]any{
			"name": "pawl", "head_sha": headSHA, "external_id": "job", "status": "completed", "conclusion": "success", "output": map[string]any{"title": "x", "summary": "x"},
		}}, nil)
	}
	check(12, false, Stale)
}

// Whatever happens to a request, there is one comment in the end.
func TestCommentFaults(t *testing.T) {
	reset := strconv.FormatInt(time.Now().Add(20*time.Second).Unix(), 10)
	const create, list, head = "POST /repos/o/r/issues/7/comments", "GET /repos/o/r/issues/7/comments", "GET /repos/o/r/pulls/7"
	for name, c := range map[string]struct {
		faults []fault
		pauses [2]time.Duration // the sum of all
	}{
		"502":              {[]fault{{list, false, answer(502, "<html>bad gateway</html>")}, {head, false, answer(503, "")}}, [2]time.Duration{500 * time.Millisecond, 3 * time.Second}},
		"cut":              {[]fault{{list, false, cut}, {head, false, cut}}, [2]time.Duration{0, 3 * time.Second}}, // net/http repeats some itself
		"created, cut":     {[]fault{{create, true, cut}}, [2]time.Duration{0, 0}},
		"created, 502":     {[]fault{{create, true, answer(502, "")}}, [2]time.Duration{0, 0}},
		"not created, 502": {[]fault{{create, false, answer(502, "")}}, [2]time.Duration{0, 0}},
		"primary limit":    {[]fault{{list, false, answer(403, `{"message":"API rate limit exceeded"}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset)}}, [2]time.Duration{15 * time.Second, 22 * time.Second}},
		"retry after":      {[]fault{{create, false, answer(429, `{"message":"slow down"}`, "Retry-After", "7")}}, [2]time.Duration{7 * time.Second, 9 * time.Second}},
		"secondary limit":  {[]fault{{create, false, answer(403, `{"message":"You have exceeded a secondary rate limit."}`)}}, [2]time.Duration{time.Minute, time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newGitHubServer(t)
			s.faults = c.faults
			post(t, s.forge(), Comment{Text: "one"})
			if len(s.comments) != 1 || len(s.faults) != 0 {
				t.Errorf("%d comments, %d faults left", len(s.comments), len(s.faults))
			}
			total := time.Duration(0)
			for _, d := range s.slept {
				total += d
			}
			if total < c.pauses[0] || total > c.pauses[1] {
				t.Errorf("waited %v", s.slept)
			}
		})
	}
}

// A limit that lasts too long, and refusals that waiting does not change, are errors that say what to
// do. No error has the token.
func TestRefusals(t *testing.T) {
	later := strconv.FormatInt(time.Now().Add(50*time.Minute).Unix(), 10)
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		want   string
	}{
		"rate limit":   {answer(403, `{"message":"API rate limit exceeded"}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", later), "try again then"},
		"unauthorized": {answer(401, `{"message":"Bad credentials `+token+`"}`), "the token is not valid"},
		"forbidden":    {answer(403, `{"message":"Resource not accessible by integration"}`), "the token may not do this"},
		"not found":    {answer(404, `{"message":"Not Found"}`), "may not see it"},
		"renamed":      {answer(301, "", "Location", "https://elsewhere.example/"), "another name"},
		"not JSON":     {answer(200, "<html>"), "not what the forge documents"},
		"too large":    {func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, mostReply+2)) }, "32 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newGitHubServer(t)
			s.faults = []fault{{"GET /repos/o/r/pulls", false, c.answer}}
			_, err := s.forge().Pulls(t.Context(), Head{Repo: "o/r", SHA: headSHA})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), token) {
				t.Errorf("error %v does not say %q", err, c.want)
			}
			if len(s.requests) != 1 {
				t.Errorf("requests: %v", s.requests)
			}
		})
	}
}

func TestGivesUp(t *testing.T) {
	s := newGitHubServer(t)
	for range mostAttempts {
		s.faults = append(s.faults, fault{"GET /repos/o/r/pulls", false, answer(502, "")})
	}
	_, err := s.forge().Pulls(t.Context(), Head{Repo: "o/r", SHA: headSHA})
	if status(err) != 502 || len(s.requests) != mostAttempts {
		t.Errorf("%v after %d requests", err, len(s.requests))
	}
	s = newGitHubServer(t)
	s.faults = []fault{{"GET /repos/o/r/pulls", false, answer(502, "")}}
	ctx, cancel := context.WithCancel(t.Context())
	opts := s.options(GitHub)
	opts.sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	f, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Pulls(ctx, Head{Repo: "o/r", SHA: headSHA}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestCommentTooLong(t *testing.T) {
	s := newGitHubServer(t)
	room := Most - len(Comment{Name: "pawl", SHA: headSHA}.hidden())
	if _, err := s.forge().Comment(t.Context(), Comment{Pull: 7, Name: "pawl", SHA: headSHA, Text: strings.Repeat("é", room+1)}); err == nil || len(s.requests) != 0 {
		t.Errorf("too long: %v, %v", err, s.requests)
	}
	post(t, s.forge(), Comment{Text: strings.Repeat("é", room)})
}

// The head is found by repository and commit, however many pull requests there are.
func TestPulls(t *testing.T) {
	s := newGitHubServer(t)
	s.pageSize = 2
	s.addPull(8, "fork/r", headSHA)
	s.addPull(10, "O/R", headSHA)
	s.addPull(11, "o/r", otherSHA)
	for repo, want := range map[string][]int{"o/r": {7, 10}, "Fork/R": {8}, "nobody/r": nil, "": {7, 8, 10}} {
		found, err := s.forge().Pulls(t.Context(), Head{Repo: repo, SHA: headSHA, Branch: "faster"})
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, p := range found {
			got = append(got, p.Number)
			if p.OwnHead != (p.Number != 8) || p.Head.SHA != headSHA || p.Base == "" {
				t.Errorf("%s: %+v", repo, p)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", repo, got, want)
		}
	}
	// The description does not say that the repository of a deleted fork is null.
	s.faults = []fault{{"GET /repos/o/r/pulls", false, answer(200, `[{"number":9,"head":{"sha":"`+headSHA+`","repo":null}}]`)}}
	if found, err := s.forge().Pulls(t.Context(), Head{Repo: "o/r", SHA: headSHA}); err != nil || len(found) != 0 {
		t.Errorf("a deleted fork: %v, %v", found, err)
	}
}

// A pull request is opened once: not if there is one, and not again if the reply is lost.
func TestOpen(t *testing.T) {
	s := newGitHubServer(t)
	s.pulls = nil
	proposal := Proposal{Title: "perf: ratchet baseline forward", Text: "moved", Head: "pawl/ratchet-0123456", Base: "main", SHA: headSHA}
	s.faults = []fault{{"POST /repos/o/r/pulls", true, answer(502, "")}}
	pull, err := s.forge().Open(t.Context(), proposal)
	if err != nil || pull == nil || pull.Base != "main" || pull.Head.SHA != headSHA || len(s.pulls) != 1 {
		t.Fatalf("%+v, %v, %d pull requests", pull, err, len(s.pulls))
	}
	if p := s.pulls[0]; p["title"] != proposal.Title || p["body"] != "moved" {
		t.Errorf("opened %v %v", p["title"], p["body"])
	}
	again, err := s.forge().Open(t.Context(), proposal)
	if err != nil || again == nil || again.Number != pull.Number || len(s.pulls) != 1 {
		t.Errorf("the second time: %+v, %v, %d pull requests", again, err, len(s.pulls))
	}
	proposal.Base = "next" // the same commit for another branch is another pull request
	if other, err := s.forge().Open(t.Context(), proposal); err != nil || other == nil || other.Base != "next" || len(s.pulls) != 2 {
		t.Errorf("for another branch: %+v, %v, %d pull requests", other, err, len(s.pulls))
	}
	proposal.Base = "last"
	s.faults = []fault{{"POST /repos/o/r/pulls", false, answer(403, `{"message":"GitHub Actions is not permitted to create or approve pull requests."}`)}}
	if _, err := s.forge().Open(t.Context(), proposal); err == nil || !strings.Contains(err.Error(), "not permitted to create") {
		t.Errorf("a forge that refuses: %v", err)
	}
}

func TestFiles(t *testing.T) {
	s := newGitHubServer(t)
	s.pageSize = 2
	s.files[12] = []string{"a.cu", "b.cu", ".github/workflows/ci.yml→docs/ci.yml"}
	s.addPull(12, "o/r", headSHA)
	got, err := s.forge().Files(t.Context(), 12)
	if want := []string{"a.cu", "b.cu", "docs/ci.yml", ".github/workflows/ci.yml"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("files: %v, %v", got, err)
	}
	s.pull(12)["changed_files"] = 4
	if _, err := s.forge().Files(t.Context(), 12); !errors.Is(err, errIncomplete) {
		t.Errorf("a list that ends early: %v", err)
	}
}

func annotations(n int) []Annotation {
	var out []Annotation
	for i := range n {
		out = append(out, Annotation{Path: "k.cu", Line: i + 1, Level: Fail, Title: "slower", Message: strconv.Itoa(i)})
	}
	return out
}

func (s *githubServer) checkNotes(t *testing.T, want int) {
	t.Helper()
	for i, n := range s.notes {
		if n.(map[string]any)["message"] != strconv.Itoa(i) {
			t.Fatalf("annotation %d is %v", i, n)
		}
	}
	if len(s.notes) != want {
		t.Errorf("%d annotations, want %d", len(s.notes), want)
	}
	if len(s.runs) != 1 || s.runs[0]["status"] != "completed" || s.runs[0]["conclusion"] != "failure" {
		t.Errorf("check runs: %v", s.runs)
	}
}

// Annotations go in requests of 50, in order and each once, whatever happens in between.
func TestCheckAnnotations(t *testing.T) {
	const patch = "PATCH /repos/o/r/check-runs/101"
	for n, want := range map[int]int{0: 1, 1: 1, 50: 1, 51: 2, 100: 2, 120: 3} {
		for name, faults := range map[string][]fault{
			"":                 nil,
			"created, cut":     {{"POST /repos/o/r/check-runs", true, cut}},
			"not created, 502": {{"POST /repos/o/r/check-runs", false, answer(502, "")}},
			"updated, cut":     {{patch, true, cut}},
			"not updated, 502": {{patch, false, answer(502, "")}},
		} {
			t.Run(fmt.Sprint(n, name), func(t *testing.T) {
				s := newGitHubServer(t)
				s.faults = faults
				c := Check{Name: "pawl", SHA: headSHA, Run: 1, Conclusion: Failure, Title: "slower", Summary: "x", Annotations: annotations(n), URL: "https://example.com/run"}
				posted, err := s.forge().Check(t.Context(), c)
				if err != nil || name == "" && posted != Created {
					t.Fatal(posted, err)
				}
				s.checkNotes(t, n)
				if sent := s.count("check-runs") - s.count("GET /repos/o/r/commits/"+headSHA+"/check-runs") + s.count(patch); name == "" && sent != want {
					t.Errorf("%d requests for %d annotations: %v", sent, n, s.requests)
				}
				if posted, err := s.forge().Check(t.Context(), c); err != nil || posted != Unchanged {
					t.Errorf("the same again: %s, %v", posted, err)
				}
				s.checkNotes(t, n)
				c.Run, c.Title = 0, "an older run"
				if posted, err := s.forge().Check(t.Context(), c); err != nil || posted != Stale {
					t.Errorf("an older run: %s, %v", posted, err)
				}
				s.checkNotes(t, n)
			})
		}
	}
}
