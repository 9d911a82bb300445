package puppet

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"pawl/internal/dtype"
	"pawl/internal/worker/cell"
	"pawl/internal/worker/wire"
)

// data is what a launch works on.
type data struct{ batch, steps int }

func (v *version) produce(m wire.Produce) wire.Produced {
	v.crash(wire.OpProduce)
	time.Sleep(time.Duration(v.Think) * time.Millisecond)
	return wire.Produced{Outputs: v.answer(data{m.Batch, m.Steps}, v.Wrong == "always" && v.here(), m.Outputs)}
}

// here reports whether the problem is one that Only speaks of.
func (v *version) here() bool { return v.Only == 0 || int64(v.Only) == v.scalar }

// answer leaves the outputs of a launch. A puppet's right answer is its first input
// as it is.
func (v *version) answer(on data, wrong bool, folder string) []wire.Left {
	if v.first == nil {
		v.first = &on
	}
	switch v.Wrong {
	case "stale":
		on = *v.first
	case "data":
		wrong = on.steps%3 == 2
	}
	var out []wire.Left
	for number, arg := range v.problem.Args {
		if arg.Role != "out" {
			continue
		}
		content := make([]byte, arg.Count*int64(dtype.Type(arg.DType).Size()))
		if !wrong {
			copy(content, v.input(on))
		}
		switch {
		case v.Wrong == "random":
			_, _ = rand.Read(content[:1])
		case v.Wrong == "race" && v.here() || v.Wrong == "timedrace" && on.steps > 0:
			content[3+4*mathrand.N(len(content)/4)] ^= 1 // its exponent
		case v.Wrong == "bits":
			v.answers++
			content[0] = content[0]&^7 | byte(v.answers&7)
		}
		name := strconv.Itoa(number) + ".bin"
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			panic(err)
		}
		out = append(out, wire.Left{Arg: number, Path: name})
	}
	return out
}

func (v *version) input(on data) []byte {
	for number, arg := range v.problem.Args {
		if arg.Role == "in" {
			return cell.Input(arg, number, v.problem.Seed, on.batch, on.steps)
		}
	}
	return nil
}
