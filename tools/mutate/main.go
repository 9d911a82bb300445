// Mutate finds out which mistakes the tests of a package would notice. It makes a
// seeded sample of small changes to the package (mutants), runs the tests on each,
// and lists those that no test fails on.
//
// All mutants are compiled into one test binary, switched off. A run switches one of
// them on by writing its number into a copy of the binary, so that processes which
// the tests start from it, confined ones too, have the same mutant.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type options struct {
	pkg      string   // import path or ./folder of what is mutated
	also     []string // packages whose tests exercise it too
	confined []string // those of them that do so in confined processes
	seed     string
	count    int
	jobs     int
	results  string
	list     bool
	retry    bool
	only     []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	target, err := load(ctx, o.pkg)
	if err != nil {
		return err
	}
	sampled, err := target.sample(o.seed, o.count)
	if err != nil {
		return err
	}
	if o.list {
		for _, m := range sampled {
			fmt.Fprintf(out, "%d\t%s\n", m.line, m.key)
		}
		return nil
	}
	known, err := readResults(o.results)
	if err != nil {
		return err
	}
	arguments, err := readEquivalent(filepath.Join(target.Module.Dir, "tools/mutate/equivalent.txt"))
	if err != nil {
		return err
	}
	for key := range arguments {
		known[key] = outcome{Status: equivalent}
	}
	file, err := os.OpenFile(o.results, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()

	var todo []*mutant
	for _, m := range sampled {
		status := known[m.key].Status
		wanted := len(o.only) == 0 || slices.ContainsFunc(o.only, func(text string) bool { return strings.Contains(m.key, text) })
		if wanted && (status == "" || o.retry && status == survived) {
			todo = append(todo, m)
		}
	}
	if len(todo) > 0 {
		record := json.NewEncoder(file)
		err = try(ctx, target, sampled, todo, o, out, func(r outcome) error {
			known[r.Key] = r
			return record.Encode(r)
		})
		if err != nil {
			return err
		}
	}
	return summary(out, target, sampled, known)
}

func parse(args []string) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	list := func(into *[]string, name, usage string) {
		flags.Func(name, usage, func(text string) error {
			*into = strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
			return nil
		})
	}
	list(&o.also, "also", "comma-separated `packages` whose tests exercise the package too")
	list(&o.confined, "confined", "like -also; tests that run the package in confined processes, for mutants that no other test reaches")
	flags.StringVar(&o.seed, "seed", "1", "of the sample")
	flags.IntVar(&o.count, "count", 150, "mutants in the sample")
	flags.IntVar(&o.jobs, "jobs", 2, "mutants tried at once")
	flags.StringVar(&o.results, "results", "", "JSON lines, appended to; what is in it is not tried again")
	flags.BoolVar(&o.retry, "retry", false, "try those again that survived")
	flags.BoolVar(&o.list, "list", false, "list the sample and try nothing")
	list(&o.only, "only", "comma-separated `texts`: try only mutants whose line in the list has one of them")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() != 1 {
		return o, errors.New("name one package: mutate [flags] ./internal/judge")
	}
	o.pkg = flags.Arg(0)
	if o.results == "" {
		o.results = "mutate-" + strings.ReplaceAll(strings.Trim(o.pkg, "./"), "/", "-") + "-" + o.seed + ".jsonl"
	}
	return o, nil
}

// try builds the binaries, finds out which tests reach which mutants, and runs them.
func try(ctx context.Context, target *target, sampled, todo []*mutant, o options, out io.Writer, record func(outcome) error) error {
	folder, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	began := time.Now()
	overlay, err := target.writeOverlay(folder, sampled)
	if err != nil {
		return err
	}
	var suites []*suite
	for _, pkg := range slices.Concat([]string{o.pkg}, o.also, o.confined) {
		s, err := target.buildSuite(ctx, pkg, overlay)
		if err != nil {
			return err
		}
		s.confined = slices.Contains(o.confined, pkg)
		suites = append(suites, s)
	}
	fmt.Fprintf(out, "%d mutants in %d test binaries, built in %.0f s\n", len(sampled), len(suites), time.Since(began).Seconds())
	for _, s := range suites {
		began := time.Now()
		if err := s.survey(ctx, folder); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d tests, %.1f s\n", s.pkg, len(s.tests), time.Since(began).Seconds())
	}

	queue, outcomes := make(chan *mutant, len(todo)), make(chan outcome)
	for _, m := range todo {
		queue <- m
	}
	close(queue)
	for worker := range o.jobs {
		go func() {
			for m := range queue {
				outcomes <- kill(ctx, suites, m, filepath.Join(folder, fmt.Sprint("worker", worker)))
			}
		}()
	}
	for done := range todo {
		r := <-outcomes
		if err := cmp.Or(ctx.Err(), r.err); err != nil {
			return err
		}
		fmt.Fprintf(out, "%d/%d %s line %d, %s (%s, %.1f s)\n", done+1, len(todo), r.Status, r.Line, r.Key, r.By, r.Seconds)
		if err := record(r); err != nil {
			return err
		}
	}
	return nil
}

func readResults(path string) (map[string]outcome, error) {
	known := map[string]outcome{}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var r outcome
		if json.Unmarshal(line, &r) == nil { // the last line may have been cut off
			known[r.Key] = r
		}
	}
	return known, nil
}

// readEquivalent reads which mutants change nothing that anybody could notice, and
// why: lines of a mutant's key, a tab and the argument.
func readEquivalent(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, why, ok := strings.Cut(line, "\t")
		if !ok {
			return nil, fmt.Errorf("%s: no argument (after a tab) for: %s", path, key)
		}
		out[key] = strings.TrimSpace(why)
	}
	return out, nil
}

func summary(out io.Writer, t *target, sampled []*mutant, known map[string]outcome) error {
	count := map[string]int{}
	for _, m := range sampled {
		r := known[m.key]
		count[r.Status]++
		if r.Status == survived {
			fmt.Fprintf(out, "survived line %d, %s (%s)\n", m.line, m.key, r.By)
		}
	}
	rate := 100 * float64(count[killed]) / float64(max(1, count[killed]+count[survived]))
	_, err := fmt.Fprintf(out, "%s: %d mutants, %d equivalent, %d killed, %d survived, %d not tried: %.1f%% killed\n",
		t.ImportPath, len(sampled), count[equivalent], count[killed], count[survived], count[""], rate)
	return err
}
