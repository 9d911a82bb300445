package wake

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl/internal/forge"
)

const secret = "It's a Secret to Everybody"

// examples are GitHub's own webhooks; tools/github-webhooks fetches them.
func examples(t testing.TB) (all []map[string]any) {
	t.Helper()
	text, err := os.ReadFile("testdata/workflow_job.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil || len(all) < 5 {
		t.Fatalf("%d examples: %v", len(all), err)
	}
	return all
}

// webhook returns one of GitHub's examples, about another job.
func webhook(t testing.TB, action string, job int64, labels ...string) []byte {
	t.Helper()
	for _, example := range examples(t) {
		if example["action"] == action {
			about := example["workflow_job"].(map[string]any)
			about["id"], about["labels"] = job, labels
			example["repository"].(map[string]any)["full_name"] = "o/r"
			text, err := json.Marshal(example)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
	t.Fatalf("no example of %s", action)
	return nil
}

func sign(key string, body []byte) string {
	sum := hmac.New(sha256.New, []byte(key))
	sum.Write(body)
	return fmt.Sprintf("sha256=%x", sum.Sum(nil))
}

// post is what GitHub sends.
func post(t testing.TB, url string, body []byte, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", "workflow_job")
	r.Header.Set("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	r.Header.Set("X-Hub-Signature-256", sign(secret, body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func send(t testing.TB, r *http.Request) (int, string) {
	t.Helper()
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	var said bytes.Buffer
	if _, err := said.ReadFrom(reply.Body); err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, strings.TrimSpace(said.String())
}

// until waits for a line of the log.
func (r *rig) until(line string) {
	r.t.Helper()
	for {
		select {
		case got := <-r.lines:
			if strings.HasPrefix(got, line) {
				return
			}
		case <-time.After(30 * time.Second):
			r.t.Fatalf("no line begins with %q: %q", line, r.logs)
		}
	}
}

// A webhook wakes a machine, without waiting for a poll.
func TestServe(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Poll.Duration = 24 * time.Hour })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- r.w.Serve(ctx, listener) }()

	r.api.Queue(7, "ada", "gpu")
	body := webhook(t, "queued", 7, "gpu")
	if code, said := send(t, post(t, url, body)); code != http.StatusAccepted {
		t.Fatalf("%d %s", code, said)
	}
	r.until("gpu-1: started")
	r.expect("start gpu-1")
	name := r.api.Runners()[0]
	r.api.Take(name, 7)
	if code, said := send(t, post(t, url, webhook(t, "in_progress", 7, "gpu"))); code != http.StatusAccepted {
		t.Fatalf("%d %s", code, said)
	}
	r.pass(time.Minute)
	r.api.Complete(7)
	if code, said := send(t, post(t, url, webhook(t, "completed", 7, "gpu"))); code != http.StatusAccepted {
		t.Fatalf("%d %s", code, said)
	}
	r.until("job 7 of ada ran 1m0s on " + name + " and cost 0.06")

	// The first webhook again, with another delivery id: it is known. Even if it were not, the job is over.
	if code, said := send(t, post(t, url, body, "X-GitHub-Delivery", "another")); code != http.StatusOK || said != "known already" {
		t.Errorf("%d %s", code, said)
	}
	stop()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	r.expect("start gpu-1")
	again, err := newInbox(r.config, secret)
	if err != nil {
		t.Fatal(err)
	}
	if code, said := again.note(sign(secret, body), 7); code != http.StatusOK || again.takeHints() != nil {
		t.Errorf("a restart forgot it: %d %s", code, said)
	}
	again.delivered = nil
	if code, _ := again.note(sign(secret, body), 7); code != http.StatusAccepted {
		t.Error(code)
	}
	r.w.inbox = again
	if err := r.w.step(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	r.expect("start gpu-1")
}

// A job that no webhook told of is found by polling.
func TestServePolls(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Poll.Duration = time.Millisecond })
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- r.w.Serve(ctx, nil) }()
	for r.api.Count("GET /repos/o/r/actions/runs") < 3 {
		time.Sleep(time.Millisecond)
	}
	r.api.Queue(7, "ada", "gpu")
	r.until("gpu-1: started")
	stop()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
}

