package ratchet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// writerFolder makes this test binary a writer of the baseline in that folder.
const writerFolder = "PAWL_TEST_WRITER"

// writer moves its own entry again and again and says so after each time, until it
// is killed.
func writer(dir string) int {
	s := Open(dir)
	config := os.Getenv(writerFolder + "_CONFIG")
	fmt.Println("ready")
	for i := 0; ; i++ {
		c := candidate(config, i, 1+rand.Float64())
		c.Row.Identity = fmt.Sprint(rand.Uint64())
		err := s.Update(context.Background(), class, func(f *File) error {
			if former := f.Entry("attention", config); former != nil {
				c = c.against(former, -0.1)
			}
			_, err := f.Move(c)
			if err == nil {
				i = len(f.Entry("attention", config).Moves)
			}
			return err
		})
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
		fmt.Println(i)
	}
}

// Two writers at a time are killed at any moment, a thousand in all. Afterwards every update that a
// writer reported is there, whole. Short tests kill 500: where a file is written in its place and not
// replaced, about one in 150 shows it.
func TestKilledWriters(t *testing.T) {
	kills := 1000
	if testing.Short() {
		kills = 500
	}
	const slots, rounds = 2, 10 // a round has its own folder, so that stories stay short
	program := writerProgram(t)
	for range kills / (slots * rounds) {
		s := Open(t.TempDir())
		var wait sync.WaitGroup
		for slot := range slots {
			wait.Go(func() {
				config := fmt.Sprintf("slot%d", slot)
				told := 0
				for range rounds {
					n, err := killOne(program, s.dir, config)
					if err != nil {
						t.Error(err)
						return
					}
					told = max(told, n)
					if err := inOrder(s, config, told); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wait.Wait()
		if t.Failed() {
			return
		}
	}
}

// writerProgram returns this test binary without the race detector, which takes longer to start than a
// writer takes to be killed, and sees nothing of other processes.
func writerProgram(t *testing.T) string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return os.Args[0]
	}
	program := filepath.Join(t.TempDir(), "writer")
	build := exec.Command("go", "test", "-c", "-race=false", "-vet=off", "-trimpath", "-ldflags=-s -w", "-o", program, ".") // as make unit compiles it
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Logf("writers have the race detector: %v\n%s", err, out)
		return os.Args[0]
	}
	return program
}

// killOne starts a writer, kills it a moment after its first output, and returns the last update it
// reported.
func killOne(program, dir, config string) (told int, err error) {
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), writerFolder+"="+dir, writerFolder+"_CONFIG="+config)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() { _ = cmd.Wait() }()
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || line != "ready\n" {
		_ = cmd.Process.Kill()
		return 0, fmt.Errorf("the writer said %q, %w", line, err)
	}
	time.Sleep(time.Duration(rand.Int64N(int64(8 * time.Millisecond))))
	if err := cmd.Process.Kill(); err != nil {
		return 0, err
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(rest)) {
		n, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return 0, fmt.Errorf("the writer said %q", line)
		}
		told = n
	}
	return told, nil
}

// inOrder makes sure that the baseline is whole and has at least this many moves.
func inOrder(s *Store, config string, told int) error {
	f, err := s.Load(class)
	if err != nil {
		return err
	}
	for _, name := range f.Names() {
		if _, err := f.Samples(f.Entries[name]); err != nil {
			return err
		}
	}
	moves := 0
	if e := f.Entry("attention", config); e != nil {
		moves = len(e.Moves)
	}
	if moves < told {
		return fmt.Errorf("%d moves are there, and the writer had told of %d", moves, told)
	}
	return nil
}
