// Package nowhere has no rule.
package nowhere // want "internal/nowhere is on no floor"
