package machine

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"pawl/internal/result"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var machines = []string{"intel-bare-metal", "amd-boost", "arm64-server", "vm"}

// unpack lays a machine's files out in a temporary folder. They are kept in an
// archive because sysfs uses names that some file systems refuse.
func unpack(t testing.TB, machine string) host {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", machine+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	h := host{root: t.TempDir()}
	for _, file := range archive.Files {
		h.write(t, file.Name, string(file.Data))
	}
	return h
}

func (h host) write(t testing.TB, name, data string) {
	t.Helper()
	path := h.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFixtures(t *testing.T) {
	for _, name := range machines {
		t.Run(name, func(t *testing.T) {
			h := unpack(t, name)
			fp := h.fingerprint()
			fp.Arch = "" // of the machine that runs the test
			memory, ok := h.memoryAvailable()
			if !ok {
				t.Error("memory available is unknown")
			}
			got, err := json.MarshalIndent(struct {
				Fingerprint     result.Fingerprint
				State           result.State
				Class           string
				QuietCore       int
				MemoryAvailable int64
			}{fp, h.state("before"), Class(fp), h.quietCore(h.usable()), memory}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			golden := filepath.Join("testdata", name+".golden.json")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("facts differ from %s (-want +got):\n%s", golden, diff)
			}
		})
	}
}
