package cudafake_test

import (
	"testing"

	"pawl/internal/native/cuda"
	"pawl/internal/native/cuda/cudafake"
)

func TestMain(m *testing.M) {
	cudafake.Install()
	m.Run()
}

func TestX(t *testing.T) {
	f := cudafake.Need(t)
	d, err := cuda.Open()
	if err != nil {
		t.Fatal(err)
	}
	n, err := d.DeviceCount()
	t.Log(n, err, f.Calls())
}
