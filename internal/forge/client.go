package forge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/internal/pattern"
)

const (
	mostAttempts  = 5
	mostReply     = 32 << 20 // bytes: a page of changed files has their patches
	mostPages     = 100
	replyTimeout  = 30 * time.Second
	firstPause    = 500 * time.Millisecond
	longestPause  = 30 * time.Second
	secondaryWait = time.Minute // what GitHub asks for where it does not say how long
)

// client sends requests to one forge.
type client struct {
	base      *url.URL
	http      *http.Client
	header    http.Header
	authorize func(context.Context, *http.Request) error
	patience  time.Duration
	sleep     func(context.Context, time.Duration) error
	now       func() time.Time
}

func newClient(opts Options) (*client, error) {
	base, err := url.Parse(strings.TrimSuffix(opts.URL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || base.User != nil {
		return nil, fmt.Errorf("the forge's API is at %q: expected an address such as https://api.github.com", redact(opts.URL, opts.Token))
	}
	c := &client{base: base, http: opts.Client, header: http.Header{}, patience: opts.Patience, sleep: opts.sleep, now: time.Now}
	if c.http == nil {
		c.http = &http.Client{}
	}
	// A redirect could carry the token to another host.
	copied := *c.http
	copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &copied
	if c.patience == 0 {
		c.patience = 5 * time.Minute
	}
	if c.sleep == nil {
		c.sleep = sleep
	}
	c.header.Set("User-Agent", opts.Agent)
	c.header.Set("Accept", "application/json")
	return c, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Error is a request that a forge refused.
type Error struct {
	Method, Path string
	Status       int
	Message      string // in the forge's words
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s: %d %s", e.Method, e.Path, e.Status, http.StatusText(e.Status))
	if e.Message != "" {
		text += ": " + e.Message
	}
	switch e.Status {
	case http.StatusUnauthorized:
		text += " (the token is not valid, or no longer)"
	case http.StatusForbidden:
		text += " (the token may not do this: see docs/ci.md for what it needs)"
	case http.StatusNotFound:
		text += " (it does not exist, or the token may not see it)"
	}
	return text
}

// limitError is a request that a forge refused because there were too many.
type limitError struct {
	refused        error
	ends, patience time.Duration
}

func (e *limitError) Error() string {
	return fmt.Sprintf("%v; its rate limit ends in %s, which is longer than pawl waits (%s): try again then", e.refused, e.ends.Round(time.Second), e.patience)
}

func (e *limitError) Unwrap() error { return e.refused }

// status returns the HTTP status that an error is about; 0: it is about something else.
func status(err error) int {
	if refused, found := errors.AsType[*Error](err); found {
		return refused.Status
	}
	return 0
}

// maybe reports whether a failed request may have had its effect nevertheless.
func maybe(err error) bool {
	code := status(err)
	return err != nil && (code == 0 || code >= 500) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// request is one request of a forge's API.
type request struct {
	method, path string
	query        url.Values
	body         any  // as JSON; nil: none
	once         bool // to do it twice would do more than to do it once
	accept       string
}

// call sends a request until it is answered, and decodes the reply into out (a *[]byte takes it as it
// is; nil: nobody needs it).
func (c *client) call(ctx context.Context, r request, out any) (http.Header, error) {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, err
		}
	}
	for attempt := 1; ; attempt++ {
		header, err := c.send(ctx, r, body, out)
		if err == nil || attempt == mostAttempts || ctx.Err() != nil {
			return header, err
		}
		pause, limited := c.limited(err, header, attempt)
		switch {
		case limited && pause > c.patience:
			return header, &limitError{err, pause, c.patience}
		case limited:
		case r.once || !maybe(err):
			return header, err
		default:
			pause = backoff(attempt)
		}
		if slept := c.sleep(ctx, pause); slept != nil {
			return header, fmt.Errorf("%w (last answer: %w)", slept, err)
		}
	}
}

// backoff returns how long to wait after a failed attempt: twice as long after each, and never the
// same for two clients that failed together.
func backoff(attempt int) time.Duration {
	most := min(firstPause<<(attempt-1), longestPause)
	return most/2 + rand.N(most/2+1)
}

// limited returns how long a rate limit lasts, where one is the reason of an error.
func (c *client) limited(err error, header http.Header, attempt int) (time.Duration, bool) {
	refused, found := errors.AsType[*Error](err)
	if !found || refused.Status != http.StatusForbidden && refused.Status != http.StatusTooManyRequests {
		return 0, false
	}
	const slack = time.Second // times are whole seconds
	if seconds, err := strconv.Atoi(header.Get("Retry-After")); err == nil && seconds >= 0 {
		return time.Duration(seconds)*time.Second + slack, true
	}
	for _, prefix := range []string{"X-Ratelimit-", "Ratelimit-"} {
		reset, err := strconv.ParseInt(header.Get(prefix+"Reset"), 10, 64)
		if header.Get(prefix+"Remaining") == "0" && err == nil {
			return max(0, time.Unix(reset, 0).Sub(c.timeOf(header))) + slack, true
		}
	}
	if refused.Status == http.StatusTooManyRequests || strings.Contains(refused.Message, "secondary rate limit") {
		return secondaryWait << (attempt - 1), true
	}
	return 0, false
}

// timeOf returns the time by the forge's clock, which its limits and tokens go by; by ours where a
// reply does not say.
func (c *client) timeOf(header http.Header) time.Time {
	if at, err := http.ParseTime(header.Get("Date")); err == nil {
		return at
	}
	return c.now()
}

// clockDoubt says that this machine's clock may be why a forge does not accept a token: those of Apps
// are signed with the time.
func (c *client) clockDoubt(header http.Header) string {
	const bearable = time.Minute
	if off := c.now().Sub(c.timeOf(header)); off.Abs() > bearable {
		return fmt.Sprintf("; this machine's clock differs from the forge's by %s", off.Round(time.Second))
	}
	return ""
}

// send sends a request once.
func (c *client) send(ctx context.Context, r request, body []byte, out any) (http.Header, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, replyTimeout, fmt.Errorf("no answer within %s", replyTimeout))
	defer cancel()
	at := c.base.String() + r.path
	if len(r.query) > 0 {
		at += "?" + r.query.Encode()
	}
	made, err := http.NewRequestWithContext(ctx, r.method, at, bytes.NewReader(body))
	if err != nil {
		return nil, c.harmless(r, "", err)
	}
	made.Header = c.header.Clone()
	if body != nil {
		made.Header.Set("Content-Type", "application/json")
	}
	if r.accept != "" {
		made.Header.Set("Accept", r.accept)
	}
	if err := c.authorize(ctx, made); err != nil {
		return nil, err
	}
	secret := cmp.Or(made.Header.Get("PRIVATE-TOKEN"), last(made.Header.Get("Authorization")))
	reply, err := c.http.Do(made)
	if err != nil {
		return nil, c.harmless(r, secret, err)
	}
	defer reply.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(reply.Body, mostReply+1))
	switch {
	case err != nil:
		return reply.Header, c.harmless(r, secret, err)
	case len(raw) > mostReply:
		return reply.Header, &Error{r.method, r.path, http.StatusRequestEntityTooLarge, fmt.Sprintf("the reply has more than %d MiB", mostReply>>20)}
	case reply.StatusCode == http.StatusUnauthorized:
		return reply.Header, &Error{r.method, r.path, reply.StatusCode, message(reply, raw, secret) + c.clockDoubt(reply.Header)}
	case reply.StatusCode >= 300:
		return reply.Header, &Error{r.method, r.path, reply.StatusCode, message(reply, raw, secret)}
	}
	switch out := out.(type) {
	case nil:
	case *[]byte:
		*out = raw
	default:
		if err := json.Unmarshal(raw, out); err != nil {
			return reply.Header, &Error{r.method, r.path, http.StatusNotAcceptable, "the reply is not what the forge documents: " + redact(err.Error(), secret)}
		}
	}
	return reply.Header, nil
}

