package ci

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"pawl/internal/forge"
)

// Finding is one setting of a repository.
type Finding struct {
	OK     bool   `json:"ok"`
	What   string `json:"what"`             // what is so, in one line
	Remedy string `json:"remedy,omitempty"` // what to do where it should not be so
}

// RequiredCheck is the name of the check that pawl ci post writes.
const RequiredCheck = "pawl"

// actionsApp is the App that workflows act as: any job of any workflow can report a check under its name.
const actionsApp = 15368

// doctor collects findings about one repository.
type doctor struct {
	api   *forge.Settings
	found []Finding
}

// Doctor reads the settings of a GitHub repository that keep strangers from a self-hosted runner.
func Doctor(ctx context.Context, opts forge.Options) ([]Finding, error) {
	api, err := forge.NewSettings(opts)
	if err != nil {
		return nil, err
	}
	d := &doctor{api: api}
	var about struct {
		Branch  string `json:"default_branch"`
		Private bool   `json:"private"`
	}
	if err := api.Get(ctx, "", &about); err != nil {
		return nil, err
	}
	for _, examine := range []func(context.Context, string, bool) error{
		d.approval, d.token, d.pins, d.protection, d.environment, d.runners,
	} {
		if err := examine(ctx, about.Branch, about.Private); err != nil {
			return d.found, err
		}
	}
	return d.found, nil
}

func (d *doctor) say(ok bool, good, bad, remedy string) {
	if ok {
		d.found = append(d.found, Finding{OK: true, What: good})
	} else {
		d.found = append(d.found, Finding{What: bad, Remedy: remedy})
	}
}

// unknown notes a setting that could not be read. Other errors end the examination.
func (d *doctor) unknown(what string, err error) error {
	why := "not found"
	switch {
	case forge.Forbidden(err):
		why = "the token may not read it"
	case !forge.Absent(err):
		return err
	}
	d.say(false, "", what+": "+why, "use a token that may read the repository's administration")
	return nil
}

func (d *doctor) approval(ctx context.Context, _ string, private bool) error {
	if private {
		var fork struct {
			Run     bool `json:"run_workflows_from_fork_pull_requests"`
			Write   bool `json:"send_write_tokens_to_workflows"`
			Secrets bool `json:"send_secrets_and_variables"`
			Approve bool `json:"require_approval_for_fork_pr_workflows"`
		}
		if err := d.api.Get(ctx, "/actions/permissions/fork-pr-workflows-private-repos", &fork); err != nil {
			return d.unknown("whether workflows of forks run", err)
		}
		d.say(!fork.Run || fork.Approve, "workflows of forks wait for approval", "workflows of forks run without approval",
			"Settings → Actions → General → Fork pull request workflows: require approval")
		d.say(!fork.Run || !fork.Write && !fork.Secrets, "workflows of forks get no secrets", "workflows of forks get write tokens or secrets",
			"Settings → Actions → General → Fork pull request workflows: send neither write tokens nor secrets")
		return nil
	}
	var policy struct {
		Approval string `json:"approval_policy"`
	}
	if err := d.api.Get(ctx, "/actions/permissions/fork-pr-contributor-approval", &policy); err != nil {
		return d.unknown("who needs approval before workflows run", err)
	}
	d.say(policy.Approval == "all_external_contributors", "every outside contributor needs approval before workflows run",
		fmt.Sprintf("not every outside contributor needs approval (%s): one merged typo lets somebody run code", policy.Approval),
		"Settings → Actions → General → Approval for running fork pull request workflows: require approval for all external contributors")
	return nil
}

func (d *doctor) token(ctx context.Context, _ string, _ bool) error {
	var workflow struct {
		Default string `json:"default_workflow_permissions"`
		Approve bool   `json:"can_approve_pull_request_reviews"`
	}
	if err := d.api.Get(ctx, "/actions/permissions/workflow", &workflow); err != nil {
		return d.unknown("what the default token may do", err)
	}
	const where = "Settings → Actions → General → Workflow permissions: "
	d.say(workflow.Default == "read", "the default token only reads", "the default token may write: a workflow that names no permissions has all of them", where+"read repository contents")
	d.say(!workflow.Approve, "workflows cannot approve pull requests", "workflows may approve pull requests", where+"do not allow Actions to approve pull requests")
	return nil
}

func (d *doctor) pins(ctx context.Context, _ string, _ bool) error {
	var actions struct {
		Allowed string `json:"allowed_actions"`
		Pinned  bool   `json:"sha_pinning_required"`
	}
	if err := d.api.Get(ctx, "/actions/permissions", &actions); err != nil {
		return d.unknown("which actions are allowed", err)
	}
	d.say(actions.Pinned, "actions must be pinned by commit", "actions need not be pinned by commit: a moved tag runs somebody else's code", "Settings → Actions → General: require actions to be pinned to a full-length commit")
	return nil
}

