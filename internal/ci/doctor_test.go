package ci

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pawl/internal/forge"
	"pawl/internal/forge/forgetest"
)

// safe is what GitHub's API answers about a repository with all locks closed.
var safe = map[string]string{
	"": `{"default_branch": "main", "private": false, "language": null}`,
	"/actions/permissions/fork-pr-contributor-approval": `{"approval_policy": "all_external_contributors"}`,
	"/actions/permissions/workflow":                     `{"default_workflow_permissions": "read", "can_approve_pull_request_reviews": false}`,
	"/actions/permissions":                              `{"enabled": true, "allowed_actions": "all", "sha_pinning_required": true}`,
	"/branches/main/protection":                         `{"required_status_checks": {"strict": true, "contexts": ["pawl"], "checks": [{"context": "pawl", "app_id": 4711}]}, "allow_force_pushes": {"enabled": false}}`,
	"/rules/branches/main":                              `[]`,
	"/environments/pawl-strangers":                      `{"protection_rules": [{"id": 1, "node_id": "x", "type": "required_reviewers"}]}`,
	"/actions/runners":                                  `{"total_count": 1, "runners": [{"id": 1, "os": "linux", "status": "online", "busy": false, "labels": [], "name": "gpu1", "ephemeral": true}]}`,
}

func examine(t *testing.T, answers map[string]string) ([]Finding, error) {
	t.Helper()
	api, err := forgetest.GitHub()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
		}
		if _, _, err := api.Request(r); err != nil { // GitHub has what is asked for
			t.Error(err)
		}
		text, ok := answers[strings.TrimPrefix(r.URL.Path, "/repos/owner/kernels")]
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		case text == "403":
			w.WriteHeader(http.StatusForbidden)
		case text == "limit": // of requests
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusForbidden)
		case text == "302":
			http.Redirect(w, r, "/repos/owner/kernels", http.StatusFound)
		default:
			fmt.Fprint(w, text)
		}
	}))
	defer server.Close()
	return Doctor(t.Context(), forge.Options{URL: server.URL, Repo: "owner/kernels", Token: "secret"})
}

