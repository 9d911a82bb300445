// Package ratchet keeps the baseline: for each device class, kernel and config the best-known
// version, with the numbers it had when it became the best. It decides when a result may replace
// that version, and notices when somebody else has replaced it.
//
// A class has two files under .pawl/baseline, both meant for git: <class>.json, laid out so that
// diffs are readable, and <class>.samples.zst with the samples behind the numbers. Only
// Store.Update writes them, under a lock, and each file atomically.
//
// An entry records all its moves. Each move has its cause, who made it, how much faster or slower
// the new version was than the one before (measured side by side: medians of separate runs say
// nothing about that) and a checksum that includes the checksum before it. So the file carries its
// own history, and Audit can compare it with git's: the moves that are there now must continue
// those that were there before, whatever was squashed or merged between. The checksums find edits
// and accidents. They are no signature: whoever sets out to forge a whole move can do so.
package ratchet
