package store

import (
	"encoding/binary"
	"errors"
	"math"
)

// What nobody selects rows by lies in one column: a query for five thousand points spends most of its
// time on columns.

// rowValues is a row with the numbers of its texts.
type rowValues struct {
	*Row

	fault, identity, best int64
}

// The bits that say what there is of a row.
const (
	hasTimes = 1 << iota
	hasRoof
	hasBase
	hasBest
	isMoved
	isDropped
)

func (v rowValues) encode() []byte {
	var has byte
	var floats []float64
	if v.MedianS != 0 {
		has, floats = has|hasTimes, append(floats, v.MedianS, v.LowS, v.HighS)
	}
	if v.RoofPct != 0 {
		has, floats = has|hasRoof, append(floats, v.RoofPct)
	}
	if v.Base != nil {
		has, floats = has|hasBase, append(floats, v.Base.Median, v.Base.Low, v.Base.High)
	}
	if v.Best != nil {
		has, floats = has|hasBest, append(floats, v.Best.Median, v.Best.Low, v.Best.High)
	}
	if v.Moved {
		has |= isMoved
	}
	if v.Dropped {
		has |= isDropped
	}
	out := make([]byte, 1, 16+8*len(floats))
	out[0] = has
	for _, n := range []int64{v.fault, v.identity, v.best, int64(v.Samples)} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	for _, f := range floats {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(f))
	}
	return out
}

var errValues = errors.New("the values of a point are damaged")

// decode reads what encode wrote into the row.
func (v *rowValues) decode(in []byte) error {
	if len(in) == 0 {
		return errValues
	}
	has := in[0]
	in = in[1:]
	var samples int64
	for _, n := range []*int64{&v.fault, &v.identity, &v.best, &samples} {
		u, size := binary.Uvarint(in)
		if size <= 0 {
			return errValues
		}
		*n, in = int64(u), in[size:]
	}
	v.Samples = int(samples)
	var lists [][]*float64
	if has&hasTimes != 0 {
		lists = append(lists, []*float64{&v.MedianS, &v.LowS, &v.HighS})
	}
	if has&hasRoof != 0 {
		lists = append(lists, []*float64{&v.RoofPct})
	}
	if has&hasBase != 0 {
		v.Base = &Change{}
		lists = append(lists, []*float64{&v.Base.Median, &v.Base.Low, &v.Base.High})
	}
	if has&hasBest != 0 {
		v.Best = &Change{}
		lists = append(lists, []*float64{&v.Best.Median, &v.Best.Low, &v.Best.High})
	}
	for _, list := range lists {
		for _, f := range list {
			if len(in) < 8 {
				return errValues
			}
			*f, in = math.Float64frombits(binary.LittleEndian.Uint64(in)), in[8:]
		}
	}
	if len(in) > 0 {
		return errValues
	}
	v.Moved, v.Dropped = has&isMoved != 0, has&isDropped != 0
	return nil
}
