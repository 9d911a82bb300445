package run

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"

	"pawl/internal/pattern"
	"pawl/internal/result"
)

// originOf says which line of work a run is about: by the variables of the job that it runs in, else
// by the branch that is checked out; nil: nothing is known. fork: the caller knows that the change
// is a stranger's.
func originOf(getenv func(string) string, branch string, fork bool) *result.Origin {
	made := &result.Origin{Branch: branch}
	switch {
	case getenv("GITHUB_ACTIONS") == "true" || getenv("GITEA_ACTIONS") == "true":
		gitHubOrigin(getenv, made)
	case getenv("GITLAB_CI") == "true":
		made.Branch = first(getenv, "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_BRANCH")
		if made.Pull = number(getenv("CI_MERGE_REQUEST_IID")); made.Pull != 0 {
			made.Fork = getenv("CI_MERGE_REQUEST_SOURCE_PROJECT_ID") != getenv("CI_MERGE_REQUEST_PROJECT_ID")
		}
	case getenv("JENKINS_URL") != "":
		if made.Pull = number(getenv("CHANGE_ID")); made.Pull != 0 {
			made.Branch, made.Fork = getenv("CHANGE_BRANCH"), getenv("CHANGE_FORK") != ""
		} else if branch == "" {
			made.Branch = strings.TrimPrefix(first(getenv, "BRANCH_NAME", "GIT_BRANCH"), "origin/")
		}
	}
	made.Fork = made.Fork || fork
	if *made == (result.Origin{}) {
		return nil
	}
	return made
}

var pullRef = pattern.New(`^refs/pull/([0-9]+)/`)

// gitHubOrigin reads the variables that GitHub sets, and Gitea with the same names.
func gitHubOrigin(getenv func(string) string, made *result.Origin) {
	event := getenv("GITHUB_EVENT_NAME")
	if branch, ok := strings.CutPrefix(getenv("GITHUB_REF"), "refs/heads/"); ok {
		made.Branch = branch
	}
	if m := pullRef.FindStringSubmatch(getenv("GITHUB_REF")); m != nil {
		made.Pull = number(m[1])
	}
	if !strings.HasPrefix(event, "pull_request") && made.Pull == 0 {
		return
	}
	made.Branch = getenv("GITHUB_HEAD_REF")
	var payload struct {
		Pull struct {
			Number int64 `json:"number"`
			Head   struct {
				Repo struct {
					Name string `json:"full_name"`
				} `json:"repo"`
			} `json:"head"`
		} `json:"pull_request"`
	}
	if file, err := os.Open(getenv("GITHUB_EVENT_PATH")); err == nil {
		defer file.Close()
		_ = json.NewDecoder(io.LimitReader(file, 32<<20)).Decode(&payload) // what cannot be read says nothing
	}
	if made.Pull == 0 {
		made.Pull = payload.Pull.Number
	}
	// Unless the event says that the change is of this repository, it may be anybody's.
	made.Fork = payload.Pull.Head.Repo.Name == "" || payload.Pull.Head.Repo.Name != getenv("GITHUB_REPOSITORY")
}

func first(getenv func(string) string, names ...string) string {
	for _, name := range names {
		if value := getenv(name); value != "" {
			return value
		}
	}
	return ""
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
