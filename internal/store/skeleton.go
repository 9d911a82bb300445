package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"pawl/internal/pattern"
)

// A document is stored as a skeleton, its JSON without the long lists of numbers, and these lists,
// packed. Neither knows the fields of a report: a report of a newer pawl is stored as well as one of
// this.

const (
	minList = 24      // shorter lists stay in the skeleton: they are often those of the run before
	hole    = 0       // stands for a list: no JSON has this byte
	maxList = 1 << 26 // numbers
)

// split takes the lists out of compact JSON.
func split(doc []byte) (skeleton, numbers []byte) {
	skeleton = make([]byte, 0, len(doc)/4)
	scales := scalesOf(doc)
	for at := 0; at < len(doc); at++ {
		switch doc[at] {
		case '"':
			end := stringEnd(doc, at)
			skeleton = append(skeleton, doc[at:end]...)
			at = end - 1
			continue
		case '[':
			if list, end := numberList(doc, at); list != nil {
				skeleton = append(skeleton, hole)
				numbers = pack(numbers, list, scales)
				at = end - 1
				continue
			}
		}
		skeleton = append(skeleton, doc[at])
	}
	return skeleton, numbers
}

// join puts the lists back.
func join(skeleton, numbers []byte) ([]byte, error) {
	doc := make([]byte, 0, len(skeleton)+4*len(numbers))
	scales := scalesOf(skeleton) // as in the document: none is in a list
	for {
		before, after, found := bytes.Cut(skeleton, []byte{hole})
		doc = append(doc, before...)
		if !found {
			break
		}
		list, rest, err := unpack(numbers, scales, maxList)
		if err != nil {
			return nil, err
		}
		doc = append(doc, '[')
		for i, v := range list {
			if i > 0 {
				doc = append(doc, ',')
			}
			doc = appendNumber(doc, v)
		}
		doc, skeleton, numbers = append(doc, ']'), after, rest
	}
	if len(numbers) > 0 {
		return nil, errNumbers
	}
	return doc, nil
}

// stringEnd returns where the string that begins at a place ends.
func stringEnd(doc []byte, at int) int {
	for end := at + 1; end < len(doc); end++ {
		switch doc[end] {
		case '\\':
			end++
		case '"':
			return end + 1
		}
	}
	return len(doc)
}

// numberList reads a long list of numbers that are written the way JSON is written by Go; nil: it is
// none, and stays as it is.
func numberList(doc []byte, at int) (list []float64, end int) {
	if at+1 == len(doc) || doc[at+1] != '-' && (doc[at+1] < '0' || doc[at+1] > '9') {
		return nil, 0
	}
	length := bytes.IndexByte(doc[at:], ']')
	if length < 0 {
		return nil, 0
	}
	inside := doc[at+1 : at+length]
	if bytes.Count(inside, []byte{','}) < minList-1 {
		return nil, 0
	}
	list = make([]float64, 0, bytes.Count(inside, []byte{','})+1)
	text := make([]byte, 0, 32)
	for word := range bytes.SplitSeq(inside, []byte{','}) {
		v, err := strconv.ParseFloat(string(word), 64)
		if err != nil {
			return nil, 0
		}
		if text = appendNumber(text[:0], v); !bytes.Equal(text, word) {
			return nil, 0
		}
		list = append(list, v)
	}
	return list, at + length + 1
}

// appendNumber writes a number as package json does: the shortest decimals that mean it.
func appendNumber(out []byte, v float64) []byte {
	size := math.Abs(v)
	if size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(out, v, 'f', -1, 64)
	}
	out = strconv.AppendFloat(out, v, 'e', -1, 64)
	if n := len(out); n >= 4 && out[n-4] == 'e' && out[n-3] == '-' && out[n-2] == '0' { // e-09 is e-9
		out[n-2] = out[n-1]
		out = out[:n-1]
	}
	return out
}

var (
	pairField   = pattern.New(`"pair_s":([0-9.e-]+)`)
	repeatField = pattern.New(`"repeat":([0-9]+)`)
)

// scalesOf returns what the samples of a report may have been made with: the time between two events,
// and the launches of a sample.
func scalesOf(doc []byte) (scales []scale) {
	const most = 16
	pairs, repeats := distinct(doc, pairField, most), distinct(doc, repeatField, most)
	for _, pair := range pairs {
		for _, repeat := range repeats {
			scales = append(scales, scale{pair, repeat})
		}
	}
	return scales[:min(most, len(scales))]
}

func distinct(doc []byte, field *pattern.Pattern, most int) (list []float64) {
	seen := map[string]bool{}
	for _, m := range field.Regexp().FindAllSubmatch(doc, -1) {
		if v, err := strconv.ParseFloat(string(m[1]), 64); err == nil && !seen[string(m[1])] && len(list) < most {
			seen[string(m[1])] = true
			list = append(list, v)
		}
	}
	return list
}

// joinParts is the form that is stored: the length of the compressed skeleton, the skeleton, the lists.
func joinParts(packed, numbers []byte) []byte {
	return slices.Concat(binary.AppendUvarint(nil, uint64(len(packed))), packed, numbers)
}

func cutParts(data []byte) (packed, numbers []byte, err error) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return nil, nil, fmt.Errorf("it is cut off: %d bytes", len(data))
	}
	return data[n : n+int(length)], data[n+int(length):], nil
}
