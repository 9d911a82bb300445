package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl/internal/result"
)

func TestDamagedEntriesAreRebuilt(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"k.c": plainSource})
	b := newBuilder(t)
	good := p.artifact(b)
	flip := func(at func(size int) int) func(string) error {
		return func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data[at(len(data))] ^= 1
			return os.WriteFile(path, data, 0o644)
		}
	}
	for _, test := range []struct {
		name, file string
		damage     func(path string) error
	}{
		{"a bit of the artifact", artifactFile, flip(func(n int) int { return n / 2 })},
		{"artifact cut", artifactFile, func(path string) error { return os.Truncate(path, 1000) }},
		{"artifact gone", artifactFile, os.Remove},
		{"meta cut", metaFile, func(path string) error { return os.Truncate(path, 100) }},
		{"meta empty", metaFile, func(path string) error { return os.Truncate(path, 0) }},
		{"meta gone", metaFile, os.Remove},
		{"a bit of the meta's code", metaFile, func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			at := strings.Index(string(data), good.Code)
			data[at+3] ^= 1
			return os.WriteFile(path, data, 0o644)
		}},
	} {
		if err := test.damage(filepath.Join(b.cache.entry(good.Key), test.file)); err != nil {
			t.Fatal(err)
		}
		o := p.one(b)
		if o.Fault != nil {
			t.Fatalf("%s: %v", test.name, o.Fault)
		}
		if o.Artifact.Cached || len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "damaged") || o.Artifact.Code != good.Code {
			t.Errorf("%s: cached %v, notes %q", test.name, o.Artifact.Cached, o.Notes)
		}
		if !p.artifact(b).Cached {
			t.Errorf("%s: not cached after the repair", test.name)
		}
	}

	recipes, _ := filepath.Glob(filepath.Join(b.cache.dir, readsFolder, "*", "*"))
	if len(recipes) != 1 {
		t.Fatalf("recipes: %q", recipes)
	}
	if err := os.Truncate(recipes[0], 20); err != nil {
		t.Fatal(err)
	}
	if p.artifact(b).Cached {
		t.Error("found an artifact by a list of files that was cut")
	}
	if !p.artifact(b).Cached {
		t.Error("the list of files was not repaired")
	}
}

