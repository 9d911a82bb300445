package score

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table in docs/performance.md again")

// h200 is where the recording is kept: those files of run.sh's that the score needs.
const h200 = "../testdata/h200"

const (
	document   = "../../../docs/performance.md"
	begin, end = "<!-- plants: written by go test ./test/plants/score -update -->\n", "<!-- end of plants -->"
)

// TestPlants scores the recording that PLANTS_OUT names, or the one that is kept. What the training set shows must
// hold. What the held-out set shows is said in docs/performance.md, whatever it is: nothing is fitted to it.
func TestPlants(t *testing.T) {
	recorded, kept := os.Getenv("PLANTS_OUT"), false
	if recorded == "" {
		recorded, kept = h200, true
	}
	if _, err := os.Stat(filepath.Join(recorded, "raw.csv.gz")); err != nil {
		t.Skip("nothing is recorded: OUT=folder test/plants/run.sh, on a GPU; then PLANTS_OUT=folder, or its files in test/plants/testdata/h200")
	}
	made, err := Plants("..", recorded)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + made.String())
	for _, mistake := range mistakes(made) {
		t.Error(mistake)
	}
	if !kept {
		return
	}
	if size := sizeOf(t, recorded); size > 2<<20 {
		t.Errorf("the recording has %d bytes, expected at most 2 MiB", size)
	}
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("docs/performance.md has no place for the table")
	}
	want := before + begin + "\n" + made.Markdown() + "\n" + end + after
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(raw) {
		t.Error("docs/performance.md has another table: go test ./test/plants/score -update")
	}
}

// mistakes lists what a recording must not show.
func mistakes(made *Table) (found []string) {
	if len(made.Missing) > 0 {
		found = append(found, "not profiled or not timed: "+strings.Join(made.Missing, " "))
	}
	if len(made.Wrong) > 0 {
		found = append(found, "answers differ from the twin's: "+strings.Join(made.Wrong, " "))
	}
	training := made.Sets["training"].Plus(made.Sets["healthy"])
	for _, c := range training.Shows() {
		if !c.Holds() {
			found = append(found, fmt.Sprintf("training: %s: %s, expected %s", c.What, c, c.bound()))
		}
	}
	return found
}

func sizeOf(t *testing.T, folder string) (size int64) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		info, err := file.Info()
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return size
}

