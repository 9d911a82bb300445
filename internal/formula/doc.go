// Package formula is the small expression language of pawl.yaml: shapes,
// launch dimensions, constraints and work counts.
//
// It reads like Python and means what Python means, with Python's precedence
// and associativity, except where silence would hide a mistake:
//
//   - Integers are exact and have 64 bits; a result that does not fit is an
//     error, never a wrapped number.
//   - A float result that is infinite or not a number is an error.
//   - Booleans are not numbers in arithmetic and in < <= > >=; int(x) turns one
//     into 0 or 1.
//   - Strings can only be compared with == and != and chosen between.
//
// Values are integers (64, 0x40, 1_000), floats (0.5, 1e-3), booleans (True,
// False, true, false) and strings ('f16', "f16", without escapes). Operators,
// loosest first:
//
//	a if c else b
//	or   and   not                   numbers count as true when not zero
//	< <= > >= == !=                  chained: 0 < a <= b
//	|   ^   &   << >>                integers
//	+ -   * / // %                   / gives a float, // and % floor
//	-x +x ~x
//	**                               exact for integers with exponent >= 0
//
// Functions: abs, ceil, ceildiv(a, b), cos, erf, exp, float, floor, gcd(a, b),
// int, log, log2, max, min, next_pow2, round_up(a, multiple), sin, sqrt, tanh.
//
// A formula is parsed once, compiled against the names it may use, and
// evaluated many times:
//
//	expr, err := formula.Parse("ceildiv(S, BLOCK_M)")
//	program, err := expr.Compile([]string{"S", "BLOCK_M"})
//	value, err := program.Eval([]formula.Value{formula.Int(512), formula.Int(64)})
//
// Root is for callers that evaluate a formula in their own arithmetic.
//
// CompileReal is for the elements of data instead of sizes: it computes in float64
// alone, where infinities and NaN are results like others.
//
// Every error of this package is an *Error, which knows its place in the source. Parse finds syntax
// errors, Compile finds unknown names, and Eval finds all others. Eval also finds the errors in
// constant parts such as 1 // 0, because they may stand in a branch that is never taken.
package formula
