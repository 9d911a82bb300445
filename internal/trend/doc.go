// Package trend says how fast a kernel has become over its commits, and at which of them its level moved.
//
// NewLine makes main's line of points in first-parent order: an index chained from duets, since medians of separate
// runs of the same code lie tens of percent apart. Detect finds the changes of level in any series. Causes says of a
// change in times whether the kernel or the machine made it, by the line and by a reference kernel. Words say what
// was found. docs/statistics.md has the method's reasons and its figures beside other programs'.
//
// All functions are pure. A series is in the order of its commits, never of a clock.
package trend