// unpack reads a recording of package profile.
func unpack(t *testing.T, name string) string {
	t.Helper()
	raw, err := read("../../../internal/profile/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// writer writes files into a folder, packed where their names end in .gz.
func writer(t *testing.T, folder string) func(name, text string) {
	return func(name, text string) {
		t.Helper()
		var packed bytes.Buffer
		packed.WriteString(text)
		if strings.HasSuffix(name, ".gz") {
			packed.Reset()
			z := gzip.NewWriter(&packed)
			if _, err := io.WriteString(z, text); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, name), packed.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// entries finds the launches in CSV of ncu, by ID and the kernel's name.
var entries = regexp.MustCompile(`(?m)^"(\d+)",(?:"[^"]*",){3}"([a-z0-9_]+)\(`)

// The scorer itself, on kernels whose findings are known.
func TestScore(t *testing.T) {
	raw := unpack(t, "h200_planted_curated.csv.gz")
	folder := t.TempDir()
	write := writer(t, folder)
	write("raw.csv.gz", raw)
	rename := map[string]string{"load_bad": "stride", "copy_ok": "stride_fixed", "bank_bad": "tile", "bank_ok": "tile_fixed", "fma_roof": "roof", "copy4_ok": "copy", "barr": "wrong"}
	launches := "id,kernel,size,entry\n"
	for _, m := range entries.FindAllStringSubmatch(raw, -1) {
		name := rename[m[2]]
		if name == "" {
			name = m[2]
		}
		launches += fmt.Sprintf("%s,%s,small,%s\n", m[1], name, m[2])
	}
	write("launches.csv.gz", launches)
	write("times.csv.gz", "kernel,size,launches,samples,median_us,p25_us,p75_us,wall_us\nstride,small,1,9,459,459,459,0\nstride_fixed,small,1,9,198,198,198,0\ntile,small,1,9,5000,1,1,0\ntile_fixed,small,1,9,129,1,1,0\n")
	write("plan.txt", "kernel stride small uncoalesced 0 536870912 1 1\nbuffer x f32 3 in normal 0 1\nlaunch stride 1 1 1 1 1 1 0 0 1 2\n")
	write("key.csv", "face,cause,set,twin\nstride,uncoalesced-loads,training,x\ntile,bank-conflicts,training,x\nwrong,divergence,held-out,x\ncopy,,healthy,\nabsent,small-grid,training,x\n")
	write("rules.csv.gz", "kernel,size,place,rule,type,estimate,percent,causes,text\nstride,small,1,UncoalescedGlobalAccess,OPT,global,80,uncoalesced-loads uncoalesced-stores,x\nstride,small,2,Other,OPT,local,80,,x\ntile,small,1,CPIStall,OPT,local,80,latency-bound,x\ntile,small,2,SharedMemoryConflicts,OPT,global,80,bank-conflicts,x\n")
	write("verify.csv.gz", "kernel,size,output,elements,wrong,largest_difference\nstride,small,y,5,0,0\ntile,small,y,5,3,0.5\n")
	made, err := Plants(folder, folder)
	if err != nil {
		t.Fatal(err)
	}
	for set, want := range map[string]Totals{
		"training": {Plants: 2, First: 2, Three: 2, Repaired: 2, Gone: 2, Named: 2, Measured: 2, Faster: 2, Within: 1, Calm: 2, Claims: 1, Ruled: 2, Rule: 1},
		"held-out": {Plants: 1},
		"healthy":  {Calm: 1},
	} {
		if got := made.Sets[set]; got != want {
			t.Errorf("%s: %+v, expected %+v\n%s", set, got, want, made)
		}
	}
	text := made.String()
	for _, says := range []string{
		"! wrong", "  copy  ", "UncoalescedGlobalAccess", "answers differ from the twin's: tile/small",
		"not profiled or not timed: stride/large tile/large wrong/small wrong/large copy/large absent/small absent/large",
		"| plants: faces at two sizes | 2 | 1 | 3 | |",
		"| the first finding names the cause | 2 of 2, 100% | **missed:** 0 of 1, 0% | **missed:** 2 of 3, 67% | ≥ 90% |",
		"| first findings on twins and healthy kernels that claim more than 10% | **missed:** 1 of 2, 50% | – | **missed:** 1 of 3, 33% | ≤ 5% |",
		"| Nsight Compute's own first rule names the cause | 1 of 2, 50% | – | 1 of 2, 50% | – |",
		"| divergence | 1 | 0 | 0 | – | – | – | wrong/small: barrier-bound |",
		"| bank-conflicts | 1 | 1 | 1 | 1 of 1 | 0 of 1 | 0 of 1 |  |",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("the table does not say %q:\n%s", says, text)
		}
	}
	found := strings.Join(mistakes(made), "\n")
	for _, says := range []string{"not profiled or not timed", "answers differ", "training: the gain is within 1.1 × the bound: 1 of 2, 50%, expected ≥ 90%", "claim more than 10%: 1 of 3, 33%, expected ≤ 5%"} {
		if !strings.Contains(found, says) {
			t.Errorf("%q is no mistake:\n%s", says, found)
		}
	}
	if strings.Contains(found, "first finding names") {
		t.Errorf("the held-out set counts for the training set:\n%s", found)
	}
	if err := os.Remove(filepath.Join(folder, "rules.csv.gz")); err != nil {
		t.Fatal(err)
	}
	if made, err := Plants(folder, folder); err != nil || made.Sets["training"].Ruled != 0 {
		t.Errorf("without ncu's rules: %v", err)
	}
	write("pending.txt", "tile\n")
	if made, err := Plants(folder, folder); err != nil || made.Sets["training"].Plants != 1 || !strings.Contains(made.String(), "changed after the recording, not scored: tile") {
		t.Errorf("a face that changed after the recording is scored: %v", err)
	}
	write("launches.csv.gz", "id,kernel,size,entry\n0,stride,small,load_bad\n")
	if _, err := Plants(folder, folder); err == nil || !strings.Contains(err.Error(), "is not in launches.csv") {
		t.Errorf("a launch without a name: %v", err)
	}
}

// What run.sh does on a machine with a GPU, with programs in the place of nvcc and ncu that give out what was once
// recorded on an H200: the parts become one recording, and the recording is scored.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3, which run.sh needs")
	}
	fake, work, out := t.TempDir(), t.TempDir(), t.TempDir()
	write := writer(t, fake)
	names := map[string]string{
		"load_bad": "transpose_read", "copy_ok": "transpose_read_fixed", "store_bad": "transpose_write", "bank_bad": "delay_lines", "bank_ok": "delay_lines_fixed",
		"spill_bad": "too_many_live", "spill_ok": "too_many_live_fixed", "diver": "kind_by_lane", "sfu_bad": "harmonics",
	}
	for _, part := range []struct{ stage, raw, details string }{{"metrics-1", "h200_planted_raw.csv.gz", ""}, {"rules-0", "h200_planted_raw.csv.gz", "h200_planted_details.csv.gz"}} {
		raw, launches, id := unpack(t, part.raw), "id,kernel,size,entry\n", 0
		for _, m := range entries.FindAllStringSubmatch(raw, -1) {
			name := names[m[2]]
			if name == "" {
				name = "other_" + m[2]
			}
			launches += fmt.Sprintf("%d,%s,large,%s\n", id, name, m[2])
			id++
		}
		write(part.stage+".csv", launches)
		write(part.stage+".raw", "==PROF== a line before the table\n"+raw)
		write(part.stage+".details", "")
		if part.details != "" {
			write(part.stage+".details", unpack(t, part.details))
		}
	}
	for name, text := range map[string]string{
		"nvcc": `case "$*" in
*driver.cpp*) while [ $# -gt 0 ]; do [ "$1" = -o ] && cp "$FAKE/driver" "$2"; shift; done ;;
*--version*) echo "Cuda compilation tools, release 13.0" ;;
*) while [ $# -gt 0 ]; do [ "$1" = -o ] && echo cubin >"$2"; shift; done ;;
esac`,
		"driver": `case $3 in
verify) printf 'kernel,size,output,elements,wrong,largest_difference\ntranspose_read,large,y,5,0,0\n' >"$4" ;;
time) printf 'kernel,size,launches,samples,median_us,p25_us,p75_us,wall_us\ntranspose_read,large,1,15,459,1,1,460\ntranspose_read_fixed,large,1,15,198,1,1,199\n' >"$4" ;;
profile) echo "$@" >>"$FAKE/calls"; if [ -e "$FAKE/$(basename "$4")" ]; then cp "$FAKE/$(basename "$4")" "$4"; else echo id,kernel,size,entry >"$4"; fi ;;
esac`,
		"ncu": `if [ "$1" = --import ]; then
	while [ "$1" != --page ]; do case $1 in *.ncu-rep) report=$1 ;; esac; shift; done
	cat "$FAKE/$(basename "$report" .ncu-rep).$2" 2>/dev/null || true
	exit
fi
[ "$1" != --query-metrics ] || exit 0
while [ $# -gt 0 ]; do
	case $1 in
	-o) touch "$2.ncu-rep" ;;
	--log-file) echo "==PROF== done" >"$2" ;;
	*/driver) exec "$@" ;;
	esac
	shift
done`,
		"nvidia-smi": "echo an H200",
		"score":      `echo "scored $PLANTS_OUT by $*"`,
	} {
		write(name, "#!/bin/sh\nset -eu\n"+text+"\n")
		if err := os.Chmod(filepath.Join(fake, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "sh", "../run.sh")
	command.Env = append(os.Environ(), "PATH="+fake+":"+os.Getenv("PATH"), "FAKE="+fake, "OUT="+out, "WORK="+work, "PLANTS_SCORE="+filepath.Join(fake, "score"))
	printed, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	for _, says := range []string{"ncu's first rule names the cause in ", "scored " + out + " by -test.run ^TestPlants$ -test.v", "] done"} {
		if !strings.Contains(string(printed), says) {
			t.Errorf("run.sh does not say %q:\n%s", says, printed)
		}
	}
	calls, err := os.ReadFile(filepath.Join(fake, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	for line := range strings.Lines(string(calls)) {
		asked = append(asked, strings.Join(strings.Fields(line)[4:], " "))
	}
	if got, want := strings.Join(asked, ", "), "0 4 all, 1 4 all, 2 4 all, 3 4 all, 0 2 plants large, 1 2 plants large, 0 2 plants small, 1 2 plants small"; got != want {
		t.Errorf("profiled %s, expected %s", got, want)
	}
	if files, err := os.ReadDir(out); err != nil || len(files) > 8 {
		t.Errorf("%d files: %v", len(files), err)
	}
	made, err := Plants("..", out)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]Row{}
	for _, r := range made.Rows {
		seen[r.Face+"/"+r.Size] = r
	}
	if len(seen) != 6 || len(made.Wrong) > 0 {
		t.Errorf("%d rows, expected 6\n%s", len(seen), made)
	}
	for face, rule := range map[string]string{"transpose_read": "MemoryCacheAccessPattern", "transpose_write": "", "delay_lines": "", "too_many_live": "", "kind_by_lane": "", "harmonics": ""} {
		r := seen[face+"/large"]
		if r.First != r.Cause || !r.Ruled || rule != "" && (r.Rule != rule || !r.RuleNames) {
			t.Errorf("%+v", r)
		}
	}
	if r := seen["transpose_read/large"]; r.Gain < 2.3 || r.Gain > 2.4 || !r.Named || !r.Gone {
		t.Errorf("%+v", r)
	}
	// The same files give the same bytes: a recording that is made again changes what has changed.
	again := t.TempDir()
	if said, err := exec.CommandContext(t.Context(), "python3", "../fold.py", work, again).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, name := range []string{"raw", "launches", "rules", "times", "verify"} {
		one, err := os.ReadFile(filepath.Join(out, name+".csv.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if other, err := os.ReadFile(filepath.Join(again, name+".csv.gz")); err != nil || !bytes.Equal(one, other) {
			t.Errorf("%s.csv.gz differs when it is made again: %v", name, err)
		}
		text, err := read(filepath.Join(out, name+".csv.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := csv.NewReader(bytes.NewReader(text)).ReadAll(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
