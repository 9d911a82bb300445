package term

// Style colours text. Its zero value leaves text as it is.
type Style struct {
	Color bool // write escape sequences
}

// Bold makes text stand out.
func (s Style) Bold(text string) string { return s.wrap("1", text) }

// Dim makes text stand back.
func (s Style) Dim(text string) string { return s.wrap("2", text) }

// Red is for what is wrong.
func (s Style) Red(text string) string { return s.wrap("31", text) }

// Green is for what is good.
func (s Style) Green(text string) string { return s.wrap("32", text) }

// Yellow is for doubts.
func (s Style) Yellow(text string) string { return s.wrap("33", text) }

func (s Style) wrap(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
