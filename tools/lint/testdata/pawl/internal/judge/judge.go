// Package judge breaks the rules of code.
package judge

import (
	"errors"
	"fmt"
	"hash"
	"log"
	"os"
	"strings"
)

var errGone = errors.New("gone")

type digest struct{ hash.Hash }

// Errors are looked at, wrapped ones too.
func Errors(d digest, f *os.File) error {
	os.Chdir("x")       // want "nobody looks at the error of os.Chdir"
	defer os.Chdir("y") // want "nobody looks at the error of os.Chdir"
	defer f.Close()
	d.Write(nil)
	err := os.Chdir("z")
	if err == errGone { // want "errorlint"
		return fmt.Errorf("%d", "no number") // want "govet printf" "SA5009"
	}
	return fmt.Errorf("wrap: %v", err) // want "errorlint"
}

// Streams belong to the faces.
func Streams() {
	fmt.Println("x")            // want "fmt.Println is for the faces"
	log.Printf("x")             // want "log.Printf is for the faces"
	fmt.Fprintln(os.Stderr)     // want "os.Stderr is for the faces"
	fmt.Fprintln(os.Stdout)     //nolint:forbidden // a reason
	os.Exit(1)                  /* want "os.Exit is for the faces" "names its linter and its reason" */ //nolint
	_ = os.Getenv("x")          /* want "forbidden finds nothing here" */                               //nolint:forbidden // needless
	_ = os.Getenv("x")          /* want "no linter is called forbid" */                                 //nolint:forbid // unknown
	_, _ = fmt.Fprint(os.Stdin) /* want "os.Stdin is for" "names its linter and its reason" */          //nolint:forbidden
}

// Values are read, and code is reached and plain.
func Values(yes bool) int {
	x := 1 // want "ineffassign"
	x = 2
	if yes == true { // want "S1002"
		return x
	}
	strings.NewReplacer("one")     // want "SA5012"
	return len(strings.Title("x")) // want "SA1019"
}

func unreached() {} // want "func unreached is unused"
