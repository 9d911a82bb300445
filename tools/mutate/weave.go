package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// weave puts mutants into a file's text. Each keeps the original inside it, where
// further mutants may be; what it does instead has none.
func weave(text []byte, mutants []*mutant) []byte {
	ordered := slices.Clone(mutants)
	// Outer ranges first; of equal ones statements first, for they hold expressions.
	slices.SortStableFunc(ordered, func(a, b *mutant) int {
		if a.start == b.start && a.end == b.end && a.statement != b.statement {
			if a.statement {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.number, b.number))
	})
	type insertion struct {
		at, order int
		text      string
	}
	var in []insertion
	for i, m := range ordered {
		number := strings.NewReplacer("NUMBER", fmt.Sprint(m.number))
		// At one place everything that ends comes first, the innermost before the others.
		in = append(in, insertion{m.start, len(ordered) + i, number.Replace(m.before)}, insertion{m.end, len(ordered) - 1 - i, number.Replace(m.after)})
	}
	slices.SortStableFunc(in, func(a, b insertion) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) })
	var out bytes.Buffer
	from := 0
	for _, i := range in {
		out.Write(text[from:i.at])
		out.WriteString(i.text)
		from = i.at
	}
	out.Write(text[from:])
	return out.Bytes()
}

const (
	settingMark = "pawl-mutant-setting:" // the number of the mutant follows
	settingSize = 8

	// noteVariable names the file to note in which mutants were reached. Confined
	// processes are not given it: their supervisor would report the attempt to open it.
	noteVariable = "PAWL_MUTANTS_REACHED"
)

// switchboard returns the file that the package gets besides its mutants.
func switchboard(name string) string {
	return "package " + name + `

import (
	mutantOS "os"
	mutantStrconv "strconv"
	mutantStrings "strings"
	mutantSyscall "syscall"
)

var mutantSetting = "` + settingMark + strings.Repeat(" ", settingSize) + `"

var mutantNumber, mutantReached = mutantSet()

func mutantSet() (int, []byte) {
	setting := mutantStrings.TrimSpace(mutantSetting[` + fmt.Sprint(len(settingMark)) + `:])
	if number, err := mutantStrconv.Atoi(setting); err == nil {
		return number, nil
	}
	note := mutantOS.Getenv("` + noteVariable + `")
	if note == "" {
		return 0, nil
	}
	file, err := mutantOS.OpenFile(note, mutantOS.O_RDWR, 0)
	if err != nil {
		return 0, nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, nil
	}
	reached, err := mutantSyscall.Mmap(int(file.Fd()), 0, int(info.Size()), mutantSyscall.PROT_READ|mutantSyscall.PROT_WRITE, mutantSyscall.MAP_SHARED)
	if err != nil {
		return 0, nil
	}
	return 0, reached
}

func mutantOn(number int) bool {
	if mutantReached != nil {
		mutantReached[number] = 1
	}
	return number == mutantNumber
}

func mutantPick[T any](number int, instead, original func() T) T {
	if mutantOn(number) {
		return instead()
	}
	return original()
}
`
}
