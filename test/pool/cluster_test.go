package pool

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// nodes is how many virtual nodes the cluster has.
const nodes = 4

// cluster is Slurm with its own munge, key, ports and folder.
type cluster struct {
	*site
	daemons map[string]*exec.Cmd // by name: slurmctld, n1, …
}

// plugins finds the folder of Slurm's plugins; "": there is none.
func plugins() string {
	found, _ := filepath.Glob("/usr/lib/*/slurm*/proctrack_linuxproc.so")
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[0])
}

// newCluster starts a cluster, or skips the test where that cannot be.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	for _, program := range []string{"slurmctld", "slurmd", "srun", "munged"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s here: tools/setup installs it on Debian-like systems", program)
		}
	}
	switch {
	case runtime.GOOS != "linux" || os.Getuid() != 0:
		t.Skip("slurmd needs root")
	case plugins() == "":
		t.Skip("Slurm's plugins are not where Debian has them")
	}
	c := &cluster{site: newSite(t), daemons: map[string]*exec.Cmd{}}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	key := make([]byte, 1024)
	_, _ = rand.Read(key)
	c.write("munge.key", string(key), 0o400)
	if err := os.Chmod(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"state", "locks"} {
		if err := os.Mkdir(filepath.Join(c.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ports := freePorts(t, nodes+1)
	conf := fmt.Sprintf(`ClusterName=pawl
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[3]d
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%[2]s/munge.sock
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/spool.%%n
SlurmctldPidFile=%[2]s/slurmctld.pid
SlurmdPidFile=%[2]s/slurmd.%%n.pid
SlurmctldLogFile=%[2]s/slurmctld.log
SlurmdLogFile=%[2]s/slurmd.%%n.log
PluginDir=%[4]s
PlugStackConfig=/dev/null
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
SelectType=select/linear
ReturnToService=2
SlurmdTimeout=10
KillWait=2
`, host, c.dir, ports[0], plugins())
	for n, port := range ports[1:] {
		conf += fmt.Sprintf("NodeName=n%d NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=1\n", n+1, host, port)
	}
	c.write("slurm.conf", conf+"PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n", 0o644)
	c.env = append(c.env, "SLURM_CONF="+filepath.Join(c.dir, "slurm.conf"))
	in := func(name string) string { return filepath.Join(c.dir, name) }
	c.daemon("munged", "munged", "--foreground", "--force", "--key-file="+in("munge.key"), "--socket="+in("munge.sock"),
		"--pid-file="+in("munged.pid"), "--log-file="+in("munged.log"), "--seed-file="+in("munged.seed"), "--num-threads=2")
	eventually(t, "munged listens", func() bool { _, err := os.Stat(in("munge.sock")); return err == nil })
	c.daemon("slurmctld", "slurmctld", "-D")
	for n := range nodes {
		c.slurmd(fmt.Sprintf("n%d", n+1))
	}
	c.idle()
	return c
}

// daemon starts a daemon in the foreground.
func (c *cluster) daemon(name string, words ...string) {
	c.t.Helper()
	cmd := c.command(words...)
	log, err := os.Create(filepath.Join(c.dir, name+".out"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.daemons[name] = cmd
	go func() { _ = cmd.Wait() }()
}

// slurmd starts a node.
func (c *cluster) slurmd(node string) { c.daemon(node, "slurmd", "-D", "-N", node) }

// idle waits until all nodes have nothing to do, and no job is left.
func (c *cluster) idle() {
	c.t.Helper()
	eventually(c.t, "all nodes are idle", func() bool {
		out, _ := c.command("sinfo", "-h", "-o", "%D %T").Output()
		jobs, err := c.command("squeue", "-h").Output()
		return strings.TrimSpace(string(out)) == strconv.Itoa(nodes)+" idle" && err == nil && len(jobs) == 0
	})
}

// pool returns the pool of the cluster, for a pawl.yaml.
func (c *cluster) pool(workers int) string {
	return fmt.Sprintf("  slurm: {launch: srun -u -n1 -J pawl-$RUN %s/worker, workers: %d, cleanup: \"sh -c 'echo $RUN >>%s/cleaned; exec scancel --name pawl-$RUN'\"}\n",
		c.dir, workers, c.dir)
}

// quiet checks that nothing of pawl runs any more, and no job.
func (c *cluster) quiet() {
	c.t.Helper()
	eventually(c.t, "no pawl is left", func() bool { return len(pawls(c.dir)) == 0 })
	c.idle()
}

func freePorts(t testing.TB, count int) []int {
	t.Helper()
	var ports []int
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
