package run

import (
	"os"
	"path/filepath"
	"testing"

	"pawl/internal/result"
)

// What a job's variables say of the change, and whose it is.
func TestOrigin(t *testing.T) {
	event := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(event, []byte(`{"pull_request":{"number":7,"head":{"repo":{"full_name":"owner/name"}}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	gitHub := func(more map[string]string) map[string]string {
		all := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "owner/name", "GITHUB_EVENT_PATH": event}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	for name, c := range map[string]struct {
		variables map[string]string
		branch    string
		fork      bool
		want      *result.Origin
	}{
		"a branch":            {nil, "main", false, &result.Origin{Branch: "main"}},
		"nothing":             {nil, "", false, nil},
		"told":                {nil, "main", true, &result.Origin{Branch: "main", Fork: true}},
		"push":                {gitHub(map[string]string{"GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/heads/main"}), "", false, &result.Origin{Branch: "main"}},
		"tag":                 {gitHub(map[string]string{"GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/tags/v1"}), "", false, nil},
		"pull request":        {gitHub(map[string]string{"GITHUB_EVENT_NAME": "pull_request", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_HEAD_REF": "faster"}), "", false, &result.Origin{Branch: "faster", Pull: 7}},
		"pull request target": {gitHub(map[string]string{"GITHUB_EVENT_NAME": "pull_request_target", "GITHUB_REF": "refs/heads/main", "GITHUB_HEAD_REF": "faster"}), "", false, &result.Origin{Branch: "faster", Pull: 7}},
		"fork":                {gitHub(map[string]string{"GITHUB_EVENT_NAME": "pull_request", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_REPOSITORY": "other/name"}), "", false, &result.Origin{Pull: 7, Fork: true}},
		"event unknown":       {gitHub(map[string]string{"GITHUB_EVENT_NAME": "pull_request", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_EVENT_PATH": "/none"}), "", false, &result.Origin{Pull: 7, Fork: true}},
		"gitea":               {map[string]string{"GITEA_ACTIONS": "true", "GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/heads/x"}, "", false, &result.Origin{Branch: "x"}},
		"gitlab branch":       {map[string]string{"GITLAB_CI": "true", "CI_COMMIT_BRANCH": "main"}, "", false, &result.Origin{Branch: "main"}},
		"merge request":       {map[string]string{"GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": "3", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "x", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "1", "CI_MERGE_REQUEST_PROJECT_ID": "1"}, "", false, &result.Origin{Branch: "x", Pull: 3}},
		"merge request, fork": {map[string]string{"GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": "3", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "2", "CI_MERGE_REQUEST_PROJECT_ID": "1"}, "", false, &result.Origin{Pull: 3, Fork: true}},
		"jenkins":             {map[string]string{"JENKINS_URL": "http://x", "GIT_BRANCH": "origin/main"}, "", false, &result.Origin{Branch: "main"}},
		"jenkins change":      {map[string]string{"JENKINS_URL": "http://x", "CHANGE_ID": "5", "CHANGE_BRANCH": "x", "CHANGE_FORK": "ann"}, "PR-5", false, &result.Origin{Branch: "x", Pull: 5, Fork: true}},
	} {
		got := originOf(func(name string) string { return c.variables[name] }, c.branch, c.fork)
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, expected %+v", name, got, c.want)
		}
	}
}
