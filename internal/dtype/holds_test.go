package dtype

import (
	"strings"
	"testing"
)

func TestHolds(t *testing.T) {
	wider := map[Type]string{
		F64:  "f64 f32 f16 bf16 e4m3 e5m2 i8 i16 i32 u8 u16 u32",
		F32:  "f32 f16 bf16 e4m3 e5m2 i8 i16 u8 u16",
		F16:  "f16 e4m3 e5m2 i8 u8",
		BF16: "bf16 e4m3 e5m2 i8 u8",
		E4M3: "e4m3",
		E5M2: "e5m2",
		I8:   "i8",
		I16:  "i8 i16 u8",
		I32:  "i8 i16 i32 u8 u16",
		I64:  "i8 i16 i32 i64 u8 u16 u32",
		U8:   "u8",
		U16:  "u8 u16",
		U32:  "u8 u16 u32",
		U64:  "u8 u16 u32 u64",
	}
	for _, one := range All {
		var held []string
		for _, other := range All {
			if one.Holds(other) {
				held = append(held, string(other))
			}
		}
		if got := strings.Join(held, " "); got != wider[one] {
			t.Errorf("%s holds %s, want %s", one, got, wider[one])
		}
	}
	if Type("").Holds(F32) || F64.Holds("") || Type("").Holds("") {
		t.Error("what is no type holds something, or is held")
	}
}
