package judge

// Mode is written as gofmt likes it, and gofumpt does not.
const Mode = 0644 // want "not formatted"
