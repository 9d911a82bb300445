package history

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/diag"
	"pawl/internal/git"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/store"
)

// inGit runs git, and returns its first line.
func inGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=ann", "-c", "user.email=ann@localhost", "-c", "init.defaultBranch=main"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// project is a repository with so many commits on main, the oldest first.
func project(t *testing.T, commits int) (dir string, shas []string) {
	t.Helper()
	dir = t.TempDir()
	inGit(t, dir, "init", "-q")
	for n := range commits {
		inGit(t, dir, "commit", "-q", "--allow-empty", "-m", fmt.Sprint("change ", n))
		shas = append(shas, inGit(t, dir, "rev-parse", "HEAD"))
	}
	return dir, shas
}

func report(n int, sha string) *result.Report {
	at := time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC)
	row := &result.Row{Kernel: "saxpy", Config: "n_1m", Cell: "host", Class: "host", Verdict: result.Maintained, Timing: &result.Timing{Repeat: 1, Stats: result.Stats{Median: 1e-3, Low: 0.9e-3, High: 1.1e-3}}}
	for i := range 40 {
		row.Timing.Samples.Seconds = append(row.Timing.Samples.Seconds, float64(1000000+i*n)/1e9)
	}
	return &result.Report{
		Schema: result.Schema, Kind: result.KindCheck, ID: fmt.Sprintf("%s-%012x", at.Format("20060102T150405Z"), n), Started: at, Finished: at.Add(time.Second),
		Commit: &result.Commit{SHA: sha}, DeviceClass: "host", Outcome: &result.Outcome{Result: result.Passed}, Rows: []*result.Row{row},
	}
}

