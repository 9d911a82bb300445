// Package csource reads C, C++ and CUDA sources as far as that is possible without a compiler:
// tokens, the functions of a file, and their parameters' types.
//
// Read returns the tokens. Functions returns the functions found among them, with everything that a
// guess can use; Statements and ReadExpression read their bodies. FindPrototype returns the
// parameters of one function, only where the source leaves no doubt.
package csource
