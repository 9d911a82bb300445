package verify

import (
	"cmp"
	"errors"
	"strings"

	"pawl/internal/result"
)

// OracleError says why an oracle does not answer; it says nothing of the candidate.
type OracleError struct {
	Err  error
	Who  string // the one that does not answer; "": the oracle
	Hint string // "": the hint of Err
}

func (e *OracleError) Error() string {
	text, who := e.Err.Error(), cmp.Or(e.Who, "the oracle")
	if own := e.own(); own != nil {
		text = strings.Replace(text, own.Message, asked(own.Message), 1)
	}
	if rest, itself := strings.CutPrefix(text, "the oracle "); itself {
		return who + " " + rest
	}
	return who + " does not answer: " + text
}

// Unwrap returns the oracle's own fault.
func (e *OracleError) Unwrap() error { return e.Err }

// Fault returns the row's fault.
func (e *OracleError) Fault() *result.Fault {
	hint := "fix the oracle, or name another in pawl.yaml"
	own := e.own()
	if own != nil && own.Cause == result.CauseExit && asked(own.Message) != own.Message {
		hint = "an oracle must return: exit() and abort() end its cell"
	} else if own != nil && own.Hint != "" {
		hint = own.Hint
	}
	return &result.Fault{Stage: "verify", Cause: result.CauseOracle, Message: e.Error(), Hint: cmp.Or(e.Hint, hint)}
}

func (e *OracleError) own() *result.Fault {
	own, _ := errors.AsType[*result.Fault](e.Err)
	return own
}

// asked rewrites a cell's message about the code in it for an oracle: cells do not know whose code
// they run.
func asked(message string) string {
	for _, subject := range []string{"the kernel ", "the function ", "candidate code "} {
		if rest, found := strings.CutPrefix(message, subject); found {
			return "it " + rest
		}
	}
	return message
}
