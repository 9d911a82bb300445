package wake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"pawl/internal/diag"
	"pawl/internal/forge"
	"pawl/internal/pattern"
)

// Config is the service's own file. No repository can change it.
type Config struct {
	Version    int      `yaml:"version"`
	Repository string   `yaml:"repository"` // OWNER/NAME
	API        string   `yaml:"api"`        // "": GitHub's own
	State      string   `yaml:"state"`      // folder of the state and the ledger
	Poll       Span     `yaml:"poll"`       // between two looks for jobs that no webhook told of
	Daily      Daily    `yaml:"daily"`
	Pass       []string `yaml:"pass"` // environment variables that the commands get, too
	Machines   []*Kind  `yaml:"machines"`
}

// Span is a time such as 10m.
type Span struct{ time.Duration }

// UnmarshalYAML reads a time, and says where it is wrong.
func (s *Span) UnmarshalYAML(node ast.Node) error {
	text := node.GetToken()
	d, err := time.ParseDuration(text.Value)
	if err != nil {
		return &diag.Problem{Pos: diag.Pos{Line: text.Position.Line, Column: text.Position.Column}, Message: fmt.Sprintf("%q: expected a time such as 10m", text.Value), Width: len([]rune(text.Value))}
	}
	s.Duration = d
	return nil
}

// Daily is what one author may use on a day (UTC).
type Daily struct {
	Jobs    int `yaml:"jobs"`    // 0: no limit
	Minutes int `yaml:"minutes"` // 0: no limit
}

// Kind is a kind of machine: those with the same labels.
type Kind struct {
	Name     string   `yaml:"name"`
	Labels   []string `yaml:"labels"`
	Count    int      `yaml:"count"` // at most so many at a time
	Start    []string `yaml:"start"` // program and arguments
	Stop     []string `yaml:"stop"`
	Idle     *Span    `yaml:"idle"`     // without a job, until it is stopped
	Register Span     `yaml:"register"` // from its start until its runner must be online
	Price    float64  `yaml:"price_per_hour"`
}

const (
	mostConfig = 1 << 20
	mostCount  = 100
	shortPoll  = 10 * time.Second
)

// secrets are the variables that the service alone has.
var secrets = append(forge.SecretVariables(), "PAWL_WEBHOOK_SECRET")

