package wake

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pawl/internal/disk"
	"pawl/internal/forge"
)

// Phase says where a machine is in its life.
type Phase string

// The phases.
const (
	Off         Phase = "off"
	Registering Phase = "registering" // the forge is asked for a runner's config
	Starting    Phase = "starting"    // the start command runs
	Up          Phase = "up"          // the machine is on, with a runner or without
	Stopping    Phase = "stopping"    // the stop command runs, or must be run again
)

// Machine is one machine. A machine that is up without a runner is warm: the next job gets a new
// runner there.
type Machine struct {
	Name     string    `json:"name"`
	Kind     string    `json:"kind"`
	Phase    Phase     `json:"phase"`
	Runner   string    `json:"runner,omitempty"` // registered, or about to be
	RunnerID int64     `json:"runner_id,omitempty"`
	Online   bool      `json:"online,omitempty"`   // that runner was seen online
	Busy     bool      `json:"busy,omitempty"`     // it had a job when the forge was asked last
	Failed   bool      `json:"failed,omitempty"`   // this start failed: the machine must be stopped
	On       time.Time `json:"on,omitzero"`        // when it was started; zero: it is off
	Since    time.Time `json:"since,omitzero"`     // when it last had a job, or something to wait for began
	Failures int       `json:"failures,omitempty"` // starts in a row that failed
	Stops    int       `json:"stops,omitempty"`    // stop commands in a row that failed
	Retry    time.Time `json:"retry,omitzero"`     // not before then
	Error    string    `json:"error,omitempty"`    // of the last failure, until a runner is online again
	StopRuns bool      `json:"-"`                  // this process runs the stop command
}

// Waiting is a job that matters to this service, and why it does not run yet.
type Waiting struct {
	forge.Job
	Seen   time.Time `json:"seen"` // when it was first found in the queue
	Reason string    `json:"reason,omitempty"`
	Held   bool      `json:"held,omitempty"` // its author has reached a cap
	Told   string    `json:"told,omitempty"` // the reason that was logged
	Woken  time.Time `json:"woken,omitzero"` // when a machine was first started for it; zero: none was
}

// State is what the service remembers. What GitHub knows better is asked again.
type State struct {
	Version  int                `json:"version"`
	Updated  time.Time          `json:"updated"`
	Machines []*Machine         `json:"machines"`
	Jobs     map[int64]*Waiting `json:"jobs"`
	Problem  string             `json:"problem,omitempty"` // of the last look at the forge
}

const stateVersion = 1

func stateFile(folder string) string { return filepath.Join(folder, "state.json") }

// readState reads the state; one that is not there is empty.
func readState(folder string) (*State, error) {
	s := &State{Version: stateVersion, Jobs: map[int64]*Waiting{}}
	text, err := os.ReadFile(stateFile(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w: stop the machines by hand, then remove the file", stateFile(folder), err)
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("%s: version %d: expected %d; stop the machines by hand, then remove the file", stateFile(folder), s.Version, stateVersion)
	}
	return s, nil
}

func (s *State) save(folder string, now time.Time) error {
	s.Updated = now
	text, err := disk.JSON(s)
	if err != nil {
		return err
	}
	return disk.Write(stateFile(folder), text)
}

// adopt makes the machines of the config, keeps those that are known, and continues what a restart cut
// off. A machine that the config no longer has is kept until it is off.
func (s *State) adopt(c *Config) error {
	for _, m := range s.Machines {
		if c.kind(m.Kind) == nil && m.Phase != Off {
			return fmt.Errorf("machine %s is %s, and the config has no machines named %s: put them back until it is off, because nobody else knows how to stop it", m.Name, m.Phase, m.Kind)
		}
		if m.Phase == Starting { // its runner appears, or does not in time
			m.Phase = Up
		}
	}
	for _, kind := range c.Machines {
		for i := range kind.Count {
			name := fmt.Sprintf("%s-%d", kind.Name, i+1)
			if !slices.ContainsFunc(s.Machines, func(m *Machine) bool { return m.Name == name }) {
				s.Machines = append(s.Machines, &Machine{Name: name, Kind: kind.Name, Phase: Off})
			}
		}
	}
	s.Machines = slices.DeleteFunc(s.Machines, func(m *Machine) bool {
		var number int
		kind := c.kind(m.Kind)
		_, err := fmt.Sscanf(m.Name, m.Kind+"-%d", &number)
		return m.Phase == Off && (kind == nil || err != nil || number > kind.Count)
	})
	return nil
}

func (s *State) machine(name string) *Machine {
	for _, m := range s.Machines {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// runnerName returns a name that no runner had before.
func runnerName(m *Machine) string {
	var random [4]byte
	rand.Read(random[:])
	return fmt.Sprintf("pawl-%s-%x", m.Name, random)
}

// fail remembers a start that failed.
func (m *Machine) fail(now time.Time, cause string) {
	m.Failures++
	m.Error, m.Retry = cause, now.Add(backoff(m.Failures))
}

// appeared notes that the machine's runner is online, or was when it took a job.
func (m *Machine) appeared() {
	m.Online, m.Failed, m.Failures, m.Error, m.Retry = true, false, 0, "", time.Time{}
}

// backoff returns how long to wait after so many failures in a row.
func backoff(failures int) time.Duration {
	const first, most = 30 * time.Second, time.Hour
	return min(first<<min(failures-1, 10), most)
}

// removed forgets a runner that is no longer registered.
func (m *Machine) removed(now time.Time) {
	m.Runner, m.RunnerID, m.Online, m.Busy, m.Since = "", 0, false, false, now
}
