package system

import (
	"strings"
	"testing"
)

// What pawl build compiles on a machine with a GPU is what its bench needs; other
// architectures are compiled where they are named.
func TestCUDABuild(t *testing.T) {
	t.Parallel()
	p := newCUDAProject(t, cudaKernel("one", "scale"))
	p.env = append(p.env, "XDG_CACHE_HOME="+t.TempDir()) // others compile the same
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "1 variant: 1 compiled, 0 from the cache, 0 failed"},
		{nil, "1 variant: 0 compiled, 1 from the cache, 0 failed"},
		{[]string{"--arch", "sm_80,sm_86"}, "2 variants: 2 compiled, 0 from the cache, 0 failed"},
		{[]string{"--arch", "sm_86"}, "1 variant: 0 compiled, 1 from the cache, 0 failed"},
	} {
		got := p.run(append([]string{"build"}, test.args...)...)
		if got.code != 0 || !strings.Contains(got.stdout, test.want) {
			t.Errorf("pawl build %v: exit %d\n%s%s", test.args, got.code, got.stdout, got.stderr)
		}
	}
	report, _ := p.bench()
	if row := rowOf(t, report, "one"); row.Fault != nil || row.Build == nil || !row.Build.Cached {
		t.Errorf("bench had to compile: %+v, %+v", row.Fault, row.Build)
	}
}
