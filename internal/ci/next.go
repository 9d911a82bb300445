package ci

// Next says what a person must still do after Init, for each forge: settings and hooks that no
// file of a repository can set.
func Next(opts InitOptions) []string {
	var next []string
	switch opts.Forge {
	case "github":
		next = append(next,
			"commit and push these files to "+opts.Branch+": workflow_run and issue_comment run as the default branch has them",
			"Settings → Actions → General: require approval for all external contributors, and read-only workflow permissions",
			"Settings → Environments: make pawl-strangers, with required reviewers",
			"Settings → Branches: protect "+opts.Branch+", and require the check named pawl",
			"copy the lines of .github/CODEOWNERS.pawl to .github/CODEOWNERS, with the team that owns the baseline",
			"pawl ci doctor --forge github --repo OWNER/NAME reads these settings and says what is still open",
		)
	case "gitea":
		next = append(next,
			"commit and push these files to "+opts.Branch+": workflow_run runs as the default branch has it",
			"Settings → Actions → Secrets: PAWL_TOKEN, of an account that may comment, set statuses and push to "+opts.Branch,
			"Gitea holds back the first run of a stranger until a person approves it; later runs of the same person are not held back",
			"Settings → Branches: protect "+opts.Branch+", and require the status named pawl",
			"register the runner that measures for this repository alone: Gitea's runner has no job hooks, so pawl ci guard cannot stand in front of it",
		)
	case "gitlab":
		next = append(next,
			"add to .gitlab-ci.yml:  include: {local: .gitlab/pawl.gitlab-ci.yml}",
			"Settings → CI/CD → Variables: PAWL_TOKEN (api scope, of somebody who may push to "+opts.Branch+"), protected and masked, with the environment scope pawl: only the jobs pawl-post and pawl-ratchet-commit have it",
		)
		if !Hosted(opts.Runner) {
			next = append(next, "Settings → CI/CD → Runners: mark the GPU runner as protected where strangers may open merge requests; it must not run untagged jobs, because those have the token")
		}
	}
	if opts.Forge == "github" && !Hosted(opts.Runner) {
		next = append(next, "on the GPU machine: install the hooks pawl ci guard and pawl ci sweep, as docs/ci.md shows")
		if opts.Branch != defaultPolicy().Branch {
			next = append(next, PolicyFile+", the policy of the hooks, needs default_branch: "+opts.Branch)
		}
	}
	return next
}
