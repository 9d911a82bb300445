package wake

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pawl/internal/forge"
)

// Entry is a line of the ledger: a job that ran here, or the time that a machine was on.
type Entry struct {
	Job     int64     `json:"job,omitempty"` // 0: a machine's time, from its start to its stop
	Run     int64     `json:"run,omitempty"`
	Author  string    `json:"author,omitempty"`
	Machine string    `json:"machine"` // a machine, or the kind that a job ran on
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Seconds float64   `json:"seconds"`
	Price   float64   `json:"price_per_hour"`
	Cost    float64   `json:"cost"`
}

func newEntry(machine string, began, ended time.Time, price float64) Entry {
	seconds := max(0, ended.Sub(began).Seconds())
	return Entry{Machine: machine, Began: began.UTC(), Ended: ended.UTC(), Seconds: seconds, Price: price, Cost: price * seconds / 3600}
}

// ledger is a file with one line for each job, and the part of it that caps need.
type ledger struct {
	path   string
	recent []Entry // ended in the last two days
}

const remembered = 48 * time.Hour

// openLedger reads a ledger. A line that a crash cut off is passed over.
func openLedger(folder string, now time.Time) (*ledger, error) {
	l := &ledger{path: filepath.Join(folder, "ledger.jsonl")}
	file, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var entry Entry
		if json.Unmarshal(lines.Bytes(), &entry) == nil && now.Sub(entry.Ended) < remembered {
			l.recent = append(l.recent, entry)
		}
	}
	return l, lines.Err()
}

// add appends an entry, unless its job is there already.
func (l *ledger) add(entry Entry, now time.Time) error {
	kept := l.recent[:0]
	for _, known := range l.recent {
		if entry.Job != 0 && known.Job == entry.Job {
			return nil
		}
		if now.Sub(known.Ended) < remembered {
			kept = append(kept, known)
		}
	}
	l.recent = kept
	text, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	// What a crash cut off must not spoil this line, too.
	var last [1]byte
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		if _, err := file.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
			text = append([]byte{'\n'}, text...)
		}
	}
	_, err = file.Write(append(text, '\n'))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	l.recent = append(l.recent, entry)
	return nil
}

// Used is what an author has used on a day.
type Used struct {
	Jobs    int     `json:"jobs"`
	Minutes float64 `json:"minutes"`
	Cost    float64 `json:"cost"`
}

// used returns what each author has used on the day (UTC) of now, with the jobs that run. A job counts
// for the day on which it began; its minutes count for the days on which they were.
func (l *ledger) used(running []Entry, now time.Time) map[string]*Used {
	day := now.UTC().Truncate(24 * time.Hour)
	out := map[string]*Used{}
	for _, list := range [][]Entry{l.recent, running} {
		for _, e := range list {
			begin, end := later(e.Began, day), earlier(e.Ended, day.Add(24*time.Hour))
			if e.Job == 0 || !begin.Before(end) && !sameDay(e.Began, day) {
				continue
			}
			u := out[e.Author]
			if u == nil {
				u = &Used{}
				out[e.Author] = u
			}
			if sameDay(e.Began, day) {
				u.Jobs++
			}
			minutes := max(0, end.Sub(begin).Minutes())
			u.Minutes += minutes
			u.Cost += e.Price * minutes / 60
		}
	}
	return out
}

func sameDay(at, day time.Time) bool { return at.UTC().Truncate(24 * time.Hour).Equal(day) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// jobEntry is what a job used until it ended.
func jobEntry(job *forge.Job, kind *Kind, ended time.Time) Entry {
	entry := newEntry(kind.Name, job.Started, ended, kind.Price)
	entry.Job, entry.Run, entry.Author = job.ID, job.Run, job.Author
	return entry
}
