/* vexp(x): e to the x for x up to 88, within 2 units in the last place; 0 where
   the result would be below the normal numbers; NaN stays NaN.

   A call of the C library's expf for each element keeps a loop from being
   vectorised. This one has no call, no table and no branch. */
#ifndef VEXP_H
#define VEXP_H

#include <stdint.h>

static inline float vexp(float x) {
  const float lowest = -87.33654f; /* ln of the smallest normal number */
  const float rounder = 0x1.8p23f; /* has no bits below 1, so adding it rounds */
  union { float value; uint32_t bits; } shifted, power;

  const float bounded = x < lowest ? lowest : x;
  shifted.value = bounded * 1.44269502f + rounder;
  const float n = shifted.value - rounder;

  /* e^x = 2^n * e^r with |r| <= ln(2)/2. ln(2) comes in two parts, the first of
     so few bits that n times it is exact. */
  const float r = (bounded - n * 0.693145752f) - n * 1.42860677e-6f;
  float p = 1.38146128e-3f; /* minimax for the relative error, on that range */
  p = p * r + 8.36871006e-3f;
  p = p * r + 4.16683890e-2f;
  p = p * r + 1.66665211e-1f;
  p = p * r + 4.99999940e-1f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;

  /* n stands in the low bits of shifted; in the exponent field it makes 2^n. */
  power.bits = (shifted.bits << 23) + 0x3f800000u;
  return x < lowest ? 0.0f : p * power.value;
}

#endif
