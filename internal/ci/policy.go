package ci

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/goccy/go-yaml"

	"pawl/internal/forge"
)

// PolicyFile is where the policy of a runner lies unless somebody says otherwise.
const PolicyFile = "/etc/pawl/guard.yaml"

// Policy says which jobs a runner takes and what a job may leave behind. The administrator of the
// machine writes it; no repository can.
type Policy struct {
	Version      int      `yaml:"version"`
	User         string   `yaml:"user"`           // the runner's, and nobody else's
	Home         string   `yaml:"home"`           // of that user
	Work         string   `yaml:"work"`           // the runner's work folder
	State        string   `yaml:"state"`          // what guard and sweep remember
	Approvals    string   `yaml:"approvals"`      // one file for each approved commit
	Repositories []string `yaml:"repositories"`   // OWNER/NAME
	Branch       string   `yaml:"default_branch"` // whose workflows are trusted
	Workflows    []string `yaml:"workflows"`      // files that may use this machine
	Lane         string   `yaml:"strangers_lane"` // the one workflow that measures strangers' commits
	Events       []string `yaml:"events"`
	Strangers    string   `yaml:"strangers"`    // refuse, comment or file
	ApprovalAge  string   `yaml:"approval_age"` // the longest time from an approval to its use
	Temp         []string `yaml:"temp"`         // folders that everybody may write to
	Keep         []string `yaml:"keep"`         // caches below home that the repository's own jobs may fill
	Ignore       []string `yaml:"ignore"`       // below home, never looked at

	age   time.Duration
	owner int // of the policy, and of whatever it relies on
	uid   int // User's

	subordinate []idRange // users that User may become in a namespace of its own
	spools      []string  // folders of the system that keep files for the user
}

// How a stranger's commit gets onto the machine.
const (
	StrangersRefused   = "refuse"  // it does not
	StrangersByComment = "comment" // a maintainer's comment starts the default branch's workflow
	StrangersByFile    = "file"    // and the commit has a file among the approvals, too
)

func defaultPolicy() Policy {
	return Policy{
		State: "/var/lib/pawl/ci", Approvals: "/etc/pawl/approved", Branch: "main",
		Workflows: []string{
			".github/workflows/pawl.yml", ".github/workflows/pawl-strangers.yml", ".github/workflows/pawl-ratchet.yml",
			".github/workflows/pawl-tune.yml",
		},
		Lane:      ".github/workflows/pawl-strangers.yml",
		Events:    []string{"pull_request", "merge_group", "push", "workflow_dispatch", "schedule", "issue_comment"},
		Strangers: StrangersRefused, ApprovalAge: "24h",
		Temp: []string{"/tmp", "/var/tmp", "/dev/shm"},
		Keep: []string{".cache/pawl"},
	}
}

// maxPolicy is the most that a policy may hold.
const maxPolicy = 1 << 20

// ReadPolicy reads a policy file that belongs to owner and that nobody else may write. Keys that it
// does not know are refused: a misspelt lock is no lock.
func ReadPolicy(name string, owner int) (*Policy, error) {
	text, err := readOwned(name, owner, maxPolicy)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	policy := defaultPolicy()
	policy.owner = owner
	decoder := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	if err := decoder.Decode(&policy); err != nil {
		return nil, fmt.Errorf("policy %s: %w", name, err)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("policy %s: expected one document", name)
	}
	if err := policy.check(); err != nil {
		return nil, fmt.Errorf("policy %s: %w", name, err)
	}
	return &policy, nil
}

func (p *Policy) check() error {
	for name, path := range map[string]string{"home": p.Home, "work": p.Work, "state": p.State, "approvals": p.Approvals} {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" {
			return fmt.Errorf("%s: %q: expected the absolute path of a folder", name, path)
		}
	}
	for _, path := range p.Temp {
		if !filepath.IsAbs(path) || path == "/" {
			return fmt.Errorf("temp: %q: expected the absolute path of a folder", path)
		}
	}
	for _, path := range slices.Concat(p.Keep, p.Ignore) {
		if !filepath.IsLocal(path) || path == "." {
			return fmt.Errorf("%q: keep and ignore expect paths below home", path)
		}
	}
	for _, event := range p.Events {
		if !slices.Contains(defaultPolicy().Events, event) {
			return fmt.Errorf("events: %s: not an event that pawl ci guard can judge (%s)", event, strings.Join(defaultPolicy().Events, ", "))
		}
	}
	for _, repository := range p.Repositories {
		if !forge.IsRepo(repository) {
			return fmt.Errorf("repositories: %q: expected OWNER/NAME", repository)
		}
	}
	age, err := time.ParseDuration(p.ApprovalAge)
	switch {
	case p.Version != 1:
		return fmt.Errorf("version: %d: expected 1", p.Version)
	case len(p.Repositories) == 0:
		return errors.New("repositories: expected at least one OWNER/NAME")
	case p.Branch == "":
		return errors.New("default_branch: expected the name of a branch")
	case !slices.Contains([]string{StrangersRefused, StrangersByComment, StrangersByFile}, p.Strangers):
		return fmt.Errorf("strangers: %q: expected refuse, comment or file", p.Strangers)
	case err != nil || age <= 0:
		return fmt.Errorf("approval_age: %q: expected a time such as 24h", p.ApprovalAge)
	}
	p.age = age
	if p.uid, err = userID(p.User); err != nil {
		return err
	}
	p.spools = spoolsOf(p.uid)
	p.subordinate, err = subordinateOf(subordinateFile, p.User, p.uid)
	return err
}

