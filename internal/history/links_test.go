package history

import "testing"

func TestForge(t *testing.T) {
	const sha = "0123456789abcdef0123456789abcdef01234567"
	for remote, want := range map[string]string{
		"https://github.com/owner/name.git":               "https://github.com/owner/name/commit/" + sha,
		"https://user:secret@github.com/owner/name":       "https://github.com/owner/name/commit/" + sha,
		"git@github.com:owner/name.git":                   "https://github.com/owner/name/commit/" + sha,
		"ssh://git@git.example.org:2222/owner/name.git":   "https://git.example.org/owner/name/commit/" + sha,
		"https://gitlab.example.org/group/sub/name.git":   "https://gitlab.example.org/group/sub/name/-/commit/" + sha,
		"http://localhost:3000/owner/name.git":            "http://localhost:3000/owner/name/commit/" + sha,
		"/srv/git/name.git":                               "",
		"file:///srv/git/name.git":                        "",
		"../name":                                         "",
		"":                                                "",
		"javascript:alert(1)":                             "https://javascript/alert%281%29/commit/" + sha, // a name of a host for git, too
		"https://example.org/a\"onmouseover=\"alert(1)//": `https://example.org/a%22onmouseover=%22alert%281%29/commit/` + sha,
	} {
		if got := forgeOf(remote).Commit(sha); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
	if got := forgeOf("https://github.com/owner/name").Commit("../../evil"); got != "" {
		t.Errorf("what is no commit has the page %s", got)
	}
}