// required is a check that must pass before a merge, by branch protection or by a ruleset.
type required struct {
	Context string `json:"context"`
	App     *int   `json:"app_id"`         // branch protection
	Source  *int   `json:"integration_id"` // rulesets
}

func (d *doctor) protection(ctx context.Context, branch string, _ bool) error {
	var checks []required
	protected, forced, current := false, true, false
	var protection struct {
		Checks *struct {
			Strict bool       `json:"strict"`
			Checks []required `json:"checks"`
		} `json:"required_status_checks"`
		Force *struct {
			Enabled bool `json:"enabled"`
		} `json:"allow_force_pushes"`
	}
	switch err := d.api.Get(ctx, "/branches/"+url.PathEscape(branch)+"/protection", &protection); {
	case err == nil:
		protected, forced = true, protection.Force != nil && protection.Force.Enabled
		if protection.Checks != nil {
			checks, current = protection.Checks.Checks, protection.Checks.Strict
		}
	case forge.Forbidden(err):
		return d.unknown("whether "+branch+" is protected", err)
	case !forge.Absent(err):
		return err
	}
	var rules []struct {
		Type       string `json:"type"`
		Parameters struct {
			Checks []required `json:"required_status_checks"`
			Strict bool       `json:"strict_required_status_checks_policy"`
		} `json:"parameters"`
	}
	switch err := d.api.Get(ctx, "/rules/branches/"+url.PathEscape(branch), &rules); {
	case err == nil:
		protected = protected || len(rules) > 0
		for _, rule := range rules {
			checks = append(checks, rule.Parameters.Checks...)
			forced = forced && rule.Type != "non_fast_forward"
			current = current || rule.Parameters.Strict || rule.Type == "merge_queue"
		}
	case !forge.Absent(err) && !forge.Forbidden(err):
		return err
	}
	where := "Settings → Branches → " + branch + ": "
	d.say(protected, branch+" is protected", branch+" is not protected: anybody who may write can push past every check", where+"add a protection rule")
	at := slices.IndexFunc(checks, func(c required) bool { return c.Context == RequiredCheck })
	d.say(at >= 0, "the check "+RequiredCheck+" must pass before a merge", "the check "+RequiredCheck+" is not required", where+"require the status check "+RequiredCheck)
	if at >= 0 {
		app := checks[at].App
		if app == nil {
			app = checks[at].Source
		}
		d.say(app != nil && *app > 0 && *app != actionsApp, "only one App can report the check "+RequiredCheck,
			"any workflow, also one that a pull request adds, can report a check named "+RequiredCheck,
			"let pawl ci post write as a GitHub App of yours, and choose that App as the source of the required check")
	}
	// A branch is compared with the commit at which it left: what it changes may be slow only together
	// with what has been merged since.
	d.say(current, "what is merged was measured with the newest "+branch, "a branch that left "+branch+" long ago can be merged as it was measured then",
		where+"require branches to be up to date before merging, or a merge queue")
	d.say(protected && !forced, "nobody can force a push to "+branch, "pushes to "+branch+" can be forced: the baseline's history could be rewritten", where+"forbid force pushes")
	return nil
}

func (d *doctor) environment(ctx context.Context, _ string, _ bool) error {
	var environment struct {
		Rules []struct {
			Type string `json:"type"`
		} `json:"protection_rules"`
	}
	err := d.api.Get(ctx, "/environments/pawl-strangers", &environment)
	if err != nil && !forge.Absent(err) {
		return d.unknown("whether the environment pawl-strangers has reviewers", err)
	}
	reviewed := false
	for _, rule := range environment.Rules {
		reviewed = reviewed || rule.Type == "required_reviewers"
	}
	d.say(reviewed, "the environment pawl-strangers has required reviewers", "the environment pawl-strangers has no required reviewers: a comment alone starts a stranger's measurement",
		"Settings → Environments → pawl-strangers: required reviewers")
	return nil
}

func (d *doctor) runners(ctx context.Context, _ string, private bool) error {
	var list struct {
		Runners []struct {
			Name      string `json:"name"`
			Ephemeral bool   `json:"ephemeral"`
		} `json:"runners"`
	}
	if err := d.api.Get(ctx, "/actions/runners?per_page=100", &list); err != nil {
		return d.unknown("which self-hosted runners there are", err)
	}
	var lasting []string
	for _, runner := range list.Runners {
		if !runner.Ephemeral {
			lasting = append(lasting, runner.Name)
		}
	}
	d.say(len(lasting) == 0 || private, "no self-hosted runner outlives its job next to strangers",
		"runners that outlive their jobs serve a public repository: "+strings.Join(lasting, ", "),
		"install pawl ci guard and pawl ci sweep on them, or register them anew for each job (config.sh --ephemeral)")
	return nil
}
