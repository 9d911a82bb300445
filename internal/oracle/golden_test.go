package oracle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	"pawl/internal/dtype"
)

const goldenFile = "testdata/golden.json"

type goldenValues struct {
	Keys []struct {
		Seed       uint64
		Arg, Batch int
		Key        string
	}
	Fills []struct {
		DType  dtype.Type
		Kind   string
		Args   []float64
		Key    string
		Count  int
		Head   []string
		SHA256 string
	}
	Changes []struct {
		DType  dtype.Type
		Kind   string
		Args   []float64
		Key    string
		Count  int
		Steps  int
		SHA256 string
	}
}

func readGolden(t *testing.T) (want goldenValues) {
	t.Helper()
	data, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

func parseKey(t *testing.T, text string) (key uint64) {
	t.Helper()
	if _, err := fmt.Sscanf(text, "%x", &key); err != nil {
		t.Fatal(err)
	}
	return key
}

func TestGolden(t *testing.T) {
	want := readGolden(t)
	for _, w := range want.Keys {
		if got := fmt.Sprintf("%016x", Key(w.Seed, w.Arg, w.Batch)); got != w.Key {
			t.Errorf("key of seed %d, argument %d, batch %d is %s, want %s", w.Seed, w.Arg, w.Batch, got, w.Key)
		}
	}
	seen := map[dtype.Type][]string{}
	for _, w := range want.Fills {
		seen[w.DType] = append(seen[w.DType], w.Kind)
		t.Run(fmt.Sprintf("%s/%s%v", w.DType, w.Kind, w.Args), func(t *testing.T) {
			size := w.DType.Size()
			dst := make([]byte, w.Count*size)
			Generate(dst, w.DType, Fill{w.Kind, w.Args}, parseKey(t, w.Key))
			for i, want := range w.Head {
				element := slices.Clone(dst[i*size:][:size])
				slices.Reverse(element)
				if got := hex.EncodeToString(element); got != want {
					t.Errorf("element %d is %s, want %s", i, got, want)
				}
			}
			if sum := sha256.Sum256(dst); hex.EncodeToString(sum[:]) != w.SHA256 {
				t.Errorf("all %d elements hash to %x, want %s", w.Count, sum, w.SHA256)
			}
		})
	}
	for _, typ := range dtype.All {
		for _, kind := range Kinds {
			possible := typ.Float() || !floatOnly(kind)
			if slices.Contains(seen[typ], kind) != possible {
				t.Errorf("%s of %s: golden value there: %v, want %v", kind, typ, !possible, possible)
			}
		}
	}
}

func TestGoldenChanges(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range readGolden(t).Changes {
		seen[w.Kind] = true
		key, fill := parseKey(t, w.Key), Fill{w.Kind, w.Args}
		data := make([]byte, w.Count*w.DType.Size())
		Generate(data, w.DType, fill, key)
		for step := range w.Steps {
			Mutate(data, w.DType, fill, key, step+1)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != w.SHA256 {
			t.Errorf("%s %v, %d elements after %d steps hash to %x, want %s", w.DType, fill, w.Count, w.Steps, sum, w.SHA256)
		}
	}
	for _, kind := range Kinds {
		if !seen[kind] {
			t.Errorf("no golden value of what a step changes in %s", kind)
		}
	}
}

// The Python implementation still makes the golden values, so that the two
// agree bit for bit.
func TestPythonAgrees(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("needs python3: %v", err)
	}
	want, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(python, "testdata/generate.py")
	command.Stderr = os.Stderr
	got, err := command.Output()
	if err != nil {
		t.Fatalf("run generate.py: %v", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("generate.py does not print %s: run it again and see what changed", goldenFile)
	}
}
