package dash

import (
	"bytes"
	"compress/gzip"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pawl/internal/pattern"
	"pawl/internal/store"
)

// reply is an answer that is the same until the history changes.
type reply struct {
	status int
	kind   string // media type
	body   []byte
	file   string // name under which a browser saves it; "": it shows it
}

// maker makes the answer to a request.
type maker func(s *Server, r *http.Request) (*reply, error)

// pages keeps answers, those that were asked for last, by what they are made of: the address, and the
// stamp of the history.
type pages struct {
	mu    sync.Mutex
	by    map[string]*list.Element
	order list.List // of *kept, the last used first
	size  int
	flock map[string]*flight
}

type kept struct {
	key    string
	reply  *reply
	packed []byte
	tag    string
}

// flight is an answer that is being made: whoever asks for the same meanwhile waits for it.
type flight struct {
	done chan struct{}
	kept *kept
	err  error
}

const mostKept = 32 << 20 // bytes of all answers that are kept

// cached answers with what maker makes, once for each state of the history.
func (s *Server) cached(make maker) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done := work(r)
		k, err := s.answer(r, make)
		done()
		if err != nil {
			s.fail(w, r, err)
			return
		}
		h := w.Header()
		h.Set("Content-Type", k.reply.kind)
		h.Set("Cache-Control", "private, no-cache") // kept, and asked about each time
		h.Set("Vary", "Accept-Encoding, Cookie, Authorization")
		h.Set("ETag", k.tag)
		if k.reply.file != "" {
			h.Set("Content-Disposition", `attachment; filename="`+k.reply.file+`"`)
		}
		if hasTag(r.Header.Values("If-None-Match"), k.tag) && k.reply.status == http.StatusOK {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		body := k.reply.body
		if k.packed != nil && takesGzip(r.Header.Values("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			body = k.packed
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(k.reply.status)
		if r.Method != http.MethodHead {
			_, _ = w.Write(body)
		}
	})
}

// tags are those of a list as RFC 9110 writes them. A weak one counts as the same, as it does for If-None-Match.
var tags = pattern.New(`"[^"]*"`)

// hasTag reports whether a visitor already has the answer with a tag.
func hasTag(given []string, tag string) bool {
	list := strings.Join(given, ",")
	return strings.TrimSpace(list) == "*" || slices.Contains(tags.FindAllString(list, -1), tag)
}

// takesGzip reports whether a visitor takes packed answers. What is said of gzip counts more than what is
// said of all codings.
func takesGzip(given []string) bool {
	takes := map[string]bool{}
	for one := range strings.SplitSeq(strings.Join(given, ","), ",") {
		coding, weight, weighed := strings.Cut(one, ";")
		value, named := strings.CutPrefix(strings.ToLower(strings.TrimSpace(weight)), "q=")
		q, err := strconv.ParseFloat(value, 64)
		takes[strings.ToLower(strings.TrimSpace(coding))] = !weighed || named && err == nil && q > 0
	}
	if gzip, said := takes["gzip"]; said {
		return gzip
	}
	return takes["*"]
}

func (s *Server) answer(r *http.Request, make maker) (*kept, error) {
	stamp, err := s.stamp(r.Context())
	if err != nil {
		return nil, err
	}
	key := r.URL.Path + "?" + r.URL.Query().Encode() + "\x00" + stamp
	p := &s.pages
	p.mu.Lock()
	if at, ok := p.by[key]; ok {
		p.order.MoveToFront(at)
		p.mu.Unlock()
		return at.Value.(*kept), nil
	}
	f, going := p.flock[key]
	if !going {
		f = &flight{done: makeDone()}
		if p.flock == nil {
			p.flock, p.by = map[string]*flight{}, map[string]*list.Element{}
		}
		p.flock[key] = f
	}
	p.mu.Unlock()
	if going {
		select {
		case <-f.done:
			return f.kept, f.err
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	f.err = errors.New("the answer could not be made") // should make panic
	defer func() {
		p.mu.Lock()
		delete(p.flock, key)
		p.mu.Unlock()
		close(f.done)
	}()
	// Others may wait for the answer when this visitor has left.
	r = r.WithContext(context.WithoutCancel(r.Context()))
	made, err := s.make(make, r)
	if f.err = err; err != nil {
		return nil, err
	}
	f.kept = pack(key, made)
	p.keep(f.kept)
	return f.kept, nil
}

// make makes an answer when there is room for it. A panic leaves its room to others.
func (s *Server) make(answer maker, r *http.Request) (*reply, error) {
	s.work <- struct{}{}
	defer func() { <-s.work }()
	return answer(s, r)
}

func makeDone() chan struct{} { return make(chan struct{}) }

// stamp says which state of the history, and of the commits, an answer is made of.
func (s *Server) stamp(ctx context.Context) (string, error) {
	stamp, err := s.History.Stamp(ctx)
	if err != nil {
		return "", err
	}
	_, line, err := s.commits(ctx)
	return stamp + "/" + line + "/" + s.Now().UTC().Format("2006-01-02T15"), err
}

func pack(key string, r *reply) *kept {
	sum := sha256.Sum256(r.body)
	k := &kept{key: key, reply: r, tag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
	if len(r.body) > 1000 {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		_, _ = z.Write(r.body)
		_ = z.Close()
		k.packed = b.Bytes()
	}
	return k
}

func (k *kept) size() int { return len(k.key) + len(k.reply.body) + len(k.packed) + 500 }

func (p *pages) keep(k *kept) {
	if k.size() > mostKept/8 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.by[k.key] = p.order.PushFront(k)
	p.size += k.size()
	for p.size > mostKept {
		last := p.order.Back()
		gone := p.order.Remove(last).(*kept)
		delete(p.by, gone.key)
		p.size -= gone.size()
	}
}

// failure is an answer that says what is wrong with a request.
type failure struct {
	status        int
	message, hint string
}

func (f *failure) Error() string { return f.message }

func notFound(message string) *failure { return &failure{http.StatusNotFound, message, ""} }

// fail answers with an error: as a page, or as JSON to whoever asked for that. What is wrong inside is told
// to whoever started the server alone: a message of a database may say more than visitors are to know.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var f *failure
	switch {
	case errors.As(err, &f):
	case errors.Is(err, store.ErrNoRun):
		f = notFound("the history has no such run")
	case errors.Is(err, context.Canceled):
		return
	default:
		s.log("%v", err)
		f = &failure{http.StatusInternalServerError, "the history could not be read", "pawl serve says why, where it was started"}
		if s.away(r.Context()) {
			f.status = http.StatusServiceUnavailable
			w.Header().Set("Retry-After", "5")
		}
	}
	if isAPI(r.URL.Path) {
		s.failJSON(w, f)
		return
	}
	s.show(w, f.status, "fail", struct {
		frame
		Status        int
		Message, Hint string
	}{s.frame(http.StatusText(f.status), ""), f.status, f.message, f.hint})
}

// away reports whether the whole history does not answer, as a database that is being restarted: it may soon.
func (s *Server) away(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := s.History.Stamp(ctx)
	return err != nil
}
