package check

import (
	"slices"
	"strings"

	"pawl/internal/result"
	"pawl/internal/verify"
)

// comparedWithBase ends the limit of a row without an oracle.
const comparedWithBase = ": its answers were compared with the base version's, which are not verified"

// unverify takes back what comparisons with the base version say, because that version disagrees
// with itself: they neither accuse the candidate nor verify its answers.
func (s *state) unverify(why *verify.UnsteadyError) {
	v := s.verification
	v.Cases = slices.Clone(v.Cases)
	for i := range v.Cases { // an earlier stage has the same cases
		one := *v.Cases[i]
		one.Outputs, one.Reason, one.Skipped = nil, "", why.Error()
		v.Cases[i] = &one
	}
	v.Passed, v.Failed, v.Skipped = 0, 0, len(v.Cases)
	v.Limits = slices.DeleteFunc(slices.Clone(v.Limits), func(limit string) bool { return strings.HasSuffix(limit, comparedWithBase) })
	s.incorrect, s.unsteady = false, true
	code, allow := "unsteady", "a tolerance: that allows this much, with deterministic: false"
	if why.Bits { // a code of its own: rows of one code share a remedy
		code, allow = "unsteady-bits", "deterministic: false"
	}
	s.notes = append(s.notes, result.Warning{
		Code: code, Message: "its answers are not verified: " + why.Error() + "; there is no oracle to compare with instead",
		Hint: "give the kernel an oracle: in pawl.yaml, or " + allow + before + "; if it must not vary, it may have a data race: pawl fuzz --sanitize finds those on a GPU",
	})
}
