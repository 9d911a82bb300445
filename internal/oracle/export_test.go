package oracle

// Shrink makes references work in smaller pieces until the function it returns is
// called.
func Shrink(sharing, holding int) (restore func()) {
	before, held := shared, private
	shared, private = sharing, holding
	return func() { shared, private = before, held }
}
