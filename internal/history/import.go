package history

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/claim"
	"pawl/internal/diag"
	"pawl/internal/foreign"
	"pawl/internal/git"
	"pawl/internal/measure"
	"pawl/internal/pattern"
	"pawl/internal/result"
	"pawl/internal/store"
)

// ImportOptions say what files cannot say themselves.
type ImportOptions struct {
	Commit string    // that other tools' files were measured at
	Class  string    // device class that they were measured on
	Time   time.Time // when; zero: when the file was written
	Pull   int64     // the runs are of this pull request
	Own    bool      // refuse runs that are not of the main branch itself
}

// Imported is what came of an import.
type Imported struct {
	Added int
	Known int // runs that were there
	Notes int
}

func (i *Imported) String() string {
	text := fmt.Sprintf("%d added, %d already there", i.Added, i.Known)
	if i.Notes > 0 {
		text += fmt.Sprintf(", %d notes", i.Notes)
	}
	return text
}

// importBatch is how many runs a transaction stores.
const importBatch = 200

// Import adds what is in a file or a folder: a report, the folder of a run or of many, a zip with a
// report, lines of JSON or a segment, or another tool's file.
func (h *History) Import(ctx context.Context, path string, opts ImportOptions) (*Imported, error) {
	made := &Imported{}
	info, err := os.Stat(path)
	if err != nil {
		return made, &diag.Problem{Message: fmt.Sprintf("import %s: %v", path, withoutPath(err)), Hint: "name a report.json, a run's folder, .pawl/runs, a zip, or a file of pawl history export"}
	}
	if info.IsDir() {
		return made, h.importFolder(ctx, path, opts, made)
	}
	got, err := h.readFile(ctx, path, opts)
	if err == nil {
		err = h.add(ctx, made, got)
	}
	return made, err
}

func withoutPath(err error) error {
	if p, found := errors.AsType[*fs.PathError](err); found {
		return p.Err
	}
	return err
}

// importFolder adds every report.json in a folder and those below. One that is damaged keeps no other
// from being added.
func (h *History) importFolder(ctx context.Context, folder string, opts ImportOptions, made *Imported) error {
	var pending parsed
	var problems []error
	found := 0
	flush := func() error {
		err := h.add(ctx, made, &pending)
		pending = parsed{}
		return err
	}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		if entry.Name() != claim.ReportName || !entry.Type().IsRegular() {
			return nil
		}
		found++
		got, err := h.readFile(ctx, path, opts)
		if err != nil {
			problems = append(problems, err)
			return nil
		}
		if pending.entries = append(pending.entries, got.entries...); len(pending.entries) < importBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err == nil && found == 0 {
		err = &diag.Problem{Message: fmt.Sprintf("import %s: there is no report.json in this folder or below", folder), Hint: "pawl's runs are in .pawl/runs; name zips and other tools' files one by one"}
	}
	return errors.Join(append(problems, err)...)
}

// readFile reads a file of any form.
func (h *History) readFile(ctx context.Context, path string, opts ImportOptions) (*parsed, error) {
	if strings.HasSuffix(path, segmentEnding) || strings.HasSuffix(path, ".jsonl") {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("import %s: %w", path, withoutPath(err))
		}
		if strings.HasSuffix(path, segmentEnding) {
			if text, err = unpackLines(path, text); err != nil {
				return nil, err
			}
		}
		lines, err := parseLines(path, text)
		if err != nil {
			return nil, err
		}
		for i := range lines.entries {
			if err := opts.mark(&lines.entries[i]); err != nil {
				return nil, err
			}
		}
		return lines, nil
	}
	artifact, err := claim.Read(path, claim.DefaultLimits()) // a zip may come from anywhere
	if err != nil {
		return nil, err
	}
	report, err := result.Decode(artifact.Report)
	raw := artifact.Report
	if err != nil {
		if filepath.Base(path) == claim.ReportName || bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`{"schema"`)) || strings.HasSuffix(path, ".zip") {
			return nil, &diag.Problem{Pos: diag.Pos{File: path}, Message: err.Error(), Hint: "import the file as pawl check or pawl bench wrote it"}
		}
		if report, err = h.foreign(ctx, path, raw, opts); err != nil {
			return nil, err
		}
		raw = nil
	}
	entry := store.Entry{Report: report, Raw: raw}
	if err := opts.mark(&entry); err != nil {
		return nil, err
	}
	return &parsed{entries: []store.Entry{entry}}, nil
}