// ReadConfig reads the service's file. Unknown keys are refused: a misspelt cap is no cap.
func ReadConfig(name string) (*Config, error) {
	text, err := readPrivate(name)
	if err != nil {
		return nil, fmt.Errorf("read the config of pawl ci wake: %w", err)
	}
	c := &Config{State: "/var/lib/pawl/wake", Poll: Span{2 * time.Minute}}
	decoder := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	if err := decoder.Decode(c); err != nil {
		return nil, placed(name, text, err)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: expected one document", name)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// readPrivate reads a file that nobody but root and this user may write: it names commands that run
// with the service's rights.
func readPrivate(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%s: others could write it: expected a file of root or of this user that only its owner writes (chmod go-w %s)", name, name)
	}
	text, err := io.ReadAll(io.LimitReader(file, mostConfig+1))
	if err == nil && len(text) > mostConfig {
		err = fmt.Errorf("%s: more than %d bytes", name, mostConfig)
	}
	return text, err
}

var unknownField = pattern.New(`^unknown field "([^"]*)"`)

// placed returns an error of the YAML reader with its place, its line and a hint.
func placed(name string, text []byte, err error) error {
	var list diag.List
	if problem, is := errors.AsType[*diag.Problem](err); is {
		problem.Pos.File = name
		list.Add(problem)
		return list.Err(text)
	}
	found, is := errors.AsType[interface {
		error
		GetToken() *token.Token
		GetMessage() string
	}](err)
	if !is || found.GetToken() == nil || found.GetToken().Position == nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	at := found.GetToken().Position
	problem := list.Addf(diag.Pos{File: name, Line: at.Line, Column: at.Column}, "%s", found.GetMessage())
	if parts := unknownField.FindStringSubmatch(problem.Message); parts != nil {
		problem.Message = "unknown key " + parts[1]
		problem.Hint, problem.Width = diag.Meant(parts[1], keys), len([]rune(parts[1]))
	}
	return list.Err(text)
}

// keys are all keys of the file, for hints.
var keys = slices.Concat(keysOf[Config](), keysOf[Daily](), keysOf[Kind]())

func keysOf[T any]() (names []string) {
	for field := range reflect.TypeFor[T]().Fields() {
		names = append(names, field.Tag.Get("yaml"))
	}
	return names
}

var kindName = pattern.New(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

func (c *Config) check() error {
	switch {
	case c.Version != 1:
		return fmt.Errorf("version: %d: expected 1", c.Version)
	case !forge.IsRepo(c.Repository):
		return fmt.Errorf("repository: %q: expected OWNER/NAME", c.Repository)
	case !filepath.IsAbs(c.State):
		return fmt.Errorf("state: %q: expected the absolute path of a folder", c.State)
	case c.Poll.Duration < shortPoll:
		return fmt.Errorf("poll: %s: expected at least %s, because GitHub limits requests", c.Poll, shortPoll)
	case c.Daily.Jobs < 0 || c.Daily.Minutes < 0:
		return errors.New("daily: expected jobs and minutes that are not negative; 0 is no limit")
	case len(c.Machines) == 0:
		return errors.New("machines: expected at least one")
	}
	for _, name := range c.Pass {
		if slices.Contains(secrets, name) {
			return fmt.Errorf("pass: %s: the service keeps its secrets from the commands; give them credentials of their own", name)
		}
	}
	for i, kind := range c.Machines {
		if kind == nil {
			return fmt.Errorf("machines[%d]: expected a machine", i)
		}
		if err := kind.check(); err != nil {
			return fmt.Errorf("machines[%d] %s: %w", i, kind.Name, err)
		}
		for _, other := range c.Machines[:i] {
			if other.Name == kind.Name || kind.fits(other.Labels) && other.fits(kind.Labels) {
				return fmt.Errorf("machines[%d] %s: has the name or the labels of another: expected one entry for each; count says how many machines", i, kind.Name)
			}
		}
	}
	return nil
}

func (k *Kind) check() error {
	if k.Count == 0 {
		k.Count = 1
	}
	if k.Register.Duration == 0 {
		k.Register.Duration = 10 * time.Minute
	}
	if k.Idle == nil {
		k.Idle = &Span{10 * time.Minute}
	}
	switch {
	case !kindName.MatchString(k.Name):
		return fmt.Errorf("name: %q: expected lower-case letters, digits and dashes, at most 32", k.Name)
	case len(k.Labels) == 0 || slices.Contains(k.Labels, ""):
		return errors.New("labels: expected those that a job's runs-on names, self-hosted too if it does")
	case k.Count < 1 || k.Count > mostCount:
		return fmt.Errorf("count: %d: expected 1 to %d", k.Count, mostCount)
	case k.Idle.Duration < 0 || k.Register.Duration < 0:
		return errors.New("idle, register: expected times such as 10m")
	case !(k.Price >= 0 && k.Price < math.Inf(1)): // not a number is no price either
		return fmt.Errorf("price_per_hour: %v: expected a price", k.Price)
	}
	for what, command := range map[string][]string{"start": k.Start, "stop": k.Stop} {
		if len(command) == 0 {
			return fmt.Errorf("%s: expected a list with the program and its arguments", what)
		}
		if _, err := exec.LookPath(command[0]); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// fits reports whether a machine has all labels of a job. GitHub does not tell upper from lower case.
func (k *Kind) fits(labels []string) bool {
	for _, label := range labels {
		if !slices.ContainsFunc(k.Labels, func(own string) bool { return strings.EqualFold(own, label) }) {
			return false
		}
	}
	return len(labels) > 0
}

// kindFor returns the first kind that a job with these labels can run on; nil: none.
func (c *Config) kindFor(labels []string) *Kind {
	for _, kind := range c.Machines {
		if kind.fits(labels) {
			return kind
		}
	}
	return nil
}

func (c *Config) kind(name string) *Kind {
	for _, kind := range c.Machines {
		if kind.Name == name {
			return kind
		}
	}
	return nil
}

// kindOf returns the kind whose runner has a name, as runnerName makes it; nil: it is none of this service's.
func (c *Config) kindOf(runner string) *Kind {
	for _, kind := range c.Machines {
		if rest, is := strings.CutPrefix(runner, "pawl-"+kind.Name+"-"); is && ownRunner.MatchString(rest) {
			return kind
		}
	}
	return nil
}

var ownRunner = pattern.New(`^[0-9]+-[0-9a-f]{8}$`)
