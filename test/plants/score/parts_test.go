package score

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// HELD=1 runs the faces that are held out or pending, with their twins, and no other kernel.
func TestChosen(t *testing.T) {
	fake, work, out := t.TempDir(), t.TempDir(), t.TempDir()
	writer(t, work)("driver", "#!/bin/sh\ncp \"$1\" \"$FAKE/plan.txt\"\n")
	for _, name := range []string{"python3", "nvcc", "ncu", "nvidia-smi", "score"} {
		writer(t, fake)(name, "#!/bin/sh\n")
	}
	programs, err := filepath.Glob(filepath.Join(fake, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range append(programs, filepath.Join(work, "driver")) {
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	key, err := os.ReadFile("../key.csv")
	if err != nil {
		t.Fatal(err)
	}
	pending, err := os.ReadFile(filepath.Join(h200, "pending.txt"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := strings.Fields(string(pending))
	for line := range strings.Lines(string(key)) {
		if face, rest, _ := strings.Cut(line, ","); strings.Contains(rest, ",held-out,") && !slices.Contains(wanted, face) {
			wanted = append(wanted, face)
		}
	}
	for _, held := range []string{"1", ""} {
		command := exec.CommandContext(t.Context(), "sh", "../run.sh", "verify")
		command.Env = append(os.Environ(), "PATH="+fake+":"+os.Getenv("PATH"), "FAKE="+fake, "OUT="+out, "WORK="+work, "HELD="+held, "PLANTS_SCORE="+filepath.Join(fake, "score"))
		if printed, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		plan, err := os.ReadFile(filepath.Join(fake, "plan.txt"))
		if err != nil {
			t.Fatal(err)
		}
		rows, others := 0, 0
		for line := range strings.Lines(string(plan)) {
			if words := strings.Fields(line); words[0] == "kernel" {
				rows++
				if !slices.Contains(wanted, strings.TrimSuffix(words[1], "_fixed")) {
					others++
				}
			}
		}
		if held != "" && (rows != 4*len(wanted) || others > 0) {
			t.Errorf("%d rows, %d of them of other faces; expected %d of %d faces", rows, others, 4*len(wanted), len(wanted))
		}
		if held == "" && others == 0 {
			t.Errorf("without HELD: %d rows, none of other faces", rows)
		}
	}
}

// A part of a recording and the recording before it become one: launches are numbered through, columns are those of both, and
// kernels that the part planned are not taken from before, even where the part has not come to them.
func TestParts(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3, which fold.py needs")
	}
	work, before, out := t.TempDir(), t.TempDir(), t.TempDir()
	write := writer(t, work)
	write("plan.txt", "kernel new small a 0 8 0 0\nbuffer x f32 2 in normal 0 1\nkernel changed small a 0 8 0 0\nkernel late small a 0 8 0 0\n")
	write("times.csv", "kernel,size,launches,samples,median_us,p25_us,p75_us,wall_us\nnew,small,1,15,1,1,1,1\nchanged,small,1,15,2,2,2,2\n")
	write("metrics-0.csv", "id,kernel,size,entry\n0,new,small,new\n1,changed,small,changed\n")
	write("metrics-0.raw", "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"fresh\"\n\"\",\"\",\"ns\",\"%\"\n\"0\",\"new\",\"1,000\",\"5\"\n\"1\",\"changed\",\"2,000\",\"6\"\n")
	old := writer(t, before)
	old("times.csv.gz", "kernel,size,launches,samples,median_us,p25_us,p75_us,wall_us\nkept,small,1,15,9,9,9,9\nchanged,small,1,15,8,8,8,8\nlate,small,1,15,7,7,7,7\n")
	old("launches.csv.gz", "id,kernel,size,entry\n0,changed,small,changed\n1,kept,small,kept\n2,late,small,late\n")
	old("raw.csv.gz", "\"ID\",\"Kernel Name\",\"stale\",\"gpu__time_duration.sum\"\n\"\",\"\",\"byte\",\"ns\"\n\"0\",\"changed\",\"1\",\"8,000\"\n\"1\",\"kept\",\"2\",\"9,000\"\n\"2\",\"late\",\"3\",\"7,000\"\n")
	old("rules.csv.gz", "kernel,size,place,rule,type,estimate,percent,causes,text\nkept,small,1,A,OPT,global,5,,t\nlate,small,1,B,OPT,global,5,,t\n")
	if said, err := exec.CommandContext(t.Context(), "python3", "../fold.py", work, out, before).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for name, want := range map[string]string{
		"times":    "kernel,size,launches,samples,median_us,p25_us,p75_us,wall_us\nnew,small,1,15,1,1,1,1\nchanged,small,1,15,2,2,2,2\nkept,small,1,15,9,9,9,9\n",
		"launches": "id,kernel,size,entry\n0,new,small,new\n1,changed,small,changed\n2,kept,small,kept\n",
		"raw": "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"fresh\",\"stale\"\n\"\",\"\",\"ns\",\"%\",\"byte\"\n" +
			"\"0\",\"new\",\"1,000\",\"5\",\"\"\n\"1\",\"changed\",\"2,000\",\"6\",\"\"\n\"2\",\"kept\",\"9,000\",\"\",\"2\"\n",
		"rules": "kernel,size,place,rule,type,estimate,percent,causes,text\nkept,small,1,A,OPT,global,5,,t\n",
	} {
		packed, err := read(filepath.Join(out, name+".csv.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, strings.ReplaceAll(string(packed), "\r\n", "\n")); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
