package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pawl/internal/diag"
)

// explain says what failed, where, and what to do. No password is in it, whatever a driver writes.
func (db *DB) explain(doing string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*diag.Problem](err); ok {
		return err
	}
	text := err.Error()
	for _, secret := range db.secrets {
		text = strings.ReplaceAll(text, secret, "…")
	}
	hint := ""
	if newer, ok := errors.AsType[*newerError](err); ok {
		hint = fmt.Sprintf("use a pawl that knows version %d of the history, or move the history away", newer.have)
	} else if errors.Is(err, errForeign) {
		hint = "name a database of its own for the history"
	} else {
		hint = db.dialect.remedy(db, err)
	}
	return &diag.Problem{Message: fmt.Sprintf("%s (%s): %s", doing, db.where, text), Hint: hint}
}