func write(t *testing.T, path string, r *result.Report) string {
	t.Helper()
	raw, err := r.Encode()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func opened(t *testing.T, root string) *History {
	t.Helper()
	h, err := Open(t.Context(), root, "", store.Create)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func imported(t *testing.T, h *History, path string, opts ImportOptions, want Imported) {
	t.Helper()
	if got, err := h.Import(t.Context(), path, opts); err != nil || *got != want {
		t.Errorf("import %s: %+v, %v; expected %+v", path, got, err, want)
	}
}

// Points come in the order of main's first parents, not of time; pull requests, dirty trees and other
// branches are not among them, and notes are.
func TestPointsOnTheLine(t *testing.T) {
	dir, shas := project(t, 4)
	inGit(t, dir, "checkout", "-q", "-b", "side")
	inGit(t, dir, "commit", "-q", "--allow-empty", "-m", "aside")
	side := inGit(t, dir, "rev-parse", "HEAD")
	inGit(t, dir, "checkout", "-q", "main")
	h := opened(t, dir)
	var entries []store.Entry
	for n, sha := range []string{shas[3], shas[0], shas[2], side, shas[1], shas[1], shas[2]} {
		r := report(n, sha)
		switch n {
		case 4:
			r.Origin = &result.Origin{Pull: 3}
		case 6:
			r.Commit.Dirty = true
		}
		entries = append(entries, store.Entry{Report: r})
	}
	if _, err := h.Add(t.Context(), entries...); err != nil {
		t.Fatal(err)
	}
	if _, err := h.AddNote(t.Context(), store.Note{Run: entries[2].Report.ID, Kernel: "saxpy", Kind: store.Invalid, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	line, err := h.Line(t.Context(), "")
	if err != nil || line.Branch != "main" || len(line.Commits) != 4 || line.Commits[0] != shas[0] {
		t.Fatalf("%+v, %v", line, err)
	}
	points, err := h.Points(t.Context(), store.Filter{Kernel: "saxpy"}, line)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range points {
		got = append(got, fmt.Sprintf("%d %s %v", p.At, p.Run.Commit, p.Invalid()))
	}
	want := []string{"0 " + shas[0] + " false", "1 " + shas[1] + " false", "2 " + shas[2] + " true", "3 " + shas[3] + " false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestImportForms(t *testing.T) {
	dir, shas := project(t, 1)
	h := opened(t, dir)
	runs := filepath.Join(dir, ".pawl", "runs")
	for n := range 3 {
		r := report(n, shas[0])
		write(t, filepath.Join(runs, r.ID, "report.json"), r)
	}
	imported(t, h, runs, ImportOptions{}, Imported{Added: 3})
	imported(t, h, filepath.Join(runs, report(1, "").ID), ImportOptions{}, Imported{Known: 1})
	imported(t, h, write(t, filepath.Join(dir, "other.json"), report(7, shas[0])), ImportOptions{}, Imported{Added: 1})

	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	file, _ := archive.Create("report.json")
	raw, _ := report(8, shas[0]).Encode()
	_, _ = file.Write(raw)
	archive.Close()
	artifact := filepath.Join(dir, "artifact.zip")
	if err := os.WriteFile(artifact, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	imported(t, h, artifact, ImportOptions{Pull: 12}, Imported{Added: 1})
	imported(t, h, artifact, ImportOptions{Pull: 12}, Imported{Known: 1})
	if list, err := h.Runs(t.Context(), store.Filter{Pull: 12}); err != nil || len(list) != 1 || list[0].ID != report(8, "").ID {
		t.Errorf("%v, %v", list, err)
	}

	// One that is damaged keeps no other from being added.
	write(t, filepath.Join(runs, "later", "report.json"), report(9, shas[0]))
	if err := os.MkdirAll(filepath.Join(runs, "damaged"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(runs, "damaged", "report.json"), raw[:len(raw)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Import(t.Context(), runs, ImportOptions{}); err == nil || !strings.Contains(err.Error(), "damaged") || got.Added != 1 || got.Known != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	changed := report(1, shas[0])
	changed.Rows[0].Verdict = result.Improvement
	if got, err := h.Import(t.Context(), write(t, filepath.Join(dir, "changed.json"), changed), ImportOptions{}); err == nil || !strings.Contains(err.Error(), "with another report") || got.Added != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for path, want := range map[string]string{"none.json": "no such file", dir + "/.git": "no report.json"} {
		if _, err := h.Import(t.Context(), path, ImportOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Another tool's file is one run, by its content and its commit.
func TestImportForeign(t *testing.T) {
	dir, shas := project(t, 2)
	h := opened(t, dir)
	file := filepath.Join(dir, "bench.txt")
	text := "goos: linux\ngoarch: amd64\npkg: example\nBenchmarkAdd-8   \t 1000\t 1234 ns/op\nBenchmarkAdd-8   \t 1000\t 1250 ns/op\nPASS\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Import(t.Context(), file, ImportOptions{}); err == nil || !strings.Contains(diag.Problems(err)[0].Hint, "--commit COMMIT") {
		t.Errorf("without a commit: %v", err)
	}
	imported(t, h, file, ImportOptions{Commit: shas[0][:8], Class: "host"}, Imported{Added: 1})
	imported(t, h, file, ImportOptions{Commit: shas[0], Class: "host"}, Imported{Known: 1})
	imported(t, h, file, ImportOptions{Commit: shas[1], Class: "host"}, Imported{Added: 1})
	if _, err := h.Import(t.Context(), file, ImportOptions{Commit: "nonsense"}); err == nil {
		t.Error("a commit that is none")
	}
	points, err := h.DB.Points(t.Context(), store.Filter{Commit: shas[1]})
	if err != nil || len(points) != 1 || points[0].Run.Tool != "go test -bench" || points[0].Class != "host" || points[0].MedianS == 0 {
		t.Errorf("%+v, %v", points, err)
	}
}

// What was exported is the same history when it is imported elsewhere, notes included.
func TestExportAndBack(t *testing.T) {
	dir, shas := project(t, 1)
	h := opened(t, dir)
	for n := range 5 {
		if _, err := h.Add(t.Context(), store.Entry{Report: report(n, shas[0])}); err != nil {
			t.Fatal(err)
		}
	}
	note := store.Note{Run: report(2, "").ID, Kind: store.Invalid, At: time.Unix(1e9, 0).UTC(), Text: "=wrong"}
	if _, err := h.AddNote(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	if n, err := h.ExportLines(t.Context(), &lines, store.Filter{}); err != nil || n != 5 {
		t.Fatal(n, err)
	}
	file := filepath.Join(t.TempDir(), "all.jsonl")
	if err := os.WriteFile(file, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	other := opened(t, t.TempDir())
	imported(t, other, file, ImportOptions{}, Imported{Added: 5, Notes: 1})
	imported(t, other, file, ImportOptions{}, Imported{Known: 5})
	var again bytes.Buffer
	if _, err := other.ExportLines(t.Context(), &again, store.Filter{}); err != nil || again.String() != lines.String() {
		t.Errorf("%v\n%s\n%s", err, cmp.Diff(lines.String(), again.String()), "")
	}
	var table bytes.Buffer
	if n, err := h.ExportCSV(t.Context(), &table, store.Filter{}); err != nil || n != 5 {
		t.Fatal(n, err)
	}
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil || len(rows) != 6 || rows[3][0] != note.Run || rows[3][len(rows[3])-1] != "yes" || rows[2][len(rows[2])-1] != "" {
		t.Errorf("%v, %v", rows, err)
	}
	if plainCell("=1+1") != "'=1+1" || plainCell("saxpy") != "saxpy" {
		t.Error("a name is a formula")
	}
}

// far is a repository that jobs clone, and clones of it.
func far(t *testing.T) (sha string, clone func() string) {
	t.Helper()
	dir, shas := project(t, 1)
	bare := filepath.Join(t.TempDir(), "far.git")
	inGit(t, dir, "clone", "-q", "--bare", ".", bare)
	return shas[0], func() string {
		to := t.TempDir()
		inGit(t, to, "clone", "-q", "file://"+bare, ".")
		return to
	}
}

func push(t *testing.T, dir string, most int64, reports ...*result.Report) *Pushed {
	t.Helper()
	var entries []store.Entry
	for _, r := range reports {
		entries = append(entries, store.Entry{Report: r})
	}
	made, err := Push(t.Context(), PushOptions{Remote: git.Remote{Dir: dir, Name: "origin"}, Branch: Branch, Most: most}, entries)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Jobs add to the branch one after the other; it is merged, bounded, and read in any clone.
func TestBranch(t *testing.T) {
	sha, clone := far(t)
	job := clone()
	merged := 0
	for n := range 20 {
		made := push(t, job, DefaultMost, report(n, sha))
		merged += made.Merged
		if made.Added != 1 {
			t.Fatalf("%d: %+v", n, made)
		}
	}
	if merged == 0 {
		t.Error("no segments were merged")
	}
	if made := push(t, job, DefaultMost, report(19, sha)); made.Added != 0 {
		t.Errorf("the same again: %+v", made)
	}
	reader := clone()
	h, err := Open(t.Context(), reader, "", store.Read) // nothing was recorded here: the branch is read
	if err != nil {
		t.Fatal(err)
	}
	if runs, err := h.Runs(t.Context(), store.Filter{}); err != nil || len(runs) != 20 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	got, err := h.Report(t.Context(), report(5, "").ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report(5, sha), got); diff != "" {
		t.Error(diff)
	}
	h.Close()
	push(t, job, DefaultMost, report(30, sha))
	inGit(t, reader, "fetch", "-q")
	if h, err = Open(t.Context(), reader, "", store.Read); err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if runs, err := h.Runs(t.Context(), store.Filter{}); err != nil || len(runs) != 21 {
		t.Errorf("%d runs after the next fetch, %v", len(runs), err)
	}
	if commits := inGit(t, reader, "rev-list", "--count", "origin/"+Branch); commits != "1" {
		t.Errorf("the branch has %s commits", commits)
	}
	made := push(t, job, 1, report(31, sha)) // no room but for the last
	if made.Dropped == 0 {
		t.Errorf("%+v", made)
	}
	files, err := git.BranchFiles(t.Context(), job, "FETCH_HEAD")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
}

// Of two jobs that add at the same time, neither loses what the other has added.
func TestBranchRace(t *testing.T) {
	sha, clone := far(t)
	const jobs = 4
	var all sync.WaitGroup
	for n := range jobs {
		dir := clone()
		all.Go(func() {
			made, err := Push(t.Context(), PushOptions{Remote: git.Remote{Dir: dir, Name: "origin"}, Branch: Branch, Most: DefaultMost}, []store.Entry{{Report: report(n, sha)}})
			if err != nil || made.Added != 1 {
				t.Errorf("%d: %+v, %v", n, made, err)
			}
		})
	}
	all.Wait()
	h := opened(t, clone())
	if runs, err := h.Runs(t.Context(), store.Filter{}); err != nil || len(runs) != jobs {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

func TestBranchTakesMainsOwn(t *testing.T) {
	sha, clone := far(t)
	dir := clone()
	for what, change := range map[string]func(*result.Report){
		"pull request": func(r *result.Report) { r.Origin = &result.Origin{Pull: 1} },
		"files differ": func(r *result.Report) { r.Commit.Dirty = true },
		"no commit":    func(r *result.Report) { r.Commit = nil },
	} {
		r := report(1, sha)
		change(r)
		_, err := Record(t.Context(), RecordOptions{Report: write(t, filepath.Join(t.TempDir(), "report.json"), r), Push: PushOptions{Remote: git.Remote{Dir: dir, Name: "origin"}, Branch: Branch, Most: 1}})
		if err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(what, " differ")) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The moves of the baseline become points, in the class of their file.
func TestImportBaseline(t *testing.T) {
	dir, shas := project(t, 3)
	base := ratchet.Open(dir)
	for n, sha := range shas[:2] {
		r := report(n, sha)
		row := r.Rows[0]
		row.Identity = fmt.Sprint("code ", n)
		row.Timing.Stats.Median, row.Timing.Stats.Low, row.Timing.Stats.High = 1e-3/float64(n+1), 0.9e-3/float64(n+1), 1.1e-3/float64(n+1)
		err := base.Update(t.Context(), "host", func(f *ratchet.File) error {
			c := ratchet.CandidateOf(r, row, f.Entry(row.Kernel, row.Config), "ann")
			if n > 0 {
				c.Change, c.Against = &result.Change{Median: -0.5, Low: -0.51, High: -0.49, Paired: true, Confirmed: true}, shas[0]
			}
			_, err := f.Move(c)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		inGit(t, dir, "add", "--all", "--force", ".pawl")
		inGit(t, dir, "commit", "-q", "-m", "baseline")
	}
	h := opened(t, dir)
	for _, want := range []Imported{{Added: 2}, {Known: 2}} {
		if got, err := h.ImportBaseline(t.Context()); err != nil || *got != want {
			t.Errorf("%+v, %v; expected %+v", got, err, want)
		}
	}
	points, err := h.DB.Points(t.Context(), store.Filter{Kernel: "saxpy"})
	if err != nil || len(points) != 2 || points[0].MedianS != 1e-3 || points[1].MedianS != 0.5e-3 || points[1].Run.Commit != shas[1] ||
		!points[1].Moved || points[1].Best == nil || points[1].Best.Median != -0.5 || points[1].Best.Commit != shas[0] || points[0].Verdict != result.New {
		t.Errorf("%+v, %v", points, err)
	}
}

func FuzzLines(f *testing.F) {
	raw, err := report(1, strings.Repeat("a", 40)).Encode()
	if err != nil {
		f.Fatal(err)
	}
	var line bytes.Buffer
	if err := writeReport(&line, store.Entry{Raw: raw}); err != nil {
		f.Fatal(err)
	}
	f.Add(line.Bytes())
	f.Add([]byte(`{"note":{"run":"x","kind":"invalid"}}` + "\n\n" + `{"schema":1}`))
	f.Add([]byte(`{"note":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parseLines("x.jsonl", text)
		if err == nil && len(got.entries)+len(got.notes) > bytes.Count(text, []byte("\n"))+1 {
			t.Fatal("more runs than lines")
		}
	})
}

func FuzzSegment(f *testing.F) {
	packed, err := packLines([]byte("{}\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Add([]byte("(\xb5/\xfd"))
	f.Fuzz(func(t *testing.T, packed []byte) {
		lines, err := unpackLines("x", packed)
		if err == nil {
			_, err = parseLines("x", lines)
		}
		if err != nil && diag.Problems(err) == nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("no hint with %v", err)
		}
	})
}

// Lines of reports are marked and refused as files are.
func TestImportedLinesAreMarked(t *testing.T) {
	dir, shas := project(t, 1)
	h := opened(t, dir)
	lines := func(change func(*result.Report)) string {
		r := report(1, shas[0])
		change(r)
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "runs.jsonl")
		if err := os.WriteFile(path, append(raw, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := h.Import(t.Context(), lines(func(r *result.Report) { r.Origin = &result.Origin{Fork: true} }), ImportOptions{Own: true}); err == nil || !strings.Contains(err.Error(), "pull request") {
		t.Errorf("a fork's run: %v", err)
	}
	imported(t, h, lines(func(*result.Report) {}), ImportOptions{Pull: 12}, Imported{Added: 1})
	runs, err := h.Runs(t.Context(), store.Filter{Scope: store.All})
	if err != nil || len(runs) != 1 || runs[0].Pull != 12 {
		t.Errorf("%+v, %v", runs, err)
	}
}

// Runs that time nothing make no trends: the rows of pawl fuzz have no config.
func TestFuzzingMakesNoTrend(t *testing.T) {
	dir, shas := project(t, 2)
	h := opened(t, dir)
	for n, sha := range shas {
		r := report(n, sha)
		if n == 1 {
			r.Kind = result.KindFuzz
			r.Rows[0].Config, r.Rows[0].Timing = "", nil
		}
		imported(t, h, write(t, filepath.Join(t.TempDir(), "report.json"), r), ImportOptions{}, Imported{Added: 1})
	}
	trends, err := h.Trends(t.Context(), store.Filter{Scope: store.Main}, "", "")
	if err != nil || len(trends) != 1 || trends[0].Config == "" {
		t.Errorf("%d trends, %v", len(trends), err)
	}
}
