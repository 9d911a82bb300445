package forge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"pawl/internal/pattern"
)

// note is a comment as a forge lists it.
type note struct {
	id     int64
	author string
	body   string
}

// notebook is where the comments of a pull request are.
type notebook interface {
	HeadSHA(ctx context.Context, pull int) (string, error)
	self(ctx context.Context) (string, error) // who the token belongs to
	notes(ctx context.Context, pull int) ([]note, error)
	write(ctx context.Context, pull int, id int64, body string) error // id 0: a new one
	erase(ctx context.Context, pull int, id int64) error
}

var (
	markerName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	marker     = pattern.New(`^<!-- pawl:(\S+) sha=([0-9a-f]+) run=(\d+)( vouched)? -->\n`)
)

// hidden returns the first line of a comment, which nobody sees.
func (c Comment) hidden() string {
	return fmt.Sprintf("<!-- pawl:%s sha=%s run=%d%s -->\n", c.Name, c.SHA, c.Run, c.standing().mark())
}

func (c Comment) standing() standing { return standing{c.Vouched, c.Run} }

// stays reports whether a comment is about the same commit, and this one does not replace it.
func (c Comment) stays(body string) bool {
	parts := marker.FindStringSubmatch(body)
	run, err := strconv.ParseInt(parts[3], 10, 64)
	return parts[2] == c.SHA && err == nil && standing{parts[4] != "", run}.over(c.standing())
}

// stick makes the comment, or updates it. Comments count as pawl's own if the token's owner wrote them
// and their first line is the marker: anybody can write the marker. Runs that race may both create
// one; the next run keeps the oldest.
func stick(ctx context.Context, in notebook, c Comment) (Posted, error) {
	body := c.hidden() + c.Text
	switch {
	case !markerName.MatchString(c.Name):
		return "", fmt.Errorf("name of a comment %q: expected letters, digits, _ . and -", c.Name)
	case !IsSHA(c.SHA):
		return "", fmt.Errorf("commit %q: expected a whole hash", c.SHA)
	}
	if err := tooLong("the comment", body); err != nil {
		return "", err
	}
	var failed error
	for range mostAttempts {
		posted, err := stickOnce(ctx, in, c, body)
		// A comment may have been made although its reply was lost: look again before making another.
		if err == nil || !maybe(err) {
			return posted, err
		}
		failed = err
		if ctx.Err() != nil {
			break
		}
	}
	return "", failed
}

func stickOnce(ctx context.Context, in notebook, c Comment, body string) (Posted, error) {
	author, err := in.self(ctx)
	if err != nil {
		return "", fmt.Errorf("who does the token belong to: %w", err)
	}
	all, err := in.notes(ctx, c.Pull)
	if err != nil {
		return "", err
	}
	var own []note
	for _, n := range all {
		n.body = strings.ReplaceAll(n.body, "\r\n", "\n")
		if parts := marker.FindStringSubmatch(n.body); n.author == author && parts != nil && parts[1] == c.Name {
			own = append(own, n)
		}
	}
	for _, n := range own {
		if c.stays(n.body) {
			return Stale, nil
		}
	}
	// Last, so that a push while pawl was reading is seen.
	head, err := in.HeadSHA(ctx, c.Pull)
	if err != nil {
		return "", err
	}
	if head != c.SHA {
		return Stale, nil
	}
	if len(own) == 0 {
		return Created, in.write(ctx, c.Pull, 0, body)
	}
	for _, extra := range own[1:] {
		if err := in.erase(ctx, c.Pull, extra.id); err != nil && status(err) != 404 {
			return "", err
		}
	}
	if strings.TrimSpace(own[0].body) == strings.TrimSpace(body) {
		return Unchanged, nil
	}
	err = in.write(ctx, c.Pull, own[0].id, body)
	if status(err) == 404 { // somebody deleted it meanwhile
		err = in.write(ctx, c.Pull, 0, body)
	}
	return Updated, err
}

var errNoSelf = errors.New("the forge does not say who the token belongs to: name the login with --as")
