package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Nobody need have told git who they are, and what the user has git ignore is in it.
func TestCreate(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	ignored := filepath.Join(home, "ignored")
	if err := os.WriteFile(ignored, []byte("*.c\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	settings := "[core]\n\texcludesFile = " + ignored + "\n[user]\n\tuseConfigOnly = true\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kernel.c"), []byte("int x;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Create(t.Context(), dir, "an honest kernel"); err != nil {
		t.Fatal(err)
	}
	head, ok, err := Head(t.Context(), dir)
	if err != nil || !ok || head.Dirty {
		t.Fatalf("%+v %v %v", head, ok, err)
	}
	tree, err := Checkout(t.Context(), dir, head.SHA)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if raw, err := os.ReadFile(filepath.Join(tree.Folder, "kernel.c")); err != nil || string(raw) != "int x;\n" {
		t.Errorf("%q %v", raw, err)
	}
}

func TestCreateWithoutGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := Create(t.Context(), t.TempDir(), "nothing"); !errors.Is(err, ErrNoProgram) {
		t.Error(err)
	}
}
