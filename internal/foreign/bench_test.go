package foreign

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkParse reads a thousand benchmarks of a hundred samples each.
func BenchmarkParse(b *testing.B) {
	var text, list strings.Builder
	text.WriteString("goos: linux\npkg: example.com/kernels\n")
	list.WriteString("{")
	for i := range 1000 {
		fmt.Fprintf(&list, "%s\"K%d\": [1", strings.Repeat(",", min(i, 1)), i)
		for j := range 100 {
			fmt.Fprintf(&text, "BenchmarkK%05d-8   \t  1000\t  %d.%d ns/op\n", i, 1000+i, j)
			fmt.Fprintf(&list, ", 0.00%d%d", 123456+i, j)
		}
		list.WriteString("]")
	}
	list.WriteString("}")
	for name, text := range map[string]string{"go": text.String(), "json": list.String()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
