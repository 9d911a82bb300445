package dash

import (
	"context"
	"sync"
	"time"

	"pawl/internal/history"
)

// lineCache has the order of main's commits, and where they can be looked at. Asking git takes long where there are many: it is asked at
// most every few seconds, and who comes meanwhile sees what was known before.
type lineCache struct {
	mu     sync.Mutex
	line   *history.Line
	forge  history.Forge
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
		line, forge, err := s.ask(ctx)
		if err != nil {
			return nil, "", err
		}
		c.set(line, forge)
	}
	if time.Since(c.asked) > gitPatience && !c.asking {
		c.asking = true
		go s.askCommits(context.WithoutCancel(ctx))
	}
	return c.line, c.stamp, nil
}

func (s *Server) askCommits(ctx context.Context) {
	line, forge, err := s.ask(ctx)
	c := &s.line
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking, c.asked = false, time.Now()
	if err != nil {
		s.log("look for new commits: %v", err)
		return
	}
	c.set(line, forge)
}

// ask asks git. A project whose commits cannot be looked at has its line all the same.
func (s *Server) ask(ctx context.Context) (*history.Line, history.Forge, error) {
	forge, _ := s.History.Forge(ctx)
	line, err := s.History.Line(ctx, "")
	return line, forge, err
}

// forge says where commits can be looked at.
func (s *Server) forge(ctx context.Context) history.Forge {
	_, _, _ = s.commits(ctx)
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	return s.line.forge
}

func (c *lineCache) set(line *history.Line, forge history.Forge) {
	c.line, c.forge, c.asked, c.stamp = line, forge, time.Now(), ""
	if n := len(line.Commits); n > 0 {
		c.stamp = line.Branch + "@" + line.Commits[n-1]
	}
}