// When the process ends, so do its commands; the next one continues.
func TestServeEnds(t *testing.T) {
	r := newRig(t)
	r.write("start", "#!/bin/sh\necho \"start $PAWL_MACHINE x\" >> \"$WAKE_TEST/calls\"\nexec sleep 1000\n")
	r.api.Queue(7, "ada", "gpu")
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- r.w.Serve(ctx, nil) }()
	r.until("gpu-1: start for job 7")
	stop()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	r.restart()
	if m := r.machine("gpu-1"); m.Phase != Up || m.RunnerID == 0 || m.Failures != 0 || m.Failed {
		t.Errorf("%+v", m)
	}
}

func TestServeNeedsSecret(t *testing.T) {
	r := newRig(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	r.w.secret = "short"
	if err := r.w.Serve(t.Context(), listener); err == nil || !strings.Contains(err.Error(), "PAWL_WEBHOOK_SECRET: expected at least 16 characters") {
		t.Error(err)
	}
}

// Nothing but a webhook of this repository, with this secret, for these labels, makes anybody look.
func TestRefused(t *testing.T) {
	r := newRig(t)
	in, err := newInbox(r.config, secret)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(in)
	defer server.Close()
	body := webhook(t, "queued", 7, "gpu")
	other := bytes.Replace(body, []byte(`"o/r"`), []byte(`"o/other"`), 1)
	large := append(bytes.Repeat([]byte(" "), mostBody), body...)
	forged := bytes.Replace(body, []byte(`"id":7`), []byte(`"id":8`), 1)
	if bytes.Equal(forged, body) || bytes.Equal(other, body) {
		t.Fatal("nothing was replaced")
	}
	sha1 := "sha1=" + strings.Repeat("0", 64)
	get := post(t, server.URL, nil)
	get.Method = http.MethodGet
	for _, c := range []struct {
		name string
		r    *http.Request
		code int
		said string
	}{
		{"another secret", post(t, server.URL, body, "X-Hub-Signature-256", sign("guessed", body)), 401, "compare the secrets"},
		{"a changed body", post(t, server.URL, forged, "X-Hub-Signature-256", sign(secret, body)), 401, "compare the secrets"},
		{"no signature", post(t, server.URL, body, "X-Hub-Signature-256", ""), 401, "give the webhook a secret"},
		{"a short signature", post(t, server.URL, body, "X-Hub-Signature-256", "sha256="), 401, "give the webhook a secret"},
		{"another hash", post(t, server.URL, body, "X-Hub-Signature-256", sha1+"00"), 401, "compare the secrets"},
		{"no hex", post(t, server.URL, body, "X-Hub-Signature-256", "sha256="+strings.Repeat("x", 64)), 401, "compare the secrets"},
		{"too large", post(t, server.URL, large), 413, "too large"},
		{"a form", post(t, server.URL, body, "Content-Type", "application/x-www-form-urlencoded"), 415, "choose it as the content type"},
		{"GET", get, 405, "expected a webhook"},
		{"another event", post(t, server.URL, body, "X-GitHub-Event", "push"), 200, "only workflow_job"},
		{"ping", post(t, server.URL, []byte(`{"zen":"x"}`), "X-GitHub-Event", "ping"), 200, "listens"},
		{"another repository", post(t, server.URL, other), 200, "another repository"},
		{"other labels", post(t, server.URL, webhook(t, "queued", 7, "gpu", "windows")), 200, "no machine here"},
		{"no labels", post(t, server.URL, webhook(t, "queued", 7)), 200, "no machine here"},
		{"no JSON", post(t, server.URL, []byte("{")), 400, "expected a workflow_job"},
		{"no job", post(t, server.URL, []byte(`{"repository":{"full_name":"o/r"}}`)), 400, "expected a workflow_job"},
		{"a negative job", post(t, server.URL, webhook(t, "queued", -7, "gpu")), 400, "expected a workflow_job"},
	} {
		if code, said := send(t, c.r); code != c.code || !strings.Contains(said, c.said) {
			t.Errorf("%s: %d %s", c.name, code, said)
		}
	}
	if in.takeHints() != nil || in.delivered != nil {
		t.Errorf("hints %v, delivered %v", in.hints, in.delivered)
	}
	if code, said := send(t, post(t, server.URL, body)); code != http.StatusAccepted {
		t.Errorf("the control is refused, too: %d %s", code, said)
	}
}

// What is remembered has a bound, in memory and on the disk.
func TestInboxIsBounded(t *testing.T) {
	r := newRig(t)
	in, err := newInbox(r.config, secret)
	if err != nil {
		t.Fatal(err)
	}
	for i := range mostDelivered - 1 {
		in.delivered = append(in.delivered, strconv.Itoa(i))
	}
	for i := range int64(mostHints) {
		in.hints = append(in.hints, i)
	}
	for i := range int64(3) {
		if code, _ := in.note(fmt.Sprint("new", i), 5000+i); code != http.StatusAccepted {
			t.Fatal(code)
		}
	}
	if len(in.news) != 1 {
		t.Error("news are lost while nobody listens")
	}
	again, err := newInbox(r.config, secret)
	if err != nil || len(again.delivered) != mostDelivered || again.delivered[mostDelivered-1] != "new2" || again.delivered[0] != "2" {
		t.Errorf("%d remembered: %v", len(again.delivered), err)
	}
	if n := len(in.takeHints()); n != mostHints {
		t.Errorf("%d hints", n)
	}
	for range mostReaders {
		in.readers <- struct{}{}
	}
	answer := httptest.NewRecorder()
	in.ServeHTTP(answer, post(t, "/", webhook(t, "queued", 7, "gpu")))
	if answer.Code != http.StatusServiceUnavailable {
		t.Error(answer.Code)
	}
}

// Each of GitHub's own examples is read.
func TestExamples(t *testing.T) {
	for _, example := range examples(t) {
		text, err := json.Marshal(example)
		if err != nil {
			t.Fatal(err)
		}
		repo, id, labels, err := forge.WebhookJob(text)
		job := example["workflow_job"].(map[string]any)
		if err != nil || repo != example["repository"].(map[string]any)["full_name"] || float64(id) != job["id"] || len(labels) != len(job["labels"].([]any)) {
			t.Errorf("%s: %s %d %v: %v", example["action"], repo, id, labels, err)
		}
	}
}

// Whatever comes, with a right signature or without: no more than one look at one job.
func FuzzWebhook(f *testing.F) {
	for _, example := range examples(f) { // only what is read: large inputs are shrunk for minutes
		job := example["workflow_job"].(map[string]any)
		text, err := json.Marshal(map[string]any{
			"action": example["action"], "workflow_job": map[string]any{"id": job["id"], "labels": job["labels"]},
			"repository": map[string]any{"full_name": example["repository"].(map[string]any)["full_name"]},
		})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, "workflow_job", sign(secret, text))
	}
	body := []byte(`{"workflow_job":{"id":7,"labels":["gpu"]},"repository":{"full_name":"o/r"}}`)
	f.Add(body, "workflow_job", sign(secret, body))
	f.Add(body, "workflow_job", "sha256=")
	f.Add([]byte(`{"workflow_job":{"id":1e99,"labels":null},"repository":null}`), "workflow_job", "")
	config := &Config{Repository: "o/r", State: f.TempDir(), Machines: []*Kind{{Name: "gpu", Labels: []string{"gpu"}}}}
	f.Fuzz(func(t *testing.T, body []byte, event, signature string) {
		for _, right := range []bool{false, true} {
			in, err := newInbox(config, secret)
			if err != nil {
				t.Fatal(err)
			}
			in.delivered = nil
			if right {
				signature = sign(secret, body)
			}
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
			r.Header = http.Header{"Content-Type": {"application/json"}, "X-Github-Event": {event}, "X-Hub-Signature-256": {signature}}
			answer := httptest.NewRecorder()
			in.ServeHTTP(answer, r)
			hints := in.takeHints()
			if !right && signature != sign(secret, body) && (hints != nil || answer.Code == http.StatusAccepted) {
				t.Fatalf("forged: %d %v", answer.Code, hints)
			}
			if (answer.Code == http.StatusAccepted) != (len(hints) == 1) || len(hints) == 1 && hints[0] <= 0 {
				t.Fatalf("%d %v", answer.Code, hints)
			}
		}
	})
}
