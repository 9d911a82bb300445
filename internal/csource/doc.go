// Package csource reads C, C++ and CUDA sources as far as that is possible without
// a compiler: tokens, the functions of a file, and their parameters' types.
//
// Read gives the tokens, Functions the functions found among them with all that a
// guess can be made of, and FindPrototype the parameters of one function, only
// where the source leaves no doubt.
package csource
