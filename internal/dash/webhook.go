package dash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"pawl/internal/disk"
)

// Hook tells somebody else's server what moved: it is sent a JSON object by POST, whose field text says it
// in words, as chats take it. What was told stands in a file, so that nothing is told twice or forgotten
// when pawl serve is started again. A server that does not answer hears it later.
type Hook struct {
	Address string // may hold a secret: messages name its host alone
	File    string // has what was told
	Every   time.Duration
}

// hookDays is how long something that moved is news.
const hookDays = 7

// hookMessage is what is sent.
type hookMessage struct {
	Version int       `json:"version"`
	Project string    `json:"project"`
	Text    string    `json:"text"`
	Moved   []apiMove `json:"moved"`
}

// Tell tells what moves, until ctx ends. What had moved before it began for the first time is no news.
func (s *Server) Tell(ctx context.Context, h Hook) error {
	to, err := url.Parse(h.Address)
	if err != nil || to.Scheme != "https" && to.Scheme != "http" || to.Host == "" {
		return errors.New("the webhook's address is none: expected https://HOST/PATH")
	}
	told, err := h.told()
	if err != nil {
		return err
	}
	said := ""
	tick := time.NewTicker(h.Every)
	defer tick.Stop()
	for {
		next, err := s.tell(ctx, h, told)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			told, said = next, ""
		case err.Error() != said: // once, however often it fails
			said = err.Error()
			s.log("tell %s what moved: %s; it is tried again", to.Host, said)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// tell sends what was not told yet, and returns what was told then.
func (s *Server) tell(ctx context.Context, h Hook, told []string) ([]string, error) {
	moves, err := s.moves(ctx, moveFilter{Since: s.Now().UTC().AddDate(0, 0, -hookDays)})
	if err != nil {
		return nil, err
	}
	keys := []string{} // not nil: there was a first time
	var fresh []move
	for _, m := range moves {
		key := fmt.Sprintf("%s/%d", m.Point.Run.ID, m.Point.N)
		keys = append(keys, key)
		if told != nil && !slices.Contains(told, key) {
			fresh = append(fresh, m)
		}
	}
	if len(fresh) > 0 {
		if err := h.send(ctx, hookMessage{1, s.Project, digestOf(s.Project, hookDays, fresh), movesJSON(fresh)}); err != nil {
			return nil, err
		}
	}
	if slices.Equal(keys, told) && told != nil {
		return told, nil
	}
	raw, err := disk.JSON(keys)
	if err == nil {
		err = disk.Write(h.File, raw)
	}
	return keys, err
}

// told reads what was told; nil: nothing ever was.
func (h Hook) told() (told []string, err error) {
	raw, err := os.ReadFile(h.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &told)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was told already: %s: %w; remove it to begin anew", h.File, err)
	}
	return told, nil
}

func (h Hook) send(ctx context.Context, message hookMessage) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.Address, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address is none")
	}
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address
		}
		return err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	return nil
}
