// Package ci brings pawl into pull requests. Init writes a forge's workflows. Scope reads from a
// diff whether there is anything to measure. Guard and Sweep are the hooks of a runner: which jobs
// may begin, and what a job leaves behind. Doctor reads a repository's settings.
package ci
