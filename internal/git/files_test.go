package git

import (
	"errors"
	"strings"
	"testing"
)

// A branch of files has one commit, whatever was in it before, and nobody overwrites what another has
// pushed meanwhile.
func TestBranchOfFiles(t *testing.T) {
	ctx := t.Context()
	far := onMain(t)
	near := t.TempDir()
	if _, err := run(ctx, far, "config", "receive.denyCurrentBranch", "ignore"); err != nil {
		t.Fatal(err)
	}
	if _, err := run(ctx, near, "clone", "--quiet", far, "."); err != nil {
		t.Fatal(err)
	}
	remote := Remote{Dir: near, Name: "origin"}
	if _, err := remote.Last(ctx, "data"); !errors.Is(err, ErrNoBranch) {
		t.Fatal(err)
	}
	put := func(was string, names ...string) (string, error) {
		t.Helper()
		var files []BranchFile
		for _, name := range names {
			file, err := AddContent(ctx, near, name, []byte("content of "+name))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		sha, err := CommitFiles(ctx, near, "data", files)
		if err != nil {
			t.Fatal(err)
		}
		return sha, remote.Replace(ctx, sha, "data", was)
	}
	first, err := put("", "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := put("", "late"); err == nil {
		t.Error("two have made the branch")
	}
	second, err := put(first, "b", "c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := put(first, "late"); err == nil {
		t.Error("what was pushed meanwhile is gone")
	}
	last, err := remote.Last(ctx, "data")
	if err != nil || last != second {
		t.Fatalf("%s, expected %s; %v", last, second, err)
	}
	files, err := BranchFiles(ctx, near, last)
	if err != nil || len(files) != 2 || files[0].Name != "b" || files[1].Name != "c" {
		t.Fatalf("%v, %v", files, err)
	}
	if text, err := Content(ctx, near, files[1]); err != nil || string(text) != "content of c" || files[1].Size != int64(len(text)) {
		t.Errorf("%q, %v", text, err)
	}
	if log, err := run(ctx, near, "rev-list", "--count", last); err != nil || strings.TrimSpace(log) != "1" {
		t.Errorf("%s commits, %v", log, err)
	}
	if _, err := CommitFiles(ctx, near, "data", []BranchFile{{Name: "../x", SHA: files[0].SHA}}); err == nil {
		t.Error("a name that leaves the folder")
	}
}

func TestLineAndMainBranch(t *testing.T) {
	ctx := t.Context()
	dir := onMain(t)
	for _, args := range [][]string{
		{"checkout", "-q", "-b", "side"},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "on the side"},
		{"checkout", "-q", "main"},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "main goes on"},
		{"-c", "user.name=a", "-c", "user.email=a@b", "merge", "-q", "--no-ff", "-m", "merge", "side"},
	} {
		if _, err := run(ctx, dir, args...); err != nil {
			t.Fatal(err)
		}
	}
	ref, ok, err := MainBranch(ctx, dir)
	if err != nil || !ok || ref != "main" {
		t.Fatalf("%s, %v, %v", ref, ok, err)
	}
	shas, err := Line(ctx, dir, ref)
	if err != nil {
		t.Fatal(err)
	}
	side, _ := Resolve(ctx, dir, "side")
	tip, _ := Resolve(ctx, dir, "main")
	for _, sha := range shas {
		if sha == side {
			t.Error("the commit of the side is on the line")
		}
	}
	if shas[0] != tip {
		t.Errorf("the newest is %s, expected %s", shas[0], tip)
	}
	if head, _, err := Head(ctx, dir); err != nil || head.Branch != "main" {
		t.Errorf("%+v, %v", head, err)
	}
	if _, ok, err := MainBranch(ctx, t.TempDir()); err != nil || ok {
		t.Errorf("a folder without git: %v, %v", ok, err)
	}
}
