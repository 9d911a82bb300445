package explain

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/diag"
	"pawl/internal/nsight"
)

// importTime is how long ncu may take to write a report as CSV.
const importTime = 2 * time.Minute

// reader writes a report as CSV by NVIDIA's package for Python.
//
//go:embed report.py
var reader string

// load reads a CSV file, or has a report written as one: by ncu, or by the package ncu-report.
func load(ctx context.Context, file string) ([]byte, error) {
	raw, err := open(file)
	if err != nil || !bytes.HasPrefix(raw, []byte("NVR\x00")) {
		return raw, err
	}
	ctx, cancel := context.WithTimeout(ctx, importTime)
	defer cancel()
	if ncu, err := nsight.Find(); err == nil {
		out, said := output(exec.CommandContext(ctx, ncu, "--import", file, "--csv", "--page", "raw", "--print-units", "base"))
		if said != "" {
			return nil, &diag.Problem{Pos: diag.Pos{File: file}, Message: "ncu --import: " + said, Hint: "a newer ncu reads reports of older ones, not the reverse"}
		}
		return out, nil
	}
	python, file, err := placed(cmp.Or(os.Getenv("PAWL_PYTHON"), "python3"), file)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, python, "-c", reader, file)
	command.Dir = "/" // Python imports what lies in its folder: in that of the caller, a stranger's files may lie
	out, said := output(command)
	switch {
	case said == "":
		return out, nil
	case !strings.Contains(said, "No module named 'ncu_report'") && !strings.Contains(said, "executable file not found"):
		return nil, &diag.Problem{Pos: diag.Pos{File: file}, Message: "ncu-report: " + said, Hint: "a newer ncu-report reads reports of older ncu, not the reverse"}
	}
	return nil, &diag.Problem{
		Pos: diag.Pos{File: file}, Message: "this is a report of Nsight Compute, and there is no ncu here to read it",
		Hint: "put ncu on PATH or name it in PAWL_NCU, or pip install ncu-report; or where it was made: ncu --import " + filepath.Base(file) + " --csv --page raw --print-units base > k.csv",
	}
}

// placed returns a program and a file by names that hold in every folder.
func placed(program, file string) (absProgram, absFile string, err error) {
	if found, err := exec.LookPath(program); err == nil { // where there is none, starting it says so
		program = found
	}
	if strings.ContainsRune(program, filepath.Separator) {
		if program, err = filepath.Abs(program); err != nil {
			return "", "", fmt.Errorf("find %s: %w", program, err)
		}
	}
	if file, err = filepath.Abs(file); err != nil {
		return "", "", fmt.Errorf("find %s: %w", file, err)
	}
	return program, file, nil
}

// output runs a program and returns what it wrote, or why it failed.
func output(command *exec.Cmd) (out []byte, failed string) {
	command.WaitDelay = time.Second
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Sprintf("%v: %s", err, lastLine(said.Bytes(), out))
	}
	return out, ""
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