// idRange is a range of user numbers.
type idRange struct{ first, count int }

// owns reports whether a user is the runner's, or one that the runner's user may become: a job that
// unshares a user namespace can run and write as each of its subordinate users.
func (p *Policy) owns(uid int) bool {
	return uid == p.uid || slices.ContainsFunc(p.subordinate, func(r idRange) bool { return uid >= r.first && uid-r.first < r.count })
}

// subordinateFile is where useradd writes the users that another user may become.
const subordinateFile = "/etc/subuid"

// subordinateOf reads the subordinate users of a user, who is named or numbered there.
func subordinateOf(name, user string, uid int) ([]idRange, error) {
	text, err := readSome(name, maxPolicy)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := []string{user, strconv.Itoa(uid)}
	if found, err := lookUser(uid); err == nil {
		names = append(names, found)
	}
	var out []idRange
	for line := range strings.Lines(string(text)) {
		parts := strings.Split(strings.TrimSpace(line), ":")
		if len(parts) != 3 || !slices.Contains(names, parts[0]) {
			continue
		}
		first, err := strconv.Atoi(parts[1])
		count, problem := strconv.Atoi(parts[2])
		if err = errors.Join(err, problem); err != nil || first <= 0 || count < 0 {
			return nil, fmt.Errorf("%s: %q: expected user:first:count", name, strings.TrimSpace(line))
		}
		out = append(out, idRange{first, count})
	}
	return out, nil
}

func lookUser(uid int) (string, error) {
	found, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return "", err
	}
	return found.Username, nil
}

// spoolsOf lists folders outside of home and temp in which any user can leave files, some of them
// commands that a daemon runs later in the user's name: jobs of cron and at, as Debian and Red Hat
// have them, locks, message queues, core dumps, and the user's runtime folder.
func spoolsOf(uid int) []string {
	return []string{
		"/var/spool/cron/crontabs", "/var/spool/cron", "/var/spool/cron/atjobs", "/var/spool/at", "/var/spool/atjobs",
		"/run/lock", "/dev/mqueue", "/var/crash", fmt.Sprintf("/run/user/%d", uid),
	}
}

// userID returns the number of a user, who must not be root.
func userID(name string) (int, error) {
	number := name
	if found, err := user.Lookup(name); err == nil {
		number = found.Uid
	}
	uid, err := strconv.Atoi(number)
	if err != nil || uid <= 0 {
		return 0, fmt.Errorf("user: %q: expected the user that the runner runs as, who is not root", name)
	}
	return uid, nil
}

// readOwned reads a file, at most so much of it, that belongs to owner, in a folder that belongs to
// owner; nobody else may write either.
func readOwned(name string, owner int, most int64) ([]byte, error) {
	if err := onlyWrittenBy(filepath.Dir(name), owner, true); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := ownedFile(name, info, owner); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s: more than %d bytes", name, most)
	}
	return text, err
}

// onlyWrittenBy returns an error unless path belongs to owner and only owner may write it.
func onlyWrittenBy(path string, owner int, folder bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.IsDir() != folder {
		return fmt.Errorf("%s: expected a %s", path, map[bool]string{true: "folder", false: "file"}[folder])
	}
	return owned(path, info, owner)
}

func ownedFile(path string, info os.FileInfo, owner int) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: expected a plain file", path)
	}
	return owned(path, info, owner)
}

func owned(path string, info os.FileInfo, owner int) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != owner || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s: somebody but its owner could write it; expected owner %d and no write permission for others (chown root %s; chmod go-w %s)", path, owner, path, path)
	}
	return nil
}
