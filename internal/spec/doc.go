// Package spec reads pawl.yaml: the kernels under test, the problem sizes they
// run at, and the thresholds they are judged by.
//
// Parse and Load turn the file into a fully checked Spec, or into an error that holds every problem
// found, each with its place in the file. A Spec is then resolved in two steps: Kernel.Variants
// gives every param a value (a variant is what gets compiled), and Variant.At evaluates all
// formulas at one config (an instance is what gets launched):
//
//	s, err := spec.Load("pawl.yaml")
//	selections, err := s.Select([]string{"attention/training_*"})
//	for _, sel := range selections {
//		for variant := range sel.Kernel.Variants() {
//			instance, err := variant.At(sel.Configs[0])
//		}
//	}
//
// Schema is the same knowledge for editors.
package spec
