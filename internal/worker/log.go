package worker

import (
	"fmt"
	"strings"
	"sync"
)

// logHalf bounds a cell's log: this much of its beginning and of its end is kept.
const logHalf = 32 << 10

// boundedLog keeps the head and the tail of a cell's output, however long it is.
type boundedLog struct {
	mu      sync.Mutex
	head    []byte
	tail    []byte
	dropped int64
}

func (l *boundedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	written := len(p)
	if room := logHalf - len(l.head); room > 0 {
		n := min(room, len(p))
		l.head = append(l.head, p[:n]...)
		p = p[n:]
	}
	l.tail = append(l.tail, p...)
	if over := len(l.tail) - logHalf; over > logHalf { // trimmed rarely, so that writing stays linear
		l.dropped += int64(over)
		l.tail = append(l.tail[:0], l.tail[over:]...)
	}
	return written, nil
}

func (l *boundedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	tail, dropped := l.tail, l.dropped
	if over := len(tail) - logHalf; over > 0 {
		tail, dropped = tail[over:], dropped+int64(over)
	}
	if dropped == 0 {
		return strings.ToValidUTF8(string(l.head)+string(tail), "\uFFFD")
	}
	return strings.ToValidUTF8(fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", l.head, dropped, tail), "\uFFFD")
}
