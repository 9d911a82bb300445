package tune

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// A trial that cannot be written down is said in the report: a search that is killed would lose it.
func TestJournalThatCannotBeWritten(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), journalFile))
	if err != nil {
		t.Fatal(err)
	}
	s := &tune{journal: &journal{file: file}, report: &result.Report{}, kernel: &spec.Kernel{Name: "k"}, tuning: &result.Tuning{}}
	s.journal.write(&result.Trial{N: 1})
	_ = file.Close() // as a full disk
	s.journal.write(&result.Trial{N: 2})
	s.journal.write(&result.Trial{N: 3})
	s.conclude()
	if len(s.report.Warnings) != 1 || !strings.Contains(s.report.Warnings[0].Message, "--resume will not know the trials") {
		t.Errorf("the report warns of %+v", s.report.Warnings)
	}
}
