// Package ci brings pawl into pull requests. Init writes a forge's workflows. Scope reads from a
// diff whether there is anything to measure. Guard and Sweep are the hooks of a runner: which jobs
// may begin, and what a job leaves behind. Doctor reads a repository's settings. Verify judges a
// report that another job wrote. Post tells a forge what it came to: in a comment, in a check of
// the commit, and beside the source. Ratchet moves the baseline by what another job measured.
package ci