func TestBuildersShareACache(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"pawl.yaml": yaml("k.c", "entry: run", "params: {P: [1, 2, 3]}"),
		"k.c":       strings.ReplaceAll(plainSource, "2;", "P;"),
	})
	requests := p.requests()
	cacheDir := t.TempDir()
	var group sync.WaitGroup
	results := make([][]Outcome, 2)
	for i := range results {
		group.Go(func() {
			b, err := New(Options{CacheDir: cacheDir, NoCcache: true, MaxBytes: 1}) // evicting all the time
			if err != nil {
				t.Error(err)
				return
			}
			results[i] = b.Build(context.Background(), requests)
		})
	}
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), "BUILD_TEST_OTHER_PROCESS="+p.dir, "BUILD_TEST_CACHE="+cacheDir)
	output, err := other.CombinedOutput()
	group.Wait()
	if err != nil {
		t.Fatalf("the other process: %v\n%s", err, output)
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	for i, outcomes := range results {
		for j, o := range outcomes {
			if o.Fault != nil || len(o.Notes) > 0 {
				t.Fatalf("builder %d: %v %q\n%s", i, o.Fault, o.Notes, o.Output)
			}
			if lines[j] != o.Artifact.Key+" "+o.Artifact.Code {
				t.Errorf("builder %d has %s %s, the other process %s", i, o.Artifact.Key, o.Artifact.Code, lines[j])
			}
		}
	}
	left, err := os.ReadDir(filepath.Join(cacheDir, "tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in tmp: %v, %v", left, err)
	}
	b, err := New(Options{CacheDir: cacheDir, NoCcache: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range b.Build(context.Background(), requests) {
		if o.Fault != nil || !o.Artifact.Cached {
			t.Errorf("%s is not in the cache", o.Request.Variant.Name())
		}
	}
}

// fill stores an artifact of this many bytes, last used so long ago.
func fill(t *testing.T, c *cache, name string, size int, age time.Duration) string {
	t.Helper()
	recipe, so := sha256Hex([]byte(name)), make([]byte, size)
	deps := []dependency{{Path: name, SHA256: recipe}}
	key := keyOf(recipe, deps)
	if _, err := c.store(recipe, deps, &Artifact{Key: key, SHA256: sha256Hex(so)}, so); err != nil {
		t.Fatal(err)
	}
	setAge(t, c, recipe, key, age)
	return key
}

func setAge(t *testing.T, c *cache, recipe, key string, age time.Duration) {
	t.Helper()
	then := time.Now().Add(-age)
	for _, path := range []string{c.entry(key), c.readsPath(recipe)} {
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEvictionOrder(t *testing.T) {
	t.Parallel()
	c := &cache{dir: t.TempDir(), max: 1 << 30}
	var keys []string
	for i := range 6 {
		keys = append(keys, fill(t, c, fmt.Sprint("entry", i), 100_000, time.Duration(10-i)*time.Hour))
	}
	// Use makes young: the oldest is read and must stay.
	if _, _, err := c.load(keys[0]); err != nil {
		t.Fatal(err)
	}
	c.max = 450_000 // room for three once a tenth is free
	keys = append(keys, fill(t, c, "last", 100_000, 0))
	var there []int
	for i, key := range keys {
		if _, _, err := c.load(key); err == nil {
			there = append(there, i)
		} else if !errors.Is(err, errMissing) {
			t.Errorf("entry %d: %v", i, err)
		}
	}
	if want := []int{0, 5, 6}; !slices.Equal(there, want) {
		t.Errorf("left: %v, expected %v", there, want)
	}
	if got := c.reads(sha256Hex([]byte("entry1"))); got != nil {
		t.Errorf("the list of an evicted recipe is still there: %v", got)
	}
	size, err := os.ReadFile(filepath.Join(c.dir, "size"))
	var total int64
	for _, it := range c.items() {
		total += it.bytes
	}
	if err != nil || string(size) != fmt.Sprint(total) || total > c.max {
		t.Errorf("size says %s, %v; there are %d bytes", size, err, total)
	}
}

func TestWhatIsInUseIsNotEvicted(t *testing.T) {
	t.Parallel()
	c := &cache{dir: t.TempDir(), max: 1}
	for i := range 3 {
		fill(t, c, fmt.Sprint(i), 1000, 30*time.Second)
	}
	if n := len(c.items()); n != 6 {
		t.Errorf("%d things left, expected 3 artifacts and 3 lists", n)
	}
	abandonedDir := filepath.Join(c.dir, "tmp", "of a killed process")
	if err := os.MkdirAll(abandonedDir, 0o755); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * abandoned)
	if err := os.Chtimes(abandonedDir, old, old); err != nil {
		t.Fatal(err)
	}
	fill(t, c, "next", 10, 0)
	if exists(abandonedDir) {
		t.Error("what a killed process left is still there")
	}
}

func TestUnusableCache(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b, err := New(Options{CacheDir: file, NoCcache: true})
	if err != nil {
		t.Fatal(err)
	}
	expectUncached(t, newProject(t, map[string]string{"k.c": plainSource}), b, "not a directory")
}

func expectUncached(t *testing.T, p *project, b *Builder, why string) {
	t.Helper()
	o := p.one(b)
	if o.Fault != nil {
		t.Fatalf("%v\n%s", o.Fault, o.Output)
	}
	if len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "could not be cached") || !strings.Contains(o.Notes[0], why) {
		t.Errorf("notes %q", o.Notes)
	}
	if o.Artifact.Cached || len(content(t, o.Artifact)) == 0 || o.Artifact.Code == "" {
		t.Error("the artifact is not whole")
	}
}

// tinyDisk returns a folder on a disk of a few pages.
func tinyDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("pawl", dir, "tmpfs", 0, "size=12k"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestCacheOnAFullDisk(t *testing.T) {
	t.Parallel()
	b, err := New(Options{CacheDir: tinyDisk(t), NoCcache: true})
	if err != nil {
		t.Fatal(err)
	}
	expectUncached(t, newProject(t, map[string]string{"k.c": plainSource}), b, "no space left on device")
}

func TestTempOnAFullDisk(t *testing.T) {
	p := newProject(t, map[string]string{"k.c": plainSource})
	b := newBuilder(t)
	disk := tinyDisk(t)
	t.Setenv("TMPDIR", disk)
	o := p.one(b)
	if o.Fault == nil || o.Fault.Cause != result.CauseInternal || o.Fault.Message != "no space left on device: "+disk {
		t.Errorf("fault %+v\n%s", o.Fault, o.Output)
	}
	if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCacheFolderFromEnvironment(t *testing.T) {
	named, home := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	t.Setenv("PAWL_CACHE", "")
	for _, test := range []struct{ option, variable, want string }{
		{"", "", filepath.Join(home, "pawl", "artifacts")},
		{"", named, named},
		{filepath.Join(named, "x"), named, filepath.Join(named, "x")},
	} {
		t.Setenv("PAWL_CACHE", test.variable)
		b, err := New(Options{CacheDir: test.option})
		if err != nil || b.cache.err != nil || b.cache.dir != test.want {
			t.Errorf("%+v: %s, %v, %v", test, b.cache.dir, err, b.cache.err)
		}
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	t.Setenv("PAWL_CACHE", "")
	b, err := New(Options{NoCcache: true})
	if err != nil {
		t.Fatal(err)
	}
	expectUncached(t, newProject(t, map[string]string{"k.c": plainSource}), b, "HOME")
}

// content returns an artifact's shared object.
func content(t testing.TB, a *Artifact) []byte {
	t.Helper()
	object, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// Artifacts leave their bytes in the cache, and say so when it has lost them.
func TestArtifactsStayInTheCache(t *testing.T) {
	b, p := newBuilder(t), newProject(t, map[string]string{"k.c": plainSource})
	for _, cached := range []bool{false, true} {
		a := p.artifact(b)
		if a.Cached != cached || a.bytes != nil || sha256Hex(content(t, a)) != a.SHA256 {
			t.Errorf("cached %t, %d bytes in memory", a.Cached, len(a.bytes))
		}
	}
	a := p.artifact(b)
	if err := os.RemoveAll(b.cache.entry(a.Key)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read(); err == nil || !strings.Contains(err.Error(), "can no longer be read from the cache") {
		t.Error(err)
	}
}
