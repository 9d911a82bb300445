package ci

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"

	"pawl/internal/forge"
)

// PostEnvironment returns what the environment of a job of GitHub Actions, Gitea Actions or GitLab CI
// says about a post to a kind of forge; "": to the forge of the job. A job of another forge says
// nothing about it, so that no token goes to an address that it is not for.
func PostEnvironment(kind forge.Kind, getenv func(string) string) (PostOptions, error) {
	var o PostOptions
	var err error
	if runs := jobForge(getenv); kind == "" || kind == runs {
		kind = runs
		o, err = jobOptions(kind, getenv)
	}
	o.Forge.Kind = kind
	o.Forge.Token, o.Forge.App = forge.Credentials(kind, getenv)
	return o, err
}

// jobForge returns the forge whose job this process is; "": none.
func jobForge(getenv func(string) string) forge.Kind {
	switch {
	case getenv("GITLAB_CI") != "":
		return forge.GitLab
	case getenv("GITEA_ACTIONS") != "":
		return forge.Gitea
	case getenv("GITHUB_ACTIONS") != "":
		return forge.GitHub
	}
	return ""
}

// jobOptions returns what a job of a forge says about itself.
func jobOptions(kind forge.Kind, getenv func(string) string) (PostOptions, error) {
	var o PostOptions
	number := func(text string) { _, _ = fmt.Sscan(text, &o.Run) }
	switch kind {
	case forge.GitLab:
		o.Forge = forge.Options{URL: getenv("CI_API_V4_URL"), Repo: cmp.Or(getenv("CI_MERGE_REQUEST_PROJECT_PATH"), getenv("CI_PROJECT_PATH"))}
		o.Head = forge.Head{
			Repo: getenv("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH"), Branch: getenv("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"),
			SHA: cmp.Or(getenv("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"), getenv("CI_COMMIT_SHA")), // the first is set where the pipeline's commit is the merge
		}
		o.URL = getenv("CI_PIPELINE_URL")
		number(getenv("CI_PIPELINE_ID"))
	case forge.GitHub, forge.Gitea:
		o.Forge = forge.Options{URL: getenv("GITHUB_API_URL"), Repo: getenv("GITHUB_REPOSITORY")}
		o.Head.SHA, o.Summary = getenv("GITHUB_SHA"), getenv("GITHUB_STEP_SUMMARY")
		number(getenv("GITHUB_RUN_ID"))
		if err := o.event(getenv("GITHUB_EVENT_PATH")); err != nil {
			return o, err
		}
		if server := getenv("GITHUB_SERVER_URL"); server != "" && o.Run > 0 {
			o.URL = fmt.Sprintf("%s/%s/actions/runs/%d", server, o.Forge.Repo, o.Run)
		}
	}
	return o, nil
}

// event reads from the event of the job which commit was measured, and by which run: by another one
// where the job was started by its end.
func (o *PostOptions) event(file string) error {
	if file == "" {
		return nil
	}
	raw, err := readBounded(file, 32<<20)
	if os.IsNotExist(err) {
		return nil
	} else if err != nil {
		return err
	}
	type repository struct {
		Name string `json:"full_name"`
	}
	var e struct {
		Run *struct {
			ID     int64       `json:"id"`
			Event  string      `json:"event"`
			SHA    string      `json:"head_sha"`
			Branch string      `json:"head_branch"`
			Repo   *repository `json:"head_repository"`
		} `json:"workflow_run"`
		Pull *struct {
			Head struct {
				SHA  string      `json:"sha"`
				Ref  string      `json:"ref"`
				Repo *repository `json:"repo"`
			} `json:"head"`
		} `json:"pull_request"`
		Group *struct {
			SHA string `json:"head_sha"`
		} `json:"merge_group"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("the event of this job (%s): %w", file, err)
	}
	switch {
	case e.Run != nil:
		o.Head, o.Run, o.Queue = forge.Head{SHA: e.Run.SHA, Branch: e.Run.Branch}, e.Run.ID, e.Run.Event == "merge_group"
		if e.Run.Repo != nil {
			o.Head.Repo = e.Run.Repo.Name
		}
	case e.Pull != nil:
		o.Head = forge.Head{SHA: e.Pull.Head.SHA, Branch: e.Pull.Head.Ref}
		if e.Pull.Head.Repo != nil {
			o.Head.Repo = e.Pull.Head.Repo.Name
		}
	case e.Group != nil:
		o.Head, o.Queue = forge.Head{SHA: e.Group.SHA}, true
	}
	return nil
}
