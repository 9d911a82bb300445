package cell

import (
	"os"
	"testing"

	"pawl/internal/native/cuda/cudafake"
)

// Where the machine has no driver, the tests with a GPU run on the fake one.
func TestMain(m *testing.M) {
	cudafake.Install()
	os.Exit(m.Run())
}
