package wake

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pawl/internal/disk"
	"pawl/internal/forge"
)

const (
	mostBody      = 1 << 20 // GitHub's workflow_job is a few KiB
	mostReaders   = 16      // bodies that are read at a time
	mostDelivered = 2000    // signatures that are remembered
	mostHints     = 1000
)

// inbox takes webhooks. It believes one thing of them: that somebody should look at a job.
type inbox struct {
	secret  []byte
	config  *Config
	path    string
	readers chan struct{}
	news    chan struct{} // has an element when there are hints

	mu sync.Mutex
	// delivered are the signatures of webhooks that came before. They cover the whole body, which
	// GitHub's delivery id is not part of: whoever replays a webhook can give it another id.
	delivered []string
	hints     []int64
}

func newInbox(c *Config, secret string) (*inbox, error) {
	in := &inbox{
		secret: []byte(secret), config: c, path: filepath.Join(c.State, "delivered.json"),
		readers: make(chan struct{}, mostReaders), news: make(chan struct{}, 1),
	}
	text, err := os.ReadFile(in.path)
	if errors.Is(err, fs.ErrNotExist) {
		return in, nil
	}
	if err == nil && json.Unmarshal(text, &in.delivered) != nil {
		in.delivered = nil // forgetting is harmless: the API is asked before anything is done
	}
	return in, err
}

// signed reports whether a signature is that of a body.
func signed(secret, body []byte, signature string) bool {
	text, is := strings.CutPrefix(signature, "sha256=")
	given, err := hex.DecodeString(text)
	if !is || err != nil {
		return false
	}
	sum := hmac.New(sha256.New, secret)
	sum.Write(body)
	return hmac.Equal(given, sum.Sum(nil))
}

// ServeHTTP answers a webhook.
func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code, said := in.take(w, r)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, said+"\n")
}

func (in *inbox) take(w http.ResponseWriter, r *http.Request) (int, string) {
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, "expected a webhook: POST"
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return http.StatusUnsupportedMediaType, "expected application/json: choose it as the content type of the webhook"
	}
	signature := r.Header.Get("X-Hub-Signature-256")
	if len(signature) != len("sha256=")+2*sha256.Size {
		return http.StatusUnauthorized, "expected X-Hub-Signature-256: give the webhook a secret"
	}
	select {
	case in.readers <- struct{}{}:
		defer func() { <-in.readers }()
	default:
		return http.StatusServiceUnavailable, "too many webhooks at a time"
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return http.StatusRequestEntityTooLarge, "the webhook is too large"
	}
	if err != nil {
		return http.StatusBadRequest, "the webhook was cut off"
	}
	if !signed(in.secret, body, signature) {
		return http.StatusUnauthorized, "the signature is not that of the body: compare the secrets of the webhook and of pawl ci wake"
	}
	switch event := r.Header.Get("X-GitHub-Event"); event {
	case "workflow_job":
	case "ping":
		return http.StatusOK, "pawl ci wake listens"
	default:
		return http.StatusOK, "only workflow_job is used"
	}
	repo, job, labels, err := forge.WebhookJob(body)
	if err != nil {
		return http.StatusBadRequest, "expected a workflow_job"
	}
	if !strings.EqualFold(repo, in.config.Repository) {
		return http.StatusOK, "another repository's"
	}
	if in.config.kindFor(labels) == nil {
		return http.StatusOK, "no machine here has these labels"
	}
	return in.note(strings.ToLower(signature), job)
}

// note remembers a webhook, and that its job should be looked at.
func (in *inbox) note(signature string, job int64) (int, string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if slices.Contains(in.delivered, signature) {
		return http.StatusOK, "known already"
	}
	in.delivered = append(in.delivered, signature)
	in.delivered = in.delivered[max(0, len(in.delivered)-mostDelivered):]
	text, err := json.Marshal(in.delivered)
	if err == nil {
		err = disk.Write(in.path, text)
	}
	if err != nil {
		return http.StatusInternalServerError, "the webhook could not be remembered"
	}
	if !slices.Contains(in.hints, job) && len(in.hints) < mostHints { // others are found by polling
		in.hints = append(in.hints, job)
	}
	select {
	case in.news <- struct{}{}:
	default:
	}
	return http.StatusAccepted, "will look at it"
}

// takeHints returns the jobs to look at, each once.
func (in *inbox) takeHints() []int64 {
	if in == nil {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	hints := in.hints
	in.hints = nil
	return hints
}
