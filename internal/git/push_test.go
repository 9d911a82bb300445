package git

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// Over HTTP a push has the token in a header. Of two clones that push at once the second is refused,
// and pushes again on top of the first one's commit: nothing is lost.
func TestPushersRaceOverHTTP(t *testing.T) {
	folder := t.TempDir()
	git(t, folder, "clone", "--quiet", "--bare", "file://"+onMain(t), filepath.Join(folder, "served.git"))
	git(t, filepath.Join(folder, "served.git"), "config", "http.receivepack", "true")
	backend := &cgi.Handler{Path: filepath.Join(git(t, folder, "--exec-path"), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, token, _ := r.BasicAuth(); token != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	var remotes [2]Remote
	var made [2]string
	for i := range remotes {
		dir := clone(t, filepath.Join(folder, "served.git"))
		git(t, dir, "remote", "set-url", "origin", server.URL+"/served.git")
		remotes[i], made[i] = Remote{Dir: dir, Name: "origin", Token: "secret"}, commit(t, dir, "mine", strings.Repeat("x", i+1), "")
	}
	if err := (Remote{Dir: remotes[0].Dir, Name: "origin"}).Push(t.Context(), made[0], "main"); err == nil {
		t.Error("pushed without a token")
	}
	if err := remotes[0].Push(t.Context(), made[0], "main"); err != nil {
		t.Fatal(err)
	}
	if err := remotes[1].Push(t.Context(), made[1], "main"); err == nil {
		t.Error("the second push overwrote the first")
	}
	tip, err := remotes[1].Tip(t.Context(), "main")
	if err != nil || tip != made[0] {
		t.Fatalf("%s, %v; want %s", tip, err, made[0])
	}
	git(t, remotes[1].Dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "rebase", "--quiet", tip)
	again := git(t, remotes[1].Dir, "rev-parse", "HEAD")
	if err := remotes[1].Push(t.Context(), again, "main"); err != nil {
		t.Error(err)
	}
	if log := git(t, filepath.Join(folder, "served.git"), "log", "--format=%H", "main"); !strings.HasPrefix(log, again+"\n"+made[0]+"\n") {
		t.Errorf("main: %s", log)
	}
	if config := git(t, remotes[1].Dir, "config", "--list"); strings.Contains(config, "Authorization") {
		t.Error("the clone keeps the token")
	}
}
