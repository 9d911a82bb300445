package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseCPUList(t *testing.T) {
	for _, c := range []struct {
		list string
		want []int
	}{
		{"", nil},
		{"\n", nil},
		{"0", []int{0}},
		{"0-3\n", []int{0, 1, 2, 3}},
		{"0-1,8,10-11", []int{0, 1, 8, 10, 11}},
		{"5,1-2,2", []int{1, 2, 5}},
	} {
		got, err := parseCPUList(c.list)
		if err != nil {
			t.Errorf("parseCPUList(%q): %v", c.list, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("parseCPUList(%q) (-want +got):\n%s", c.list, diff)
		}
	}
}

func TestParseCPUListErrors(t *testing.T) {
	for list, want := range map[string]string{
		"a":            `"a" is not a CPU number`,
		"3-1":          "runs backwards",
		"1,,2":         `"" is not a CPU number`,
		"0-99999999":   "out of range",
		"-1":           "is not a CPU number",
		"0-65535,0-99": "more than",
	} {
		if _, err := parseCPUList(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseCPUList(%q) = %v, want an error with %q", list, err, want)
		}
	}
}

func TestParseCPUListReadsWhatTheKernelWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.IntRange(0, 2000), rapid.ID).Draw(t, "ids")
		slices.Sort(ids)
		got, err := parseCPUList(writeCPUList(ids))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, ids) {
			t.Fatalf("%v became %v", ids, got)
		}
	})
}

// writeCPUList writes ascending ids as the kernel does: runs as ranges.
func writeCPUList(ids []int) string {
	var parts []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(ids[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", ids[i], ids[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

func FuzzParseCPUList(f *testing.F) {
	for _, seed := range []string{"", "0", "0-3", "0-1,8,10-11", "3-1", "0-65535", "0-65535,0-65535", "1,,2", "-", "+1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		ids, err := parseCPUList(list)
		if err != nil {
			return
		}
		if len(ids) > maxCPU || !slices.IsSorted(ids) {
			t.Fatalf("%q gives %v", list, ids)
		}
		again, err := parseCPUList(writeCPUList(ids))
		if err != nil || !slices.Equal(again, ids) {
			t.Fatalf("%v written and read again is %v, %v", ids, again, err)
		}
	})
}