// TestDoctorFindsNothingOpen: the answers are GitHub's own examples with the locks closed, valid by its
// own description.
func TestDoctorFindsNothingOpen(t *testing.T) {
	api, err := forgetest.GitHub()
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{}
	for path, text := range safe {
		o := api.Find(http.MethodGet, "/repos/owner/kernels"+path)
		if o == nil {
			t.Fatalf("GitHub has no %s", path)
		}
		whole := []byte(text)
		if with := map[string]any{}; json.Unmarshal(whole, &with) == nil {
			like := o.Like(t, with)
			for _, name := range []string{"required_pull_request_reviews", "restrictions", "source", "parent"} {
				delete(like, name) // the description does not allow its own examples of these
			}
			if whole, err = json.Marshal(like); err != nil {
				t.Fatal(err)
			}
		}
		if err := api.Reply(o, http.StatusOK, whole); err != nil {
			t.Error(err)
		}
		answers[path] = string(whole)
	}
	found, err := examine(t, answers)
	if err != nil || len(found) != 11 {
		t.Fatalf("%v, %v", found, err)
	}
	for _, f := range found {
		if !f.OK || f.What == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestDoctorFindsWhatIsOpen(t *testing.T) {
	for what, test := range map[string]struct {
		path, answer, want string
	}{
		"first-time contributors only": {"/actions/permissions/fork-pr-contributor-approval", `{"approval_policy": "first_time_contributors"}`, "not every outside contributor needs approval (first_time_contributors)"},
		"approval cannot be read":      {"/actions/permissions/fork-pr-contributor-approval", "403", "who needs approval before workflows run: the token may not read it"},
		"an answer that says nothing":  {"/actions/permissions/fork-pr-contributor-approval", `{}`, "not every outside contributor needs approval"},
		"a token that writes":          {"/actions/permissions/workflow", `{"default_workflow_permissions": "write"}`, "the default token may write"},
		"workflows approve":            {"/actions/permissions/workflow", `{"default_workflow_permissions": "read", "can_approve_pull_request_reviews": true}`, "workflows may approve pull requests"},
		"tags":                         {"/actions/permissions", `{"sha_pinning_required": false}`, "actions need not be pinned"},
		"no protection":                {"/branches/main/protection", "", "main is not protected"},
		"another check":                {"/branches/main/protection", `{"required_status_checks": {"checks": [{"context": "pawl claimed"}]}}`, "the check pawl is not required"},
		"a check of any App":           {"/branches/main/protection", `{"required_status_checks": {"checks": [{"context": "pawl", "app_id": null}]}}`, "any workflow, also one that a pull request adds"},
		"a check of any workflow":      {"/branches/main/protection", `{"required_status_checks": {"checks": [{"context": "pawl", "app_id": 15368}]}}`, "any workflow, also one that a pull request adds"},
		"forced pushes":                {"/branches/main/protection", `{"required_status_checks": {"checks": [{"context": "pawl", "app_id": 4711}]}, "allow_force_pushes": {"enabled": true}}`, "pushes to main can be forced"},
		"old branches":                 {"/branches/main/protection", `{"required_status_checks": {"strict": false, "checks": [{"context": "pawl", "app_id": 4711}]}}`, "a branch that left main long ago"},
		"no environment":               {"/environments/pawl-strangers", "", "has no required reviewers"},
		"a lasting runner":             {"/actions/runners", `{"runners": [{"name": "gpu1"}, {"name": "gpu2"}]}`, "serve a public repository: gpu1, gpu2"},
	} {
		answers := maps.Clone(safe)
		if answers[test.path] = test.answer; test.answer == "" {
			delete(answers, test.path)
		}
		found, err := examine(t, answers)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		said := false
		for _, f := range found {
			if !f.OK && (f.Remedy == "" || strings.Contains(f.What, "\n")) {
				t.Errorf("%s: no remedy in one line: %+v", what, f)
			}
			said = said || !f.OK && strings.Contains(f.What, test.want)
		}
		if !said {
			t.Errorf("%s: %+v", what, found)
		}
	}
}

// TestDoctorReadsRulesets: a ruleset protects as well as branch protection does.
func TestDoctorReadsRulesets(t *testing.T) {
	answers := maps.Clone(safe)
	delete(answers, "/branches/main/protection")
	for _, upToDate := range []string{`"strict_required_status_checks_policy": true, `, ""} {
		answers["/rules/branches/main"] = `[{"type": "non_fast_forward"}, {"type": "required_status_checks", "parameters": {` + upToDate + `"required_status_checks": [{"context": "pawl", "integration_id": 4711}]}}]`
		if upToDate == "" {
			answers["/rules/branches/main"] = strings.TrimSuffix(answers["/rules/branches/main"], "]") + `, {"type": "merge_queue"}]`
		}
		found, err := examine(t, answers)
		for _, f := range found {
			if err != nil || !f.OK {
				t.Errorf("%+v, %v", f, err)
			}
		}
	}
}

func TestDoctorReadsPrivateRepositories(t *testing.T) {
	answers := maps.Clone(safe)
	answers[""] = `{"default_branch": "main", "private": true}`
	answers["/actions/permissions/fork-pr-workflows-private-repos"] = `{"run_workflows_from_fork_pull_requests": true, "send_secrets_and_variables": true, "require_approval_for_fork_pr_workflows": false}`
	found, err := examine(t, answers)
	if err != nil {
		t.Fatal(err)
	}
	open := ""
	for _, f := range found {
		if !f.OK {
			open += f.What + "\n"
		}
	}
	if open != "workflows of forks run without approval\nworkflows of forks get write tokens or secrets\n" {
		t.Error(open)
	}
}

func TestDoctorRefuses(t *testing.T) {
	if _, err := Doctor(t.Context(), forge.Options{Repo: "../../user", Token: "secret"}); err == nil || !strings.Contains(err.Error(), "expected owner/name") {
		t.Errorf("a path in place of a repository: %v", err)
	}
	if _, err := examine(t, nil); err == nil {
		t.Error("a repository that is not there")
	}
	answers := maps.Clone(safe)
	answers["/actions/permissions"] = "302" // the token must not travel
	if _, err := examine(t, answers); err == nil {
		t.Error("a redirect was followed")
	}
	answers["/actions/permissions"] = "limit" // says nothing about what the token may read
	if found, err := examine(t, answers); err == nil || !strings.Contains(err.Error(), "rate limit ends in 1h0m1s") {
		t.Errorf("too many requests: %v, %v", found, err)
	}
}
