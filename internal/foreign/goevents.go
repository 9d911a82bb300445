package foreign

import (
	"slices"
	"strings"
)

// isGoEvents reports whether a text is output of go test -json: one object per line, perhaps after
// lines of the go command.
func isGoEvents(text string) bool {
	lines := 0
	for line := range strings.Lines(text) {
		if lines++; lines > 100 {
			break
		}
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "{") {
			s := &scanner{source: source{text: line}}
			action := false
			err := s.object(func(key string) error {
				action = action || key == "Action"
				return s.skip()
			})
			return err == nil && action
		}
		if strings.HasPrefix(line, "[") {
			return false
		}
	}
	return false
}

// readGoEvents joins the output of each package into what go test prints without -json. The output
// comes in pieces, and that of several packages is interleaved.
func readGoEvents(src source, c *collector) error {
	s := &scanner{source: src}
	outputs := map[string]*joined{}
	var packages []string
	for s.space(); s.at < len(src.text); s.space() {
		at := s.at
		if src.text[at] != '{' { // the go command's own words
			line, _, _ := strings.Cut(src.text[at:], "\n")
			s.at += len(line)
			continue
		}
		var action, pkg, output string
		err := s.fields(map[string]func() error{
			"Action": into(&action, s.string), "Package": into(&pkg, s.string), "Output": into(&output, s.string),
		})
		if err != nil {
			return err
		}
		if pkg != "" && outputs[pkg] == nil {
			outputs[pkg] = &joined{}
			outputs[pkg].add(at, "pkg: "+pkg+"\n") // a filtered output may lack the line
			packages = append(packages, pkg)
		}
		if action == "output" && pkg != "" {
			outputs[pkg].add(at, output)
		}
	}
	var all joined
	for _, pkg := range packages {
		all.append(outputs[pkg])
	}
	return readGoTest(source{file: src.file, text: all.text.String(), pieces: all.pieces, whole: src.text}, c)
}

// joined is a text made of pieces of another.
type joined struct {
	text   strings.Builder
	pieces []piece
}

// piece says where a piece of a joined text begins, there and in the file.
type piece struct{ at, from int }

func (j *joined) add(from int, text string) {
	j.pieces = append(j.pieces, piece{j.text.Len(), from})
	j.text.WriteString(text)
}

// append adds all of another text, on its own line.
func (j *joined) append(other *joined) {
	start := j.text.Len()
	for _, p := range other.pieces {
		j.pieces = append(j.pieces, piece{start + p.at, p.from})
	}
	j.text.WriteString(strings.TrimSuffix(other.text.String(), "\n") + "\n")
}

// origin returns the file offset of an offset in a joined text.
func origin(pieces []piece, at int) int {
	i, found := slices.BinarySearchFunc(pieces, at, func(p piece, at int) int { return p.at - at })
	if !found {
		i--
	}
	return pieces[max(0, i)].from
}
