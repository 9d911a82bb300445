package measure

import (
	"math/rand/v2"

	"pawl/internal/worker/wire"
)

// steppedData tells whether the data of samples differs in a few elements only.
func (s *series) steppedData() bool { return !s.cuda() }

const (
	anewOneIn = 3 // requests has wholly new data: to generate it takes time
	anewLeast = 3 // samples of such a request: the first comes after a pause, and one is to compare with
)

// renewOne has one sample of some requests, which nobody knows before, work on data that
// no launch has seen anything of: what a kernel gains must be gained there too.
func (s *series) renewOne(m *wire.Sample) {
	if s.inMatch && s.steppedData() && m.Count >= anewLeast && rand.IntN(anewOneIn) == 0 {
		m.Fresh, m.FreshBatch = 2+rand.IntN(m.Count-1), s.data
	}
}
