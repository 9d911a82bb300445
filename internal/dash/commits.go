package dash

import (
	"context"
	"sync"
	"time"

	"pawl/internal/history"
)

// lineCache has the order of main's commits. Asking git takes long where there are many: it is asked at
// most every few seconds, and who comes meanwhile sees what was known before.
type lineCache struct {
	mu     sync.Mutex
	line   *history.Line
	stamp  string
	asked  time.Time
	asking bool
}

const gitPatience = 2 * time.Second

// commits returns the order of main's commits, and a text that changes when it does.
func (s *Server) commits(ctx context.Context) (*history.Line, string, error) {
	c := &s.line
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line == nil {
		line, err := s.History.Line(ctx, "")
		if err != nil {
			return nil, "", err
		}
		c.set(line)
	}
	if time.Since(c.asked) > gitPatience && !c.asking {
		c.asking = true
		go s.askCommits(context.WithoutCancel(ctx))
	}
	return c.line, c.stamp, nil
}

func (s *Server) askCommits(ctx context.Context) {
	line, err := s.History.Line(ctx, "")
	c := &s.line
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking, c.asked = false, time.Now()
	if err != nil {
		s.log("look for new commits: %v", err)
		return
	}
	c.set(line)
}

func (c *lineCache) set(line *history.Line) {
	c.line, c.asked, c.stamp = line, time.Now(), ""
	if n := len(line.Commits); n > 0 {
		c.stamp = line.Branch + "@" + line.Commits[n-1]
	}
}
