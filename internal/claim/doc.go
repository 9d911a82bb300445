// Package claim judges a report that somebody else's job wrote. The report is untrusted data: it is
// read within limits, compared with what the base branch says, and its verdicts are computed again
// from its raw samples, by the functions that a check uses. What the report says against its author
// counts. What it says in its author's favour stays a claim.
//
// Read opens the file, the folder or the zip. Admit does everything, and needs no network and no GPU.
package claim
