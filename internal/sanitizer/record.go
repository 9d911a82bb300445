package sanitizer

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/pattern"
	"pawl/internal/result"
)

// record is one thing a tool reports: a line, and what it says of it.
type record struct {
	head    string
	details []string
	frames  []frame
}

// frame is a place in device code.
type frame struct {
	function string
	file     string // "": the artifact has no line there
	line     int
}

var (
	thread   = pattern.New(`^by thread (\([0-9,]+\)) in block (\([0-9,]+\))`)
	hazard   = pattern.New(`^(Potential \S+ hazard detected at \S+) \S+ in block (\([0-9,]+\)) ?:?$`)
	party    = pattern.New(`^(\w+ Thread) (\([0-9,]+\)) at (.+)$`)
	race     = pattern.New(`^Race reported between (\w+ access) at (.+)$`)
	opponent = pattern.New(`^and (\w+ access) at (.+?)(?: \[([0-9,]+) hazards?\])?$`)
	called   = pattern.New(`^Device Frame: ?(.+)$`)

	hostAccess = pattern.New(`^(Host API memory access error) at (.+)$`)
)

var details = []string{
	"at ", "by thread ", "Address ", "Access ", "and is ", "Device Frame:", "Host Frame:", "Saved host backtrace", "Current Value", "Incoming Value",
	"Barrier is located", "Uninitialized access ", "Not written ",
}

// isDetail knows the lines below a record's first by their words: where a log has
// been through other hands its indentation may be lost.
func isDetail(said string) bool {
	return startsWith(said, details...) || party.MatchString(said) || opponent.MatchString(said)
}

// startsWith reports whether a line begins with one of the words.
func startsWith(said string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(said, word) })
}

// Records about what pawl's or a framework's host code does with device memory.
var hostSide = []string{"Program hit ", "Host API ", "Leaked ", "Unused "}

// finding reads a record; false: it is about the tool, not about the kernel, or
// nothing that is known.
func (r *record) finding() (result.SanitizerFinding, bool) {
	f := result.SanitizerFinding{Severity: Error, Kind: strings.TrimSuffix(r.head, ".")}
	if m := leveled.FindStringSubmatch(r.head); m != nil {
		if !strings.EqualFold(m[1], Error) {
			f.Severity = Warning
		}
		f.Kind = strings.TrimPrefix(m[2], "(Warp Level Programming) ")
		if !race.MatchString(f.Kind) && !hazard.MatchString(f.Kind) {
			return f, false
		}
	}
	if startsWith(f.Kind, hostSide...) {
		f.Severity = Warning
	}
	var notes []string
	if m := hostAccess.FindStringSubmatch(f.Kind); m != nil {
		f.Kind, notes = m[1], append(notes, m[2])
	}
	if m := hazard.FindStringSubmatch(f.Kind); m != nil {
		f.Kind, f.Block = m[1], m[2]
	}
	if m := race.FindStringSubmatch(f.Kind); m != nil {
		f.Kind = "Race reported between " + m[1]
		r.frames = append(r.frames, place(m[2]))
	}
	known := f.Severity == Warning || len(r.frames) > 0 || f.Block != ""
	for _, detail := range r.details {
		known = r.detail(detail, &f, &notes) || known
	}
	f.Note = strings.Join(notes, "; ")
	return f, known && f.Kind != ""
}

// detail reads one line below a record's first, and reports whether it says where in
// device code the record belongs.
func (r *record) detail(said string, f *result.SanitizerFinding, notes *[]string) bool {
	if at, ok := strings.CutPrefix(said, "at "); ok {
		r.frames = append(r.frames, place(at))
		return true
	}
	if m := thread.FindStringSubmatch(said); m != nil {
		f.Thread, f.Block = m[1], m[2]
		return true
	}
	if m := called.FindStringSubmatch(said); m != nil {
		r.frames = append(r.frames, place(m[1]))
		return true
	}
	if m := opponent.FindStringSubmatch(said); m != nil {
		with := place(m[2])
		note := m[1] + " at " + with.String()
		if m[3] != "" {
			note += ", " + m[3] + " hazards"
		}
		if *notes == nil {
			f.Kind += " and " + m[1]
		}
		*notes = append(*notes, note)
		return true
	}
	if m := party.FindStringSubmatch(said); m != nil {
		if f.Thread == "" {
			f.Thread = m[2]
			r.frames = append(r.frames, place(m[3]))
		} else {
			*notes = append(*notes, m[1]+" "+m[2]+" at "+place(m[3]).String())
		}
		return true
	}
	if startsWith(said, "Host Frame:", "Saved host backtrace", "in ") {
		return false
	}
	if last := len(*notes) - 1; last >= 0 && strings.HasPrefix(said, "and ") {
		(*notes)[last] += " " + said
		return false
	}
	*notes = append(*notes, said)
	return false
}

// locate chooses the line that a finding is told in: the innermost of the source,
// else the innermost there is. The kernel is the outermost function.
func (r *record) locate(f *result.SanitizerFinding, source string) {
	chosen := -1
	for i, at := range r.frames {
		if at.function != "" {
			f.Kernel = at.function
		}
		if at.file == "" {
			continue
		}
		if chosen < 0 || path.Base(at.file) == source && path.Base(r.frames[chosen].file) != source {
			chosen = i
		}
	}
	if chosen >= 0 {
		f.File, f.Line = r.frames[chosen].file, r.frames[chosen].line
	}
	if len(r.frames) > 1 {
		for _, at := range r.frames {
			f.Frames = append(f.Frames, at.String())
		}
	}
}

var (
	offset   = pattern.New(`(?:[+:]0x[0-9a-f]+|^0x[0-9a-f]+)$`)
	fileLine = pattern.New(`^([^:]+):([0-9]{1,9})(?::(.+))?$`)
	bracket  = pattern.New(` \[0x[0-9a-f]+\]$`)
)

// place reads a place in device code, in the forms of several versions:
//
//	kernel(int *)+0x90 in file.cu:41
//	0x90 in file.cu:41:kernel(int*)
//	0x90 in kernel(int*)
//	kernel(int *)+0x90
//	file.cu:41:kernel(int*) [0x90]
func place(text string) frame {
	before, after, cut := cutLast(bracket.ReplaceAllString(text, ""), " in ")
	if !cut && fileLine.MatchString(before) {
		before, after, cut = "", before, true
	}
	at := frame{function: strings.TrimSpace(offset.ReplaceAllString(before, ""))}
	if !cut {
		return at
	}
	if m := fileLine.FindStringSubmatch(after); m != nil {
		at.file = m[1]
		at.line, _ = strconv.Atoi(m[2]) // nine digits at most
		if m[3] != "" {
			at.function = m[3]
		}
	} else if at.function == "" {
		at.function = after
	}
	return at
}

func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

func (f frame) String() string {
	if f.file == "" {
		return f.function
	}
	text := f.file + ":" + strconv.Itoa(f.line)
	if f.function != "" {
		text += " in " + f.function
	}
	return text
}
