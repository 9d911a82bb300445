package forge

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// perRequest is how many annotations GitHub takes at once. It drops more in silence.
const perRequest = 50

// checkRun is a check run as GitHub lists it.
type checkRun struct {
	ID         int64  `json:"id"`
	Status     string `json:"status"`
	ExternalID string `json:"external_id"`
	Output     struct {
		Annotations int `json:"annotations_count"`
	} `json:"output"`
}

type checkOutput struct {
	Title       string            `json:"title"`
	Summary     string            `json:"summary"`
	Annotations []checkAnnotation `json:"annotations,omitempty"`
}

type checkAnnotation struct {
	Path    string `json:"path"`
	Start   int    `json:"start_line"`
	End     int    `json:"end_line"`
	Level   Level  `json:"annotation_level"`
	Title   string `json:"title,omitempty"`
	Message string `json:"message"`
}

// checkID says which check run it is: of which run of pawl, and with what in it.
func (c Check) checkID() (string, error) {
	raw, err := json.Marshal(c)
	return fmt.Sprintf("pawl %d %x%s", c.Run, sha256.Sum256(raw), c.standing().mark()), err
}

func (c Check) standing() standing { return standing{c.Vouched, c.Run} }

// Check makes a check run. Annotations of more than one request are added to a run that is not
// completed before it has all of them. GitHub says how many it has, so that a run that was interrupted
// is continued, and one that is complete stays as it is.
func (g *github) Check(ctx context.Context, c Check) (Posted, error) {
	if !IsSHA(c.SHA) {
		return "", fmt.Errorf("commit %q: expected a whole hash", c.SHA)
	}
	if err := tooLong("the summary of the check", c.Summary); err != nil {
		return "", err
	}
	id, err := c.checkID()
	if err != nil {
		return "", err
	}
	posted := Unchanged
	rounds := len(c.Annotations)/perRequest + 1 + mostAttempts
	for range rounds {
		found, stale, err := g.findCheck(ctx, c, id)
		switch {
		case err != nil:
			return "", err
		case stale:
			return Stale, nil
		case found != nil && found.Status == "completed":
			return posted, nil
		}
		if found == nil {
			posted = Created
		} else if posted == Unchanged {
			posted = Updated
		}
		done, err := g.sendCheck(ctx, c, id, found)
		if done && err == nil {
			return posted, nil
		}
		// Its effect may be there although its reply was lost: findCheck looks.
		if err != nil && (!maybe(err) || ctx.Err() != nil) {
			return "", err
		}
	}
	return "", fmt.Errorf("the check %s has not been completed after %d requests", c.Name, rounds)
}

// findCheck returns the check run that was begun with the same content, if any, and reports whether
// pawl has made one that this does not replace. It reads all pages: a pull request can give its jobs
// the check's name, as many of them as it likes.
func (g *github) findCheck(ctx context.Context, c Check, id string) (same *checkRun, stale bool, err error) {
	query := url.Values{"check_name": {c.Name}, "filter": {"all"}, "per_page": {strconv.Itoa(checksPerPage)}}
	for page := 1; page <= mostPages; page++ {
		query.Set("page", strconv.Itoa(page))
		var list struct {
			Runs []checkRun `json:"check_runs"`
		}
		if _, err := g.call(ctx, request{method: http.MethodGet, path: g.at + "/commits/" + c.SHA + "/check-runs", query: query}, &list); err != nil {
			return nil, false, err
		}
		for _, run := range list.Runs {
			known := standing{vouched: strings.HasSuffix(run.ExternalID, vouchedMark)}
			if _, err := fmt.Sscanf(run.ExternalID, "pawl %d ", &known.run); err == nil && known.over(c.standing()) {
				return nil, true, nil
			}
			if run.ExternalID == id && same == nil {
				same = &run
			}
		}
		if len(list.Runs) < checksPerPage {
			return same, false, nil
		}
	}
	return nil, false, fmt.Errorf("commit %.12s has more than %d checks named %s", c.SHA, mostPages*checksPerPage, c.Name)
}

const checksPerPage = 100

// sendCheck sends the next annotations, and reports whether they were the last.
func (g *github) sendCheck(ctx context.Context, c Check, id string, at *checkRun) (done bool, err error) {
	sent := 0
	if at != nil {
		sent = min(at.Output.Annotations, len(c.Annotations))
	}
	end := min(sent+perRequest, len(c.Annotations))
	output := checkOutput{Title: c.Title, Summary: c.Summary}
	for _, a := range c.Annotations[sent:end] {
		output.Annotations = append(output.Annotations, checkAnnotation{a.Path, a.Line, a.Line, a.Level, a.Title, a.Message})
	}
	body := map[string]any{"name": c.Name, "external_id": id, "output": output, "status": "in_progress"}
	if c.URL != "" {
		body["details_url"] = c.URL
	}
	if done = end == len(c.Annotations); done {
		body["status"], body["conclusion"] = "completed", c.Conclusion
	}
	r := request{method: http.MethodPatch, path: g.at + "/check-runs", body: body, once: true}
	if at == nil {
		r.method, body["head_sha"] = http.MethodPost, c.SHA
	} else {
		r.path += "/" + strconv.FormatInt(at.ID, 10)
	}
	_, err = g.call(ctx, r, nil)
	return done, err
}
