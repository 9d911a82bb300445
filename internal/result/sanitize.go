package result

// SanitizerRun is the output of one tool of compute-sanitizer about a kernel's launches.
type SanitizerRun struct {
	Tool     string             `json:"tool"`               // memcheck, racecheck, initcheck, synccheck
	Cases    []string           `json:"cases,omitempty"`    // launched cases, in words
	Findings []SanitizerFinding `json:"findings,omitempty"` // each once
	Errors   int                `json:"errors"`             // as the tool counts them
	Skipped  string             `json:"skipped,omitempty"`  // why it says nothing, or not everything
	Raw      string             `json:"raw,omitempty"`      // its output, bounded, where it was not fully understood
	Sandbox  *Sandbox           `json:"sandbox,omitempty"`  // sandbox of the cell
	WallS    float64            `json:"wall_s,omitempty"`
}

// SanitizerFinding is an error or a warning of compute-sanitizer in device code.
type SanitizerFinding struct {
	Tool     string   `json:"tool"`
	Severity string   `json:"severity"` // error or warning
	Kind     string   `json:"kind"`     // in the tool's words: "Invalid __global__ write of size 4 bytes"
	Kernel   string   `json:"kernel,omitempty"`
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Thread   string   `json:"thread,omitempty"` // the first one: "(31,0,0)"
	Block    string   `json:"block,omitempty"`
	Note     string   `json:"note,omitempty"`   // about the address, or the other side of a race
	Frames   []string `json:"frames,omitempty"` // innermost first, where there are several
	Count    int      `json:"count"`            // how often, over all threads
}
