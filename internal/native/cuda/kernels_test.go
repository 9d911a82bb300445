package cuda

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"pawl/internal/native/cuda/cubin"
	"pawl/internal/native/cuda/cubin/cubintest"
)

const twoKernels = ".visible .entry first(\n)\n{ ret; }\n.entry _Z6secondPf ( .param .u64 p )\n.func helper\n"

func packZstd(t testing.TB, text string) []byte {
	writer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return writer.EncodeAll([]byte(text), nil)
}

func TestFatbinKernels(t *testing.T) {
	plain := cubintest.Fatbin(cubin.KindPTX, 0, []byte(twoKernels), 0)
	for _, test := range []struct {
		name     string
		section  []byte
		want     []string
		complete bool
	}{
		{"nothing", nil, nil, true},
		{"PTX", plain, []string{"first", "_Z6secondPf"}, true},
		{"two of them", slices.Concat(plain, make([]byte, 8), plain), []string{"first", "_Z6secondPf", "first", "_Z6secondPf"}, true},
		{"zstd", cubintest.Fatbin(cubin.KindPTX, cubintest.Zstd, packZstd(t, twoKernels), len(twoKernels)), []string{"first", "_Z6secondPf"}, true},
		{"broken zstd", cubintest.Fatbin(cubin.KindPTX, cubintest.Zstd, []byte("no zstd"), 100), nil, false},
		{"an unknown kind", cubintest.Fatbin(9, 0, []byte(twoKernels), 0), nil, false},
		{"cut short", plain[:len(plain)-8], nil, false},
		{"a cubin that is none", cubintest.Fatbin(cubin.KindCubin, 0, []byte(twoKernels), 0), nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, complete := fatbinKernels(test.section)
			if diff := cmp.Diff(test.want, got); diff != "" || complete != test.complete {
				t.Errorf("complete %v, want %v: %s", complete, test.complete, diff)
			}
		})
	}
}

func TestStubs(t *testing.T) {
	for symbol, want := range map[string][]string{
		"_Z24__device_stub__Z5plainPfPf":                 {"_Z5plainPf", "plain"},
		"_ZL36__device_stub__ZN2ns5tiledILi4EEEvPfPf":    {"_ZN2ns5tiledILi4EEEvPf"},
		"_Z99__device_stub__Z5plainPfPf":                 nil,
		"main":                                           nil,
		"__device_stub__":                                nil,
		"_ZGVZL36__device_stub__ZN2ns5tiledILi4EEEvPfPf": {"_ZN2ns5tiledILi4EEEvPf"},
	} {
		if diff := cmp.Diff(want, stubOf(symbol)); diff != "" {
			t.Errorf("%s: %s", symbol, diff)
		}
	}
}

func FuzzFatbin(f *testing.F) {
	f.Add(cubintest.Fatbin(cubin.KindPTX, 0, []byte(twoKernels), 0))
	f.Add(cubintest.Fatbin(cubin.KindPTX, cubintest.Zstd, packZstd(f, twoKernels), len(twoKernels)))
	f.Add(cubintest.Fatbin(cubin.KindPTX, cubintest.LZ4, []byte("\x15a\x01\x00"), 10))
	f.Fuzz(func(_ *testing.T, section []byte) { fatbinKernels(section) })
}
