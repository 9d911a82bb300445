package cell

import (
	"bytes"
	"debug/elf"
	"regexp"
	"slices"
	"testing"

	"pawl/internal/dtype"
	"pawl/internal/native/cuda"
	"pawl/internal/native/cuda/cubin"
	"pawl/internal/native/cuda/cudatest"
	"pawl/internal/oracle"
)

// All the code that is carried has the kernels of the PTX.
func TestHelperCubins(t *testing.T) {
	var want []string
	for _, entry := range regexp.MustCompile(`\.entry (\w+)`).FindAllSubmatch(helperPTX, -1) {
		want = append(want, string(entry[1]))
	}
	slices.Sort(want)
	for _, test := range []struct {
		major, minor int
		known        bool
	}{
		{7, 0, false}, {7, 5, true}, {8, 0, true}, {8, 9, true}, {9, 0, true}, {10, 0, true}, {10, 3, true}, {11, 0, false}, {12, 1, true}, {13, 0, false},
	} {
		code := helperCubin(test.major, test.minor)
		if (code != nil) != test.known {
			t.Errorf("%d.%d has %d bytes", test.major, test.minor, len(code))
		}
		if code == nil {
			continue
		}
		file, err := cubin.Open(code)
		if err != nil {
			t.Errorf("%d.%d: %v", test.major, test.minor, err)
			continue
		}
		symbols, err := file.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range symbols {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && elf.ST_BIND(s.Info) == elf.STB_GLOBAL {
				got = append(got, s.Name)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%d.%d has %v, the PTX has %v", test.major, test.minor, got, want)
		}
	}
}

// Where there is no code for a device its driver compiles the PTX, which does the
// same.
func TestGPUHelpersFromPTX(t *testing.T) {
	c := startCUDA(t)
	_, device := cudatest.Need(t)
	module, err := c.driver.LoadModule(append(helperPTX, 0))
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := newHelpers(module, device)
	if err != nil {
		t.Fatal(err)
	}
	const count = 100_003
	at, err := c.driver.Alloc(count * 8)
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range []dtype.Type{dtype.F64, dtype.F32, dtype.F16, dtype.BF16, dtype.E4M3, dtype.I32} {
		want, got := make([]byte, count*typ.Size()), make([]byte, count*typ.Size())
		oracle.Generate(want, typ, oracle.Defaults(typ), 7)
		for _, h := range []*helpers{c.helpers, compiled} {
			if err := c.driver.MemsetD8(at, 0, count*8, c.stream); err != nil {
				t.Fatal(err)
			}
			if err := h.fill(c.driver, c.stream, at, count, typ, oracle.Defaults(typ), 7); err != nil {
				t.Fatal(err)
			}
			if err := c.driver.CopyToHost(got, at, c.stream); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: other numbers than on the host", typ)
			}
		}
	}
	if version, err := c.helpers.generate.Attribute(cuda.FuncBinaryVersion); err == nil {
		t.Logf("code for %d", version)
	}
}