// harmless returns an error of a connection without the address that was asked for and without tokens.
func (c *client) harmless(r request, secret string, err error) error {
	if wrapped, found := errors.AsType[*url.Error](err); found {
		err = wrapped.Err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s %s%s: %w", r.method, c.base.Host, r.path, err)
	}
	return fmt.Errorf("%s %s%s: %s", r.method, c.base.Host, r.path, redact(err.Error(), secret))
}

// message returns what a forge says about a refusal, in one short line.
func message(reply *http.Response, raw []byte, secret string) string {
	if reply.StatusCode < 400 {
		return "the forge redirects: has the repository another name now?"
	}
	var said struct {
		Message any             `json:"message"` // GitLab: also an object
		Error   string          `json:"error"`
		Errors  json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(raw, &said) != nil {
		return "" // a proxy's page says nothing more than its status
	}
	text := said.Error
	switch message := said.Message.(type) {
	case string:
		text = message
	case nil:
	default:
		written, _ := json.Marshal(message)
		text = string(written)
	}
	if len(said.Errors) > 0 && string(said.Errors) != "null" {
		text += " " + string(said.Errors)
	}
	const most = 300
	line := []rune(strings.Join(strings.Fields(redact(text, secret)), " "))
	if len(line) > most {
		line = append(line[:most], '…')
	}
	return string(line)
}

// redact returns a text without the token that a request carries.
func redact(text, secret string) string {
	if secret == "" {
		return text
	}
	return strings.ReplaceAll(text, secret, "***")
}

// last returns the last word of a text.
func last(text string) string { return text[strings.LastIndexByte(text, ' ')+1:] }

var nextLink = pattern.New(`<[^>]*>;[^,]*rel="?next"?`)

// pages fetches a list page by page; each takes a page, and reports whether it needs another.
func pages[T any](ctx context.Context, c *client, path string, query url.Values, each func([]T) bool) error {
	query = cloned(query)
	for page := 1; page <= mostPages; page++ {
		query.Set("page", strconv.Itoa(page))
		var items []T
		header, err := c.call(ctx, request{method: http.MethodGet, path: path, query: query}, &items)
		if err != nil {
			return err
		}
		if !each(items) || !nextLink.MatchString(header.Get("Link")) {
			return nil
		}
	}
	return fmt.Errorf("GET %s: more than %d pages", path, mostPages)
}

func cloned(query url.Values) url.Values {
	out := url.Values{}
	for name, values := range query {
		out[name] = slices.Clone(values)
	}
	return out
}
