package dash

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// maxConnections bounds what visitors who say nothing can hold.
const maxConnections = 512

// Limit returns a listener that has at most so many connections at a time. Where all are taken, a new one
// takes the place of one on which the server waits for its visitor: for a request, the rest of one, or
// for the answer to be read. Of those it is one of the address that has the most, and there the one that
// was quiet for the longest time: behind a proxy all have the same address.
func Limit(l net.Listener) net.Listener { return newLimited(l, maxConnections) }

type limited struct {
	net.Listener
	most  int
	mu    sync.Mutex
	room  *sync.Cond // a connection has ended, or waits for its visitor again
	held  map[*visit]struct{}
	clock uint64 // counts what visitors do
}

func newLimited(l net.Listener, most int) *limited {
	made := &limited{Listener: l, most: most, held: map[*visit]struct{}{}}
	made.room = sync.NewCond(&made.mu)
	return made
}

// visit is a connection.
type visit struct {
	net.Conn
	of      *limited
	home    string // whom it belongs to
	heard   uint64 // when its visitor did something last
	working int    // answers that are being made
}

func (l *limited) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.held) >= l.most {
		if v := l.quietest(); v != nil {
			delete(l.held, v)
			_ = v.Conn.Close()
			continue
		}
		l.room.Wait()
	}
	v := &visit{Conn: conn, of: l, home: homeOf(conn.RemoteAddr())}
	l.held[v] = struct{}{}
	l.hear(v)
	return v, nil
}

// quietest returns the connection that is given up first; nil: the server is at work for all.
func (l *limited) quietest() (found *visit) {
	count := map[string]int{}
	for v := range l.held {
		count[v.home]++
	}
	for v := range l.held {
		if v.working == 0 && (found == nil || count[v.home] > count[found.home] || count[v.home] == count[found.home] && v.heard < found.heard) {
			found = v
		}
	}
	return found
}

func (l *limited) hear(v *visit) {
	l.clock++
	v.heard = l.clock
}

func (v *visit) Close() error {
	v.of.mu.Lock()
	delete(v.of.held, v)
	v.of.mu.Unlock()
	v.of.room.Signal()
	return v.Conn.Close()
}

// homeOf names whom an address belongs to: who has an address of IPv6 has a whole network of them.
func homeOf(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	ip := at.Addr().Unmap().WithZone("")
	if network, err := ip.Prefix(64); ip.Is6() && err == nil {
		return network.String()
	}
	return ip.String()
}

type visitKey struct{}

// withVisit lets requests know their connection.
func withVisit(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, visitKey{}, conn)
}

// heard notes that a visitor has sent a whole request.
func heard(r *http.Request) { work(r)() }

// work keeps the connection of a request until the work for it is done. Waiting for the visitor is no work.
func work(r *http.Request) (done func()) {
	v, ok := r.Context().Value(visitKey{}).(*visit)
	if !ok {
		return func() {}
	}
	change := func(by int) {
		v.of.mu.Lock()
		v.working += by
		v.of.hear(v)
		v.of.mu.Unlock()
		v.of.room.Signal()
	}
	change(1)
	return func() { change(-1) }
}
