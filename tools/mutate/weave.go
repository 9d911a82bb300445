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
	outerFirst := slices.SortedStableFunc(slices.Values(mutants), func(a, b *mutant) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.order, b.order), cmp.Compare(a.number, b.number))
	})
	before, after := map[int]string{}, map[int]string{} // by the place in the text
	for _, m := range outerFirst {
		number := strings.NewReplacer("NUMBER", fmt.Sprint(m.number))
		before[m.start] += number.Replace(m.before)
		after[m.end] = number.Replace(m.after) + after[m.end]
	}
	var out bytes.Buffer
	for at, letter := range text {
		out.WriteString(after[at])
		out.WriteString(before[at])
		out.WriteByte(letter)
	}
	out.WriteString(after[len(text)])
	return out.Bytes()
}

const (
	settingMark = "pawl-mutant-setting:" // the number of the mutant follows
	settingSize = 8

	// noteVariable names the file to note in which mutants were reached. Confined
	// processes are not given it: their supervisor would report the attempt to open it.
	noteVariable = "PAWL_MUTANTS_REACHED"
	noteSize     = 1 << 16 // a byte for each mutant

	switchboardFile = "mutant_switchboard.go"
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
	number, err := mutantStrconv.Atoi(mutantStrings.TrimSpace(mutantSetting[` + fmt.Sprint(len(settingMark)) + `:]))
	note := mutantOS.Getenv("` + noteVariable + `")
	if err == nil || note == "" {
		return number, nil
	}
	file, err := mutantOS.OpenFile(note, mutantOS.O_RDWR, 0)
	if err != nil {
		return 0, nil
	}
	defer file.Close()
	reached, _ := mutantSyscall.Mmap(int(file.Fd()), 0, ` + fmt.Sprint(noteSize) + `, mutantSyscall.PROT_READ|mutantSyscall.PROT_WRITE, mutantSyscall.MAP_SHARED)
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
