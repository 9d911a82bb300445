package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"pawl/internal/diag"
)

// Parse reads the text of a pawl.yaml. File is only the name under which
// errors and Spec.File speak of it; nothing on disk is touched. The error holds
// all problems found, as diag.Errors.
func Parse(file string, source []byte) (*Spec, error) {
	var problems diag.List
	root, todos := readYAML(file, source, &problems)
	sum := sha256.Sum256(source)
	source = bytes.TrimPrefix(source, byteOrderMark)
	s := &specDraft{Spec: &Spec{
		File:   file,
		Dir:    filepath.Dir(file),
		SHA256: hex.EncodeToString(sum[:]),
		Gate:   DefaultGate,
		TODOs:  todos,
	}}
	if root == nil {
		if problems.Len() == 0 {
			problems.Addf(diag.Pos{File: file, Line: 1, Column: 1}, "the file is empty").Hint = "pawl init writes a first one"
		}
		return nil, report(&problems, source)
	}
	d := &decoder{problems: &problems}
	if root.kind != mappingKind {
		d.expect(root, "a mapping with version, kernels and configs")
		return nil, report(&problems, source)
	}
	if !d.version(root) {
		return nil, report(&problems, source)
	}
	keys := readKeys(d, root, "pawl.yaml", specKeys, map[string]string{
		"kernel": "did you mean kernels?", "config": "did you mean configs?",
	}, s)
	if keys.lacks("kernels") {
		d.problems.Addf(root.pos, "kernels is missing").Hint = "add the kernels to test: kernels: {name: {source: …, entry: …, args: …}}"
	}
	for _, k := range s.Kernels {
		k.source = source
	}
	s.placeTODOs(root)
	d.check(s)
	if err := report(&problems, source); err != nil {
		return nil, err
	}
	return s.Spec, nil
}

// report returns the error of all problems, cut where nobody would read on.
func report(problems *diag.List, source []byte) error {
	err := problems.Err(source)
	list := diag.Problems(err)
	if len(list) <= maxProblems {
		return err
	}
	rest := list[maxProblems]
	more := &diag.Problem{Pos: rest.Pos, Message: fmt.Sprintf("%d more problems from here on", len(list)-maxProblems)}
	return diag.Errors(append(list[:maxProblems:maxProblems], more))
}
