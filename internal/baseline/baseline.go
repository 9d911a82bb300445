// Package baseline is what people do with the baseline besides the checks that move it: show it,
// compare it with git's history, accept results into it for a reason, and remove entries from it
// for a reason.
package baseline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/diag"
	"pawl/internal/git"
	"pawl/internal/ratchet"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

type (
	// Entry is the best-known version of one kernel on one config.
	Entry = ratchet.Entry
	// Removed is what is left of an entry that was reset.
	Removed = ratchet.Removed
	// Move is one change of an entry.
	Move = ratchet.Move
	// Event is a move, and the commit that recorded it.
	Event = ratchet.Event
	// Audit is what the history of a class says of its baseline.
	Audit = ratchet.Audit
	// Finding is a problem that such an audit found.
	Finding = ratchet.Finding
)

// Short returns a commit in the form for people.
func Short(commit string) string { return git.Short(commit) }

// Where says which project's baseline is meant, and which device class.
type Where struct {
	File  string // the project's spec; "": pawl.yaml here or in a folder above
	Class string // "": all there are
}

// folder finds the project. Its spec may be invalid, and need not have the kernels that the
// baseline has.
func (w Where) folder() (string, error) {
	if w.File != "" {
		return filepath.Dir(w.File), nil
	}
	file, err := spec.Find(".")
	if err != nil {
		if _, statErr := os.Stat(filepath.Join(".pawl", "baseline")); statErr == nil {
			return ".", nil
		}
		return "", err
	}
	return filepath.Dir(file), nil
}

// open returns the baseline and its selected classes. It is an error if there is none.
func (w Where) open(find func(*ratchet.Store) ([]string, error)) (*ratchet.Store, []string, error) {
	dir, err := w.folder()
	if err != nil {
		return nil, nil, err
	}
	store := ratchet.Open(dir)
	classes, err := find(store)
	switch {
	case err != nil:
		return nil, nil, err
	case len(classes) == 0:
		return nil, nil, &diag.Problem{Message: "there is no baseline here", Hint: w.firstSteps(dir)}
	case w.Class == "":
		return store, classes, nil
	case slices.Contains(classes, w.Class):
		return store, []string{w.Class}, nil
	}
	return nil, nil, &diag.Problem{Message: fmt.Sprintf("there is no baseline of %s", w.Class), Hint: diag.Meant(w.Class, classes)}
}

// firstSteps says how a baseline comes about: an oracle must have judged a kernel before that.
func (w Where) firstSteps(dir string) string {
	hint := "pawl check --update-baseline makes one"
	s, err := spec.Load(cmp.Or(w.File, filepath.Join(dir, spec.FileName)))
	if err != nil {
		return hint // a check will say what is wrong with it
	}
	var bare []string
	for _, k := range s.Kernels {
		if k.Oracle == nil {
			bare = append(bare, k.Name)
		}
	}
	if len(bare) > 0 {
		hint += fmt.Sprintf(", of kernels with an oracle: in %s; without one (%s) a first baseline needs pawl baseline accept --reason", filepath.Base(s.File), unit.Few(bare, 3))
	}
	return hint
}

// openAudited is open, including classes whose file exists only in git's history.
func (w Where) openAudited(ctx context.Context) (*ratchet.Store, []string, error) {
	return w.open(func(s *ratchet.Store) ([]string, error) { return s.Audited(ctx) })
}

// Class is the baseline of a device class.
type Class struct {
	*ratchet.File
	Path  string
	Names []string // of the entries that are selected
}

// Show returns the classes with the entries that patterns select, in any of them.
func Show(w Where, patterns []string) ([]Class, error) {
	store, names, err := w.open((*ratchet.Store).Classes)
	if err != nil {
		return nil, err
	}
	var classes []Class
	var all []string
	for _, name := range names {
		f, err := store.Read(name)
		if err != nil {
			return nil, err
		}
		c := Class{File: f, Path: store.Path(name)}
		c.Names, _ = ratchet.Select(f.Names(), patterns)
		classes, all = append(classes, c), append(all, f.Names()...)
	}
	_, err = ratchet.Select(all, patterns)
	return classes, err
}

// History returns the moves of the entries that patterns select, by class, and the classes in their
// order.
func History(ctx context.Context, w Where, patterns []string) (map[string][]Event, []string, error) {
	store, classes, err := w.openAudited(ctx)
	if err != nil {
		return nil, nil, err
	}
	found := map[string][]Event{}
	var names []string
	for _, class := range classes {
		if found[class], err = store.History(ctx, class); err != nil {
			return nil, nil, err
		}
		for _, event := range found[class] {
			if len(names) == 0 || names[len(names)-1] != event.Name {
				names = append(names, event.Name)
			}
		}
	}
	chosen, err := ratchet.Select(names, patterns)
	if err != nil {
		return nil, nil, err
	}
	for class, events := range found {
		var kept []Event
		for _, event := range events {
			if slices.Contains(chosen, event.Name) {
				kept = append(kept, event)
			}
		}
		found[class] = kept
	}
	return found, classes, nil
}

// Verify audits the baseline against its history in git.
func Verify(ctx context.Context, w Where) ([]*Audit, error) {
	store, classes, err := w.openAudited(ctx)
	if err != nil {
		return nil, err
	}
	var audits []*Audit
	for _, class := range classes {
		a, err := store.Audit(ctx, class)
		if errors.Is(err, git.ErrNoRepository) {
			return nil, &diag.Problem{Message: "there is no git history to verify the baseline against", Hint: "commit the project, including .pawl/baseline"}
		}
		if err != nil {
			return nil, err
		}
		audits = append(audits, a)
	}
	return audits, nil
}

// Reset removes the entries that patterns select from the baseline, and records who wanted that and
// why. It returns their names, and the folder that has changed.
func Reset(ctx context.Context, w Where, patterns []string, reason string, at time.Time) (gone []string, folder string, err error) {
	switch {
	case strings.TrimSpace(reason) == "":
		return nil, "", errors.New("--reason: say why these entries should be removed")
	case len(patterns) == 0:
		return nil, "", errors.New("name what to reset: kernel or kernel/config, '*' for all")
	}
	store, classes, err := w.open((*ratchet.Store).Classes)
	if err != nil {
		return nil, "", err
	}
	if len(classes) > 1 {
		return nil, "", fmt.Errorf("--class: which of %s?", strings.Join(classes, ", "))
	}
	dir, err := w.folder()
	if err != nil {
		return nil, "", err
	}
	actor := ratchet.Actor{Who: ratchet.Who(ctx, dir), Time: at}
	if head, ok, err := git.Head(ctx, dir); err == nil && ok {
		actor.Commit = head.SHA
	}
	err = store.Update(ctx, classes[0], func(f *ratchet.File) error {
		if gone, err = ratchet.Select(f.Names(), patterns); err != nil {
			return err
		}
		for _, name := range gone {
			if _, err := f.Reset(name, actor, reason); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return gone, filepath.Dir(store.Path(classes[0])), nil
}
