package build

// runtimeHeaders are C headers that kernels include although CUDA already has what they need, and
// which NVRTC does not find, because it has no host compiler.
var runtimeHeaders = map[string]string{
	"cuda.h":   driverTypes,
	"stdint.h": integerTypes, "cstdint": "#include <stdint.h>\n" + integerNames,
	"stddef.h": "", "cstddef": "namespace std { using ::size_t; using ::ptrdiff_t; }\n",
	"limits.h": integerLimits, "climits": integerLimits,
	"float.h": floatLimits, "cfloat": floatLimits,
	"assert.h": "", "cassert": "",
	"math.h": "", "stdbool.h": "",
	"stdio.h": "", "cstdio": "",
	"stdlib.h": "", "cstdlib": "",
	"string.h": "", "cstring": "",
}

// integerTypes uses those of CUDA's C++ library where it is installed: it also defines them in the
// global namespace, and a second definition would be an error.
const integerTypes = `#pragma once
#if __has_include(<cuda/std/cstdint>)
#include <cuda/std/cstdint>
#else
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
#endif
`

const integerLimits = `#pragma once
#if __has_include(<cuda/std/climits>)
#include <cuda/std/climits>
#else
#define CHAR_BIT 8
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffffu
#define LLONG_MAX 0x7fffffffffffffffll
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 0xffffffffffffffffull
#endif
`

const floatLimits = `#pragma once
#define FLT_MAX 0x1.fffffep+127f
#define FLT_MIN 0x1p-126f
#define FLT_EPSILON 0x1p-23f
#define DBL_MAX 0x1.fffffffffffffp+1023
#define DBL_MIN 0x1p-1022
#define DBL_EPSILON 0x1p-52
`

// driverTypes is the part of cuda.h that device code needs. The file itself declares only host
// functions, which NVRTC refuses.
const driverTypes = `#pragma once
#define CUDA_VERSION (__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)
typedef struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; } CUtensorMap;
`

const integerNames = `namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using ::intptr_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::uintptr_t;
}
`
