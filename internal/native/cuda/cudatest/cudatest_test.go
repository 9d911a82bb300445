package cudatest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"pawl/internal/native/cuda/cudatest"
)

func TestNeedGivesADevice(t *testing.T) {
	driver, device := cudatest.Need(t)
	if name, err := device.Name(); name == "" || err != nil {
		t.Errorf("name %q, %v", name, err)
	}
	if err := driver.Synchronize(); err != nil {
		t.Error(err)
	}
}

func TestMissing(t *testing.T) {
	if os.Getenv("PAWL_CUDATEST_CHILD") == "1" {
		cudatest.Missing(t, "nothing here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for require, want := range map[string]string{"": "SKIP", "1": "FAIL"} {
		child := exec.Command(self, "-test.run=^TestMissing$", "-test.v")
		child.Env = append(os.Environ(), "PAWL_CUDATEST_CHILD=1", "PAWL_REQUIRE_GPU="+require)
		out, _ := child.CombinedOutput() // its exit code follows the verdict in the text
		if !strings.Contains(string(out), "--- "+want) || !strings.Contains(string(out), "nothing here") {
			t.Errorf("PAWL_REQUIRE_GPU=%q: want %s\n%s", require, want, out)
		}
	}
}
