package cell

import (
	"encoding/binary"

	"pawl/internal/native/cuda"
)

// stampBytes returns the size of the two stamps of a sample: a clock and a time per SM.
func (c *cudaCell) stampBytes() int { return 2 * c.sms * 16 }

// stamp records every SM's clock before (0) or after (1) a launch.
func (c *cudaCell) stamp(index, which int) error {
	to := c.stamps + cuda.DevicePtr(index*c.stampBytes()+which*c.sms*16)
	if err := c.calls.stamp.Set(0, cuda.Param(to)); err != nil {
		return err
	}
	return c.calls.stamp.Launch(c.stream)
}

// clocks computes the SM clock of each sample from its stamps, in GHz, and the
// seconds of all of them by the global timer: 0 when one is unknown.
func (c *cudaCell) clocks(count int) (ghz []float64, seconds float64, err error) {
	raw := make([]byte, count*c.stampBytes())
	if err := c.driver.CopyToHost(raw, c.stamps, c.stream); err != nil {
		return nil, 0, err
	}
	ghz = make([]float64, count)
	known := true
	for i := range ghz {
		stamps := raw[i*c.stampBytes() : (i+1)*c.stampBytes()]
		ghz[i] = clockOf(stamps, c.sms)
		span := spanOf(stamps, c.sms)
		seconds, known = seconds+span, known && span > 0
	}
	if !known {
		seconds = 0
	}
	return ghz, seconds, nil
}

// clockOf returns the mean clock of the SMs that both stamps reached: cycles over nanoseconds. It
// is 0 when there is none.
func clockOf(stamps []byte, sms int) float64 {
	word := func(which, sm, field int) uint64 {
		return binary.LittleEndian.Uint64(stamps[(which*sms+sm)*16+8*field:])
	}
	cycles, nanoseconds := 0.0, 0.0
	for sm := range sms {
		start, end := word(0, sm, 1), word(1, sm, 1)
		if start == 0 || end <= start || word(1, sm, 0) <= word(0, sm, 0) {
			continue
		}
		cycles += float64(word(1, sm, 0) - word(0, sm, 0))
		nanoseconds += float64(end - start)
	}
	if nanoseconds == 0 {
		return 0
	}
	return cycles / nanoseconds
}

// spanOf returns the time by the global timer from the last SM's first stamp to the first SM's
// last, in seconds: the events lie inside this span. It is 0 when either stamp is missing.
func spanOf(stamps []byte, sms int) float64 {
	begin, end := uint64(0), ^uint64(0)
	for sm := range sms {
		begin = max(begin, binary.LittleEndian.Uint64(stamps[sm*16+8:]))
		if at := binary.LittleEndian.Uint64(stamps[(sms+sm)*16+8:]); at != 0 {
			end = min(end, at)
		}
	}
	if begin == 0 || end == ^uint64(0) || end < begin {
		return 0
	}
	return float64(max(end-begin, 1)) * 1e-9 // the timer may be too coarse for an empty span
}
