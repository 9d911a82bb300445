package dtype

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// narrow is one of the types under a common face.
type narrow struct {
	name      string
	codes     int
	max       float32
	bits      func(float32) uint32
	value     func(uint32) float32
	saturates bool
}

var narrows = []narrow{
	{
		"f16", 1 << 16, 65504,
		func(v float32) uint32 { return uint32(F16Bits(v)) },
		func(b uint32) float32 { return F16Value(uint16(b)) }, false,
	},
	{
		"bf16", 1 << 16, 0x1.fep127,
		func(v float32) uint32 { return uint32(BF16Bits(v)) },
		func(b uint32) float32 { return BF16Value(uint16(b)) }, false,
	},
	{
		"e4m3", 1 << 8, 448,
		func(v float32) uint32 { return uint32(E4M3Bits(v)) },
		func(b uint32) float32 { return E4M3Value(uint8(b)) }, true,
	},
	{
		"e5m2", 1 << 8, 57344,
		func(v float32) uint32 { return uint32(E5M2Bits(v)) },
		func(b uint32) float32 { return E5M2Value(uint8(b)) }, true,
	},
}

func isNaN(v float32) bool { return v != v }
func isInf(v float32) bool { return math.IsInf(float64(v), 0) }

func TestEveryCodeRoundTrips(t *testing.T) {
	for _, n := range narrows {
		for code := range uint32(n.codes) {
			v := n.value(code)
			back := n.bits(v)
			switch {
			case isNaN(v):
				if !isNaN(n.value(back)) {
					t.Errorf("%s %x is NaN, comes back as %x", n.name, code, back)
				}
			case isInf(v) && n.saturates:
				if n.value(back) != float32(math.Copysign(float64(n.max), float64(v))) {
					t.Errorf("%s %x is infinite, comes back as %v", n.name, code, n.value(back))
				}
			case back != code:
				t.Errorf("%s %x is %v, comes back as %x", n.name, code, v, back)
			}
		}
	}
}

// Between every two neighbours: the midpoint goes to the even code, and the
// float32 on either side of it to the nearer one.
func TestEveryMidpointRoundsToEven(t *testing.T) {
	for _, n := range narrows {
		signBit := uint32(n.codes / 2)
		for code := uint32(0); n.value(code) < n.max; code++ {
			low, high := n.value(code), n.value(code+1)
			middle := low + (high-low)/2
			even := code + code&1
			for _, sign := range []float32{1, -1} {
				for _, test := range []struct {
					v    float32
					want uint32
				}{
					{middle, even},
					{math.Nextafter32(middle, low), code},
					{math.Nextafter32(middle, high), code + 1},
				} {
					want := test.want
					if sign < 0 {
						want |= signBit
					}
					if got := n.bits(sign * test.v); got != want {
						t.Fatalf("%s: %v lies between %v and %v, became %x, want %x", n.name, sign*test.v, low, high, got, want)
					}
				}
			}
		}
	}
}

func TestOverflow(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, n := range narrows {
		for _, v := range []float32{inf, math.MaxFloat32} {
			want := inf
			if n.saturates {
				want = n.max
			}
			if got := n.value(n.bits(v)); got != want {
				t.Errorf("%s of %v is %v, want %v", n.name, v, got, want)
			}
			if got := n.value(n.bits(-v)); got != -want {
				t.Errorf("%s of %v is %v, want %v", n.name, -v, got, -want)
			}
		}
	}
	if got := F16Bits(65520); got != 0x7c00 {
		t.Errorf("65520, halfway past the greatest, became %x, want infinity", got)
	}
	if got := F16Bits(math.Nextafter32(65520, 0)); got != 0x7bff {
		t.Errorf("just below 65520 became %x, want 65504", got)
	}
}

func TestNaNKeepsItsSignAndIsQuiet(t *testing.T) {
	want := map[string][2]uint32{
		"f16": {0x7e00, 0xfe00}, "bf16": {0x7fc0, 0xffc0}, "e4m3": {0x7f, 0xff}, "e5m2": {0x7e, 0xfe},
	}
	for _, n := range narrows {
		for _, payload := range []uint32{0x7f800001, 0x7fc00000, 0x7fffffff} {
			for negative, want := range want[n.name] {
				v := math.Float32frombits(payload | uint32(negative)<<31)
				if got := n.bits(v); got != want {
					t.Errorf("%s of %x is %x, want %x", n.name, math.Float32bits(v), got, want)
				}
			}
		}
	}
}

func TestConversionIsMonotone(t *testing.T) {
	for _, n := range narrows {
		rapid.Check(t, func(t *rapid.T) {
			a := rapid.Float32().Draw(t, "a")
			b := rapid.Float32().Draw(t, "b")
			x, y := n.value(n.bits(a)), n.value(n.bits(b))
			if a <= b && x > y {
				t.Fatalf("%s: %v ≤ %v but %v > %v", n.name, a, b, x, y)
			}
		})
	}
}

// NumPy's and ml_dtypes' answers; testdata/golden.py says how they were made.
func TestGolden(t *testing.T) {
	file, err := os.Open("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	hashes := map[string]func(narrow) string{"decode": decodeHash, "sweep": sweepHash}
	byName := map[string]narrow{}
	for _, n := range narrows {
		byName[n.name] = n
	}
	checked := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch fields[0] {
		case "#":
			continue
		case "decode", "sweep":
			if got := hashes[fields[0]](byName[fields[1]]); got != fields[2] {
				t.Errorf("%s %s: hash is %s, want %s", fields[0], fields[1], got, fields[2])
			}
		case "case":
			var bits uint32
			if _, err := fmt.Sscanf(fields[1], "%x", &bits); err != nil {
				t.Fatal(err)
			}
			for i, n := range narrows {
				got := fmt.Sprintf("%0*x", len(fields[2+i]), n.bits(math.Float32frombits(bits)))
				if got != fields[2+i] {
					t.Errorf("%s of %s is %s, want %s", n.name, fields[1], got, fields[2+i])
				}
			}
		}
		checked++
	}
	if checked < 40 {
		t.Errorf("only %d lines of golden.txt were checked", checked)
	}
}

func decodeHash(n narrow) string {
	hash := sha256.New()
	for code := range uint32(n.codes) {
		v := n.value(code)
		bits := math.Float32bits(v)
		if isNaN(v) {
			bits = 0x7fc00000
		}
		hash.Write(binary.LittleEndian.AppendUint32(nil, bits))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

func sweepHash(n narrow) string {
	var codes []byte
	for bits := uint64(0); bits < 1<<32; bits += 4099 {
		v := math.Float32frombits(uint32(bits))
		switch {
		case isNaN(v):
		case n.codes == 1<<8:
			codes = append(codes, uint8(n.bits(v)))
		default:
			codes = binary.LittleEndian.AppendUint16(codes, uint16(n.bits(v)))
		}
	}
	sum := sha256.Sum256(codes)
	return hex.EncodeToString(sum[:])
}

func BenchmarkBits(b *testing.B) {
	values := make([]float32, 4096)
	for i := range values {
		values[i] = float32(i-2048) / 512
	}
	var sink uint32
	for _, n := range narrows {
		b.Run(n.name, func(b *testing.B) {
			for b.Loop() {
				for _, v := range values {
					sink += n.bits(v)
				}
			}
			b.ReportMetric(float64(len(values))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melem/s")
		})
	}
	_ = sink
}