// mark makes a report one of a pull request, or refuses it, as it was asked for.
func (o ImportOptions) mark(e *store.Entry) error {
	if o.Pull != 0 { // the report itself is not changed for that, where it says the same
		if e.Report.Origin == nil {
			e.Report.Origin = &result.Origin{}
		}
		if e.Report.Origin.Pull != o.Pull {
			e.Report.Origin.Pull, e.Raw = o.Pull, nil
		}
	}
	if o.Own {
		return mainsOwn(e.Report)
	}
	return nil
}

// readReport reads a report of pawl: the file, or the folder or zip that it lies in.
func readReport(path string) (store.Entry, error) {
	artifact, err := claim.Read(path, claim.DefaultLimits())
	if err != nil {
		return store.Entry{}, err
	}
	report, err := result.Decode(artifact.Report)
	if err != nil {
		return store.Entry{}, &diag.Problem{Pos: diag.Pos{File: path}, Message: err.Error(), Hint: "import the file as pawl check or pawl bench wrote it"}
	}
	return store.Entry{Report: report, Raw: artifact.Report}, nil
}

var fullSHA = pattern.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// foreign makes a run of another tool's file. Its ID is of its content and its commit: the same file is
// one run, however often it is imported.
func (h *History) foreign(ctx context.Context, path string, raw []byte, opts ImportOptions) (*result.Report, error) {
	file, err := foreign.Parse(path, string(raw), foreign.Options{}, os.ReadFile)
	if err != nil {
		return nil, err
	}
	if opts.Commit == "" {
		return nil, &diag.Problem{
			Pos: diag.Pos{File: path}, Message: fmt.Sprintf("a file of %s does not say which commit it was measured at", file.Format), Hint: "pawl history import " + path + " --commit COMMIT",
		}
	}
	sha := opts.Commit
	if resolved, err := git.Resolve(ctx, h.root, sha); err == nil {
		sha = resolved
	} else if !fullSHA.MatchString(sha) {
		return nil, fmt.Errorf("--commit %s: %w", sha, err)
	}
	at := opts.Time
	if r := file.Report; at.IsZero() && !r.Started.IsZero() {
		at = r.Started
	}
	if info, err := os.Stat(path); at.IsZero() && err == nil {
		at = info.ModTime()
	}
	r := file.Report
	r.Schema, r.Kind, r.Started, r.Finished = result.Schema, result.KindBench, at.UTC(), at.UTC()
	r.ID = "import-" + shortDigest(append([]byte(sha+"\n"), raw...)) + shortDigest([]byte(opts.Class))[:4]
	r.Tool.Version = cmp.Or(r.Tool.Version, string(file.Format))
	r.Commit = &result.Commit{SHA: sha}
	r.DeviceClass = cmp.Or(opts.Class, r.DeviceClass, "unknown")
	for _, row := range r.Rows {
		if t := row.Timing; t != nil && t.Stats.Count == 0 && len(t.Samples.Kept()) > 0 {
			t.Stats = measure.StatsOf(t.Samples) // the tool gave samples, or its one number
		}
	}
	return r, nil
}

func shortDigest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:6])
}

// add stores what was read, in batches. Where a batch is refused, its runs are stored one by one: those
// in order are stored, and the others named.
func (h *History) add(ctx context.Context, made *Imported, got *parsed) error {
	var problems []error
	for from := 0; from < len(got.entries); from += importBatch {
		batch := got.entries[from:min(from+importBatch, len(got.entries))]
		n, err := h.Add(ctx, batch...)
		if err == nil {
			made.Added, made.Known = made.Added+n, made.Known+len(batch)-n
			continue
		}
		for _, e := range batch {
			n, err := h.Add(ctx, e)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			made.Added, made.Known = made.Added+n, made.Known+1-n
		}
	}
	for _, n := range got.notes {
		is, err := h.addNote(ctx, n)
		if err != nil {
			problems = append(problems, err)
		} else if is {
			made.Notes++
		}
	}
	return errors.Join(problems...)
}

// addNote adds a note that is not there yet.
func (h *History) addNote(ctx context.Context, n store.Note) (bool, error) {
	there, err := h.Notes(ctx, n.Run)
	if err != nil {
		return false, err
	}
	for _, other := range there {
		if other.ID = n.ID; other == n {
			return false, nil
		}
	}
	_, err = h.AddNote(ctx, n)
	return err == nil, err
}
