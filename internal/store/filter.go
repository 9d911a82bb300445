package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// conditions are those of a WHERE, with their values.
type conditions struct {
	terms  []string
	values []any
	runs   bool // some are about columns that only runs have
	commit bool // some name a commit, which has few runs
}

// from is what points are read from.
func (c *conditions) from() string {
	if c.commit {
		return `runs r CROSS JOIN series rs CROSS JOIN points p` // in this order
	}
	if c.runs {
		return `points p JOIN runs r ON r.seq = p.run`
	}
	return `points p`
}

// slot names the next value.
func (c *conditions) slot() string { return "$" + strconv.Itoa(len(c.values)+1) }

func (c *conditions) add(term string, values ...any) {
	c.terms, c.values = append(c.terms, term), append(c.values, values...)
}

// list names several values.
func (c *conditions) list(ids []int64) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.FormatInt(id, 10)
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// take returns the terms of others, whose values it takes over: they are numbers in the text.
func (c *conditions) take(others conditions) string { return strings.Join(others.terms, " AND ") }

func (c *conditions) text() string {
	if len(c.terms) == 0 {
		return ""
	}
	return "WHERE " + strings.Join(c.terms, " AND ")
}

func limit(n int) string {
	if n <= 0 {
		return ""
	}
	return " LIMIT " + strconv.Itoa(n)
}

// ofSeries reports whether a filter names series.
func (f *Filter) ofSeries() bool { return f.Kernel != "" || f.Config != "" || f.Class != "" }

// timed reports whether a filter bounds when runs started.
func (f *Filter) timed() bool { return !f.Since.IsZero() || !f.Until.IsZero() }

// pointConditions are about rows; none: no row can have them. All their values are numbers.
func (db *DB) pointConditions(ctx context.Context, f Filter) (c conditions, none bool, err error) {
	if f.ofSeries() {
		series, err := db.selectSeries(ctx, f)
		if err != nil || len(series) == 0 {
			return c, true, err
		}
		ids := make([]int64, len(series))
		for i, s := range series {
			ids[i] = s.id
		}
		c.add(`p.series IN ` + c.list(ids))
	}
	if f.Verdict != "" {
		id, err := db.lookup(ctx, string(f.Verdict))
		if err != nil {
			return c, false, err
		}
		c.add(fmt.Sprintf(`p.verdict = %d`, id))
	}
	return c, false, nil
}

// runConditions are about runs; none: no run can have them. What points have of their runs is asked of
// the table of an alias: p, or r for the runs themselves.
func (db *DB) runConditions(ctx context.Context, alias string, f Filter) (c conditions, none bool, err error) {
	if len(f.Kinds) > 0 {
		ids := make([]int64, len(f.Kinds))
		for i, kind := range f.Kinds {
			if ids[i], err = db.lookup(ctx, string(kind)); err != nil {
				return c, false, err
			}
		}
		c.add(alias + `.kind IN ` + c.list(ids))
	}
	for _, one := range []struct{ column, text string }{{"class", f.Class}, {"branch", f.Branch}, {"outcome", string(f.Outcome)}} {
		if one.text == "" {
			continue
		}
		id, err := db.lookup(ctx, one.text)
		if err != nil || id < 0 {
			return c, true, err
		}
		c.runs = true
		c.add(`r.`+one.column+` = `+c.slot(), id)
	}
	if f.Pull != 0 {
		c.runs = true
		c.add(`r.pull = `+c.slot(), f.Pull)
	}
	switch f.Scope {
	case Main:
		c.add(fmt.Sprintf(`%s.flags & %d = 0`, alias, pull|fork|dirty))
	case Pulls:
		c.add(fmt.Sprintf(`%s.flags & %d <> 0`, alias, pull|fork))
	case Private:
		c.add(fmt.Sprintf(`%s.flags & %d <> 0`, alias, dirty))
	case All:
	}
	if !f.Since.IsZero() {
		c.add(alias+`.at >= `+c.slot(), f.Since.UnixMilli())
	}
	if !f.Until.IsZero() {
		c.add(alias+`.at < `+c.slot(), f.Until.UnixMilli())
	}
	if f.Commit != "" {
		low, high, ok := shaRange(f.Commit)
		if !ok {
			return c, true, nil
		}
		c.runs, c.commit = true, true
		if short := low[:min(indexed, len(low))]; len(f.Commit) >= 2*indexed {
			c.add(`substr(r.sha, 1, 4) = `+c.slot(), short)
		} else {
			c.add(`substr(r.sha, 1, 4) >= `+c.slot(), short)
			c.add(`substr(r.sha, 1, 4) <= `+c.slot(), high[:indexed])
		}
		c.add(`r.sha >= `+c.slot(), low)
		c.add(`r.sha <= `+c.slot(), high)
	}
	return c, false, nil
}

// indexed is how many bytes of a commit the index runs_sha has: all of them would take twice the room. The terms are
// written as in the index, lest databases do not see that it serves.
const indexed = 4

// shaRange returns the first and the last commit that begin with a text; ok: commits can.
func shaRange(text string) (low, high []byte, ok bool) {
	text = strings.ToLower(text)
	if len(text) > 64 {
		return nil, nil, false
	}
	low, err := hex.DecodeString(text + strings.Repeat("0", len(text)%2))
	if err != nil {
		return nil, nil, false
	}
	high, _ = hex.DecodeString(text + strings.Repeat("f", 64-len(text)))
	return low, high, true
}
