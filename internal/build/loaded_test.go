package build

import (
	"bytes"
	"debug/elf"
	"os"
	"testing"
)

// What is left is what is loaded, at its place, and nothing else.
func TestLoadedPart(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"k.c": "static long counter[9] = {1}; long run(int i) { return counter[i]++; }\n"})
	mustRun(t, p.dir, "cc", "-g", "-fPIC", "-shared", "-Wl,-e,run", "-o", "k.so", "k.c")
	so, err := os.ReadFile(p.dir + "/k.so")
	if err != nil {
		t.Fatal(err)
	}
	part, err := loadedPart(so)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := elf.NewFile(bytes.NewReader(so))
	if err != nil {
		t.Fatal(err)
	}
	left, err := elf.NewFile(bytes.NewReader(part))
	if err != nil {
		t.Fatal(err)
	}
	if whole.Entry == 0 || left.Entry != 0 || len(whole.Sections) == 0 || len(left.Sections) != 0 || len(part) >= len(so) {
		t.Errorf("entry %d → %d, %d → %d sections, %d → %d bytes", whole.Entry, left.Entry, len(whole.Sections), len(left.Sections), len(so), len(part))
	}
	for i, p := range whole.Progs {
		if left.Progs[i].ProgHeader != p.ProgHeader {
			t.Errorf("segment %d: %+v, was %+v", i, left.Progs[i].ProgHeader, p.ProgHeader)
		}
		from := p.Off
		if p.Type != elf.PT_LOAD {
			continue
		}
		if from == 0 {
			from = 64 // the file's header, which is another one
		}
		if end := p.Off + p.Filesz; !bytes.Equal(part[from:end], so[from:end]) {
			t.Errorf("segment %d is not what it was", i)
		}
	}
	for name, damage := range map[string]func([]byte) []byte{
		"cut short":  func(so []byte) []byte { return so[:len(part)/2] },
		"no header":  func(so []byte) []byte { return so[:40] },
		"no segment": func(so []byte) []byte { so[32+6] = 1; return so }, // its table is somewhere else
	} {
		if got, err := loadedPart(damage(bytes.Clone(so))); err == nil {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}
