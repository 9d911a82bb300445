// Package ratchet keeps the baseline: for each device class, kernel and config
// the best-known version, with the numbers it had when it became that. It decides
// when a result may take its place and finds out when somebody else has decided so.
//
// A class has two files under .pawl/baseline, both meant for git: <class>.json, laid
// out so that diffs can be read, and <class>.samples.zst with the samples behind the
// numbers. Only Store.Update writes them, under a lock, each whole or not at all.
//
// An entry carries all its moves, each with its cause, who made it, how much faster or
// slower the new version was than the one before (measured side by side: medians of
// separate runs say nothing about that) and a checksum that includes the one before.
// So the file tells its own story, and Audit can hold it against git's: what is there
// now must go on from what was there before, whatever was squashed or merged between.
// The checksums find edits and accidents. They are no signature: who means to forge a
// whole move can.
package ratchet
