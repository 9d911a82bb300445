package explain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/diag"
)

// importTime is how long ncu may take to write a report as CSV.
const importTime = 2 * time.Minute

// load reads a CSV file, or has ncu write one of its report.
func load(ctx context.Context, file string) ([]byte, error) {
	raw, err := open(file)
	if err != nil || !bytes.HasPrefix(raw, []byte("NVR\x00")) {
		return raw, err
	}
	ncu, err := findNCU()
	if err != nil {
		return nil, &diag.Problem{
			Pos: diag.Pos{File: file}, Message: "this is a report of Nsight Compute, and there is no ncu here to read it",
			Hint: "put ncu on PATH or name it in PAWL_NCU; or where it was made: ncu --import " + filepath.Base(file) + " --csv --page raw --print-units base > k.csv",
		}
	}
	ctx, cancel := context.WithTimeout(ctx, importTime)
	defer cancel()
	command := exec.CommandContext(ctx, ncu, "--import", file, "--csv", "--page", "raw", "--print-units", "base")
	command.WaitDelay = time.Second
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return nil, &diag.Problem{Pos: diag.Pos{File: file}, Message: fmt.Sprintf("ncu --import: %v: %s", err, lastLine(out, said.Bytes())), Hint: "a newer ncu reads reports of older ones, not the reverse"}
	}
	return out, nil
}

// lastLine returns the last thing that ncu said.
func lastLine(outputs ...[]byte) string {
	for _, out := range outputs {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
			return last
		}
	}
	return "it said nothing"
}

// findNCU returns ncu: the one that PAWL_NCU names, the one on PATH, or that of the toolkit.
func findNCU() (string, error) {
	if named := os.Getenv("PAWL_NCU"); named != "" {
		return exec.LookPath(named)
	}
	if found, err := exec.LookPath("ncu"); err == nil {
		return found, nil
	}
	for _, root := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), "/usr/local/cuda"} {
		if root != "" {
			if found, err := exec.LookPath(filepath.Join(root, "bin", "ncu")); err == nil {
				return found, nil
			}
		}
	}
	return "", errors.New("no ncu")
}
