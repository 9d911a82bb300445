// Command table prints how pawl's findings do on the planted kernels.
//
//	table FOLDER RECORDING
//
// FOLDER has key.csv and plan.txt, RECORDING what run.sh wrote on a GPU.
package main

import (
	"fmt"
	"os"

	"pawl/test/plants/score"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: table FOLDER RECORDING")
		os.Exit(2)
	}
	made, err := score.Plants(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
	fmt.Print(made)
}
