package dash

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"pawl/internal/dash/dashtest"
)

// patient is a server that sends nobody away for being slow: who is let in, is by the bound alone.
func patient(t *testing.T, s *tested, most int) (*limited, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, server := newLimited(listener, most), s.HTTP()
	server.ReadHeaderTimeout, server.ReadTimeout, server.WriteTimeout, server.IdleTimeout = 0, 0, 0, 0
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	return l, listener.Addr().String()
}

// say opens a connection from an address, on which its visitor says something, and stays.
func say(t *testing.T, from, to, text string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// visitors ask for a small page, one after another, each with a connection of its own.
func visitors(t *testing.T, to string, count int) {
	t.Helper()
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for n := range count {
		answer, err := client.Get("http://" + to + "/static/icon.svg")
		if err != nil {
			t.Fatalf("visitor %d: %v", n, err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("visitor %d: status %d", n, answer.StatusCode)
		}
	}
}

const whole = "GET /static/icon.svg HTTP/1.1\r\nHost: localhost\r\n\r\n"

// However many connections are held by visitors who say nothing more, all others are let in.
func TestQuietVisitorsKeepNobodyOut(t *testing.T) {
	s := serve(t, func(o *Options) { o.Token = token })
	for what, text := range map[string]string{
		"nothing": "", "a part of a header": "GET / HTTP/1.1\r\nHost: localh", "a whole request": whole,
		"no body": "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n", "no body where none belongs": "GET /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
	} {
		t.Run(what, func(t *testing.T) {
			const most = 6
			l, to := patient(t, s, most)
			for range 2 * most {
				say(t, "127.0.0.1", to, text)
			}
			visitors(t, to, 3)
			l.mu.Lock()
			defer l.mu.Unlock()
			if len(l.held) > most {
				t.Errorf("%d connections, expected at most %d", len(l.held), most)
			}
		})
	}
}

// Who waits for an answer and who follows a run keep their connections, and so do visitors from elsewhere.
func TestConnectionsAtWorkAreKept(t *testing.T) {
	s := serve(t, nil)
	l, to := patient(t, s, 6)
	atWork := func() (n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for v := range l.held {
			n += v.working
		}
		return n
	}
	for range mostWork {
		s.work <- struct{}{} // no answer is made
	}
	waits := say(t, "127.0.0.1", to, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
	for atWork() < 1 {
		runtime.Gosched()
	}
	follows := say(t, "127.0.0.1", to, "GET /live/"+dashtest.LiveRun+"/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	for atWork() < 2 {
		runtime.Gosched()
	}
	elsewhere := say(t, "127.0.0.2", to, "")
	for range 8 {
		say(t, "127.0.0.1", to, "")
	}
	visitors(t, to, 20)
	if n := atWork(); n != 2 {
		t.Errorf("the server is at work for %d connections, want 2", n)
	}
	for range mostWork {
		<-s.work
	}
	if _, err := io.WriteString(elsewhere, whole); err != nil {
		t.Fatal(err)
	}
	for who, conn := range map[string]net.Conn{"who waits": waits, "who follows": follows, "who is elsewhere": elsewhere} {
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %v, %v", who, answer, err)
		}
	}
}

// Where the server is at work for all, the next one waits.
func TestConnectionsAreBounded(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	l := newLimited(listener, 2)
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r := (&http.Request{}).WithContext(withVisit(context.Background(), conn))
			work(r) // for good
			accepted <- conn
		}
	}()
	for range 4 {
		say(t, "127.0.0.1", listener.Addr().String(), "")
	}
	first := <-accepted
	<-accepted
	for range 1000 {
		runtime.Gosched()
	}
	l.mu.Lock()
	n := len(l.held)
	l.mu.Unlock()
	if n != 2 || len(accepted) != 0 {
		t.Fatalf("%d connections, and %d more were let in", n, len(accepted))
	}
	first.Close()
	first.Close() // leaves once
	<-accepted
	if len(accepted) != 0 {
		t.Error("one has left, and two were let in")
	}
}

func TestHomeOf(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7:1234": "192.0.2.7", "[::ffff:192.0.2.7]:1": "192.0.2.7", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64", "[fe80::1%lo]:80": "fe80::/64",
	} {
		if got := homeOf(named(address)); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

type named string

func (named) Network() string  { return "tcp" }
func (n named) String() string { return string(n) }
