package term

import "strings"

// ShellLine writes a command so that a shell reads it back as it was.
func ShellLine(words ...string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./:,@%"
	var out []string
	for _, word := range words {
		if word == "" || strings.Trim(word, plain) != "" {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}
