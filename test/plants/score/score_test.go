package score

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPlants scores the recording that PLANTS_OUT names, or that of ../recorded.
func TestPlants(t *testing.T) {
	recorded := os.Getenv("PLANTS_OUT")
	if recorded == "" {
		recorded = "../recorded"
	}
	if _, err := os.Stat(filepath.Join(recorded, "raw.csv.gz")); err != nil {
		t.Skip("nothing is recorded: OUT=folder test/plants/run.sh, on a GPU; then PLANTS_OUT=folder")
	}
	made, err := Plants("..", recorded)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + made.String())
	for set, s := range made.Sets {
		switch {
		case s.First*10 < s.Plants*9:
			t.Errorf("%s: the first finding names the cause in %d of %d, expected 90%%", set, s.First, s.Plants)
		case s.Three < s.Plants:
			t.Errorf("%s: the first three name it in %d of %d", set, s.Three, s.Plants)
		case s.Within*10 < s.Measured*9:
			t.Errorf("%s: %d of %d gains are within the bound, expected 90%%", set, s.Within, s.Measured)
		case s.Claims*20 > s.Calm:
			t.Errorf("%s: %d of %d twins and healthy kernels claim more than 10%%, expected at most 5%%", set, s.Claims, s.Calm)
		}
	}
}

// The scorer itself, on kernels whose findings are known.
func TestScore(t *testing.T) {
	raw, err := os.ReadFile("../../../internal/profile/testdata/h200_planted_curated.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	raw, err = io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	w.Close()
	write("raw.csv.gz", packed.String())
	rename := map[string]string{"load_bad": "stride", "copy_ok": "stride_fixed", "bank_bad": "tile", "bank_ok": "tile_fixed", "fma_roof": "roof", "copy4_ok": "copy", "barr": "wrong"}
	launches := "id,kernel,size,entry\n"
	for _, m := range regexp.MustCompile(`(?m)^"(\d+)",(?:"[^"]*",){3}"([a-z0-9_]+)\(`).FindAllStringSubmatch(string(raw), -1) {
		name := rename[m[2]]
		if name == "" {
			name = m[2]
		}
		launches += fmt.Sprintf("%s,%s,small,%s\n", m[1], name, m[2])
	}
	write("launches.csv", launches)
	write("times.csv", "kernel,size,launches,samples,median_us,p25_us,p75_us,wall_us\nstride,small,1,9,459,459,459,0\nstride_fixed,small,1,9,198,198,198,0\ntile,small,1,9,5000,1,1,0\ntile_fixed,small,1,9,129,1,1,0\n")
	write("plan.txt", "kernel stride small uncoalesced 0 536870912 1 1\nbuffer x f32 3 in normal 0 1\nlaunch stride 1 1 1 1 1 1 0 0 1 2\n")
	write("key.csv", "face,cause,set,twin\nstride,uncoalesced-loads,training,x\ntile,bank-conflicts,training,x\nwrong,divergence,training,x\ncopy,,healthy,\nabsent,small-grid,training,x\n")
	made, err := Plants(folder, folder)
	if err != nil {
		t.Fatal(err)
	}
	got := made.Sets["training"]
	want := Totals{Plants: 3, First: 2, Three: 2, Gone: 2, Named: 2, Measured: 2, Faster: 2, Within: 1, Calm: 2, Claims: 1}
	if got != want {
		t.Errorf("%+v, expected %+v\n%s", got, want, made)
	}
	if healthy := made.Sets["healthy"]; healthy != (Totals{Calm: 1}) {
		t.Errorf("%+v", healthy)
	}
	if text := made.String(); !strings.Contains(text, "! wrong") || !strings.Contains(text, "training: first 2 of 3") {
		t.Error(text)
	}
}
