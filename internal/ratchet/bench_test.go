package ratchet

import (
	"fmt"
	"testing"
)

// A hundred entries, one of which moves with every version.
func BenchmarkAudit(b *testing.B) {
	f := newFile(class, "x.json")
	for i := range 100 {
		f.put(candidate(fmt.Sprintf("c%d", i), 1, 2), ByCheck, "")
	}
	var raws [][]byte
	for i := range 200 {
		c := candidate(fmt.Sprintf("c%d", i%100), i, 2)
		f.put(c.against(f.Entry("attention", c.Row.Config), -0.1), ByCheck, "")
		raws = append(raws, encoded(b, f))
	}
	for b.Loop() {
		var versions []version
		for i, raw := range raws {
			file, err := parse("x.json", class, raw)
			if err != nil {
				b.Fatal(err)
			}
			v := version{commit: fmt.Sprint(i), content: fmt.Sprint(i), file: file}
			if i > 0 {
				v.parents = []int{i - 1}
			}
			versions = append(versions, v)
		}
		w := &walk{path: "x.json", keys: map[string]int{}}
		w.all(versions)
		if len(w.findings) > 0 {
			b.Fatal(w.findings[0])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*len(raws)), "ms/version")
}

func BenchmarkUpdate(b *testing.B) {
	s := Open(b.TempDir())
	put(b, s, func(f *File) error {
		for i := range 100 {
			f.put(candidate(fmt.Sprintf("c%d", i), 1, 2), ByCheck, "")
		}
		return nil
	})
	n := 0
	for b.Loop() {
		n++
		put(b, s, func(f *File) error {
			f.put(candidate("c1", n, 2+float64(n)), ByAccept, "why")
			return nil
		})
	}
}
