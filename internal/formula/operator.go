package formula

import "math"

// unary is an operator or function of one operand.
type unary struct {
	symbol  string
	boolean bool                        // the result is a boolean
	bools   bool                        // ints may be given booleans as 0 and 1
	ints    func(a int64) (int64, bool) // nil where integers are nothing special
	values  func(a Value) (Value, *Error)
	real    func(a float64) float64 // in the arithmetic of Real; nil where it has none
}

// binary is an operator or function of two operands.
type binary struct {
	symbol  string
	boolean bool
	bools   bool
	ints    func(a, b int64) (int64, bool)
	values  func(a, b Value) (Value, *Error)
	real    func(a, b float64) float64
}

var (
	opNegate = numberUnary("-", negateInt, func(a float64) float64 { return -a })
	opNot    = &unary{
		symbol: "not", boolean: true, bools: true, ints: notInt, values: not, real: func(a float64) float64 { return truthOf(a == 0) },
	}
)

// numberBinary works on integers exactly and on floats, to which an integer
// beside a float is converted.
func numberBinary(symbol string, ints func(a, b int64) (int64, bool), floats func(a, b float64) float64) *binary {
	return &binary{symbol: symbol, ints: ints, real: floats, values: func(a, b Value) (Value, *Error) {
		if a.kind == KindInt && b.kind == KindInt {
			r, ok := ints(a.int(), b.int())
			return exact(r, ok, symbol, a, b)
		}
		if err := needNumbers(symbol, a, b); err != nil {
			return Value{}, err
		}
		return finite(floats(a.number(), b.number()), symbol, a, b)
	}}
}

func integerBinary(symbol string, ints func(a, b int64) (int64, bool)) *binary {
	return &binary{symbol: symbol, ints: ints, values: func(a, b Value) (Value, *Error) {
		if err := needIntegers(symbol, a, b); err != nil {
			return Value{}, err
		}
		r, ok := ints(a.int(), b.int())
		return exact(r, ok, symbol, a, b)
	}}
}

// exact returns the result r of an operation on operands; ok is false where there is none.
func exact(r int64, ok bool, symbol string, operands ...Value) (Value, *Error) {
	if !ok {
		return Value{}, noInteger(symbol, operands...)
	}
	return Int(r), nil
}

// finite returns the result f of an operation on its operands, unless it is infinite or NaN.
func finite(f float64, symbol string, operands ...Value) (Value, *Error) {
	if !isFinite(f) {
		return Value{}, noFloat(symbol, operands...)
	}
	return Float(f), nil
}

// divide rounds once, also where the operands are no exact floats.
func divide(a, b Value) (Value, *Error) {
	if a.kind == KindInt && b.kind == KindInt && b.int() != 0 {
		return Float(divideInt(a.int(), b.int())), nil
	}
	if err := needNumbers("/", a, b); err != nil {
		return Value{}, err
	}
	return finite(a.number()/b.number(), "/", a, b)
}

func power(a, b Value) (Value, *Error) {
	if a.kind == KindInt && b.kind == KindInt && b.int() >= 0 {
		r, ok := powerInt(a.int(), b.int())
		return exact(r, ok, "**", a, b)
	}
	if err := needNumbers("**", a, b); err != nil {
		return Value{}, err
	}
	return finite(math.Pow(a.number(), b.number()), "**", a, b)
}

// ordering compares numbers by size.
func ordering(symbol string, ints func(a, b int64) (int64, bool), real func(a, b float64) float64) *binary {
	return &binary{symbol: symbol, boolean: true, ints: ints, real: real, values: func(a, b Value) (Value, *Error) {
		if err := needNumbers(symbol, a, b); err != nil {
			return Value{}, err
		}
		r, _ := ints(int64(compare(a, b)), 0)
		return Bool(r != 0), nil
	}}
}

// equality compares anything, as Python does: True equals 1, and a string
// equals no number.
func equality(symbol string, ints func(a, b int64) (int64, bool), real func(a, b float64) float64) *binary {
	return &binary{symbol: symbol, boolean: true, bools: true, ints: ints, real: real, values: func(a, b Value) (Value, *Error) {
		same := a == b
		if a.kind != KindString && b.kind != KindString {
			same = compare(a, b) == 0
		}
		r, _ := ints(bit(same), 1)
		return Bool(r != 0), nil
	}}
}

// numberUnary works on integers exactly and on floats, where it keeps finite
// what is finite.
func numberUnary(symbol string, ints func(a int64) (int64, bool), floats func(a float64) float64) *unary {
	return &unary{symbol: symbol, ints: ints, real: floats, values: func(a Value) (Value, *Error) {
		switch a.kind {
		case KindInt:
			r, ok := ints(a.int())
			return exact(r, ok, symbol, a)
		case KindFloat:
			return Float(floats(a.float())), nil
		}
		return Value{}, wrongKind(symbol, "a number", a)
	}}
}

func integerUnary(symbol string, ints func(a int64) (int64, bool)) *unary {
	return &unary{symbol: symbol, ints: ints, values: func(a Value) (Value, *Error) {
		if a.kind != KindInt {
			return Value{}, wrongKind(symbol, "an integer", a)
		}
		r, ok := ints(a.int())
		return exact(r, ok, symbol, a)
	}}
}

// sameNumber returns its operand, which must be a number.
func sameNumber(symbol string) *unary {
	return numberUnary(symbol, sameInt, sameReal)
}

func not(a Value) (Value, *Error) {
	isTrue, err := truth("not", a)
	return Bool(!isTrue), err
}

// truth returns what a value counts as where a condition is wanted.
func truth(symbol string, v Value) (bool, *Error) {
	switch v.kind {
	case KindString:
		return false, wrongKind(symbol, "a boolean or a number", v)
	case KindFloat:
		return v.float() != 0, nil
	}
	return v.bits != 0, nil
}
