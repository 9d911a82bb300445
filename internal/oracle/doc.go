// Package oracle generates the inputs of a kernel.
//
// Inputs never travel between processes or machines. A seed does, and the generator makes the same
// bits from it in Go, CUDA and Python. The text below defines the generator; testdata/generate.py
// is the same in plain Python, and testdata/golden.json holds values that any implementation must
// reproduce.
//
// # Draws
//
// All integer arithmetic is on unsigned 64-bit numbers, modulo 2⁶⁴, and
// G = 0x9e3779b97f4a7c15.
//
//	mix(z):      z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
//	             z = (z ^ z>>27) * 0x94d049bb133111eb
//	             z ^ z>>31
//	draw(k, n) = mix(k + (n+1)*G)
//
// so that draw(k, n) is output n of SplitMix64 (Steele, Lea, Flood, 2014)
// started at k, found without the ones before it. A buffer is the argument
// number arg (from 0) of a kernel, filled for batch number batch (from 0); its
// key is
//
//	key = draw(draw(draw(seed, 0), arg), batch)
//
// Element i of a fill that needs d draws uses draw(key, d*i) … draw(key, d*i+d-1).
//
// # Arithmetic
//
// float32 for every floating-point type but f64, float64 for f64; below, "real"
// is that type. Each operation rounds to nearest even by itself: a
// multiplication and an addition are never fused (CUDA: __fmul_rn, __fadd_rn).
// The arguments of a fill are rounded to real first. The result, where the type
// is narrower than float32, is then converted as package dtype says.
//
// # Fills
//
// uniform(low, high), floating-point types, one draw u:
//
//	width = high - low                          (in real, once)
//	x     = real(u >> 40) * 2⁻²⁴                (f64: real(u >> 11) * 2⁻⁵³; both exact)
//	value = width*x + low
//
// The value is never above high, and equals it only by rounding.
//
// normal(mean, std), floating-point types. The sum of eight uniform integers
// (Irwin and Hall's distribution), which is exact and needs no logarithm that
// machines would disagree on:
//
//	sum   = of the four 16-bit fields of each of two draws, less 262140
//	        (f64: of the two 32-bit fields of each of four draws, less 4*(2³²-1))
//	z     = real(sum) * scale                   (real(sum) is exact)
//	value = z*std + mean
//
// scale makes the variance of z one: float32 0x1.3988e2p-16 (bits 379cc471), and
// float64 0x1.3988e1409212ep-32 (bits 3df3988e1409212e). No value is farther
// than 4.9 std from the mean.
//
// integers(low, high), every type, both ends included, one draw u:
//
//	value = low + upper 64 bits of the 128-bit product u * (high - low + 1)
//
// as a 64-bit integer, then converted: integer types take it as it is, floating-
// point types round it to real. Bounds are whole numbers of at most 2⁵³.
//
// constant(v), every type: v, rounded to real for floating-point types.
//
// zero, every type: all bits zero.
//
// iota, every type: i modulo 2ᵇ, where b is the number of bits of the whole
// numbers that the type holds without a gap (dtype.Type.Integers), so that every
// value is exact.
//
// Three fills of floating-point types are for closer inspection. They show what a kernel makes of
// equal rows, of channels with outliers, and of special values such as NaN.
//
// rows(mean, std, width): element i is element i/width of normal(mean, std), so
// that a row of width elements has one value.
//
// outliers(mean, std, width, factor): normal(mean, std), multiplied by factor
// (which rounds once more) in every column i mod width for which
//
//	column mod 16 = draw(key, 2⁶⁴-1) mod 16
//
// specials(mean, std, every): normal(mean, std), but where the draw
// u = draw(mix(key), i) is a multiple of every, the element is number
// (u/every) mod 6 of: NaN (quiet, positive, no payload), +∞, -∞, -0, the smallest
// positive number of the type, its greatest finite one. E4M3 has no infinities and
// takes ±448 for them.
//
// # Changes
//
// Mutate changes a few elements of a buffer that has been filled, in steps counted
// from 1, so that equal addresses do not mean equal contents. Step s makes eight
// changes, n = 8*s … 8*s+7, in this order, to a buffer of count elements:
//
//	place = upper 64 bits of the 128-bit product draw(mix(key+1), n) * count
//	value = element count + n of the same fill
//
// which continues the fill past its end, and so has its distribution; rows, outliers and specials
// take the values of normal(mean, std). Buffers filled by constant, zero and iota stay as they are.
package oracle
