// Package trial chooses the problems that a kernel is tried at. It runs nothing.
//
// A Plan lists the trials of one variant: the matrix of pawl.yaml, or the kernel's
// configs, and beyond them shapes that no tile divides, other distributions of the
// inputs, small integers on which every honest kernel is exact, and special values
// where the file says what becomes of them. Plan.Resolve turns a trial into the
// problem that a cell is given, and Shrink makes one that fails smaller.
//
// A false alarm costs more than a trial that was not made, so a kernel is tried only at what its
// file says it is made for. Inputs with an init of their own keep it, sizes that never change in
// the file stay as they are, requirements are respected, and where a distribution makes a problem
// larger or harder the tolerance follows.
package trial
