package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/diag"
	"pawl/internal/disk"
	"pawl/internal/draft"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

type initOptions struct {
	schema bool
	force  bool
	space  string
}

func (o *initOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.schema, "schema", false, "print the JSON Schema of pawl.yaml, for editors, and do nothing else")
	f.StringVar(&o.space, "space", "", "take params and constraints from this description of a tuning space (T1 format)")
	f.BoolVar(&o.force, "force", false, "replace a pawl.yaml that is already there")
}

func newInit(e *env) *cobra.Command {
	opts := &initOptions{}
	return withFlags(&cobra.Command{
		Use: "init [file or folder…]", Short: "draft a pawl.yaml from the kernels found here", GroupID: groupDaily,
		Long: `init looks for .cu, .c and .cpp files (here, or where told), reads the signatures
of their kernels, how the host code launches them and what they read and write,
and writes a commented pawl.yaml. Its guesses are marked TODO: pawl bench works
at once, pawl check once no TODO is left.`,
		RunE: func(_ *cobra.Command, args []string) error { return runInit(e, opts, args) },
	}, opts)
}

const specName = "pawl.yaml"

func runInit(e *env, opts *initOptions, args []string) error {
	if opts.schema {
		_, err := e.stdout.Write(spec.Schema())
		return err
	}
	if _, err := os.Stat(specName); err == nil && !opts.force {
		return fmt.Errorf("%s is already here (--force replaces it)", specName)
	}
	if len(args) == 0 {
		args = []string{"."}
	}
	files, err := findSources(args)
	if err != nil {
		return err
	}
	var entries []draft.Entry
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		entries = append(entries, draft.Find(file, source, include(file))...)
	}
	if len(entries) == 0 {
		return fmt.Errorf("no kernels in %s: expected __global__ functions, or C functions with a pointer to numbers among their parameters (or a pointer to char that they write to, with a size)", unit.Few(files, 5))
	}
	if opts.space != "" {
		notes, err := draft.Describe(entries, opts.space)
		for _, note := range notes {
			e.warn("%s: %s", opts.space, note)
		}
		if err != nil {
			return err
		}
	}
	text := draft.Write(entries)
	if err := disk.Write(specName, text); err != nil {
		return err
	}
	wrote := fmt.Sprintf("wrote %s with %s: %s", specName, unit.Plural(len(entries), "kernel", "kernels"), unit.Few(draft.Names(entries), 5))
	if len(wrote) > 80 {
		wrote = strings.NewReplacer(": ", ":\n  ", ", ", ",\n  ").Replace(wrote)
	}
	fmt.Fprintln(e.stdout, wrote)
	if guesses := strings.Count(string(text), "# TODO"); guesses > 0 {
		fmt.Fprintf(e.stdout, "%s marked TODO; check each, then delete its comment\n", unit.Plural(guesses, "guess is", "guesses are"))
	}
	fmt.Fprintf(e.stdout, "next: pawl bench\n")
	return nil
}

// most is the largest number of source files in a draft; a larger tree needs a hint where to look.
const most = 64

var sourceEndings = []string{".cu", ".c", ".cc", ".cpp", ".cxx"}

// findSources lists the source files named, or below the folders named.
func findSources(roots []string) ([]string, error) {
	var files []string
	python := false
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil && path == root:
				return err
			case err != nil:
				return nil // an unreadable folder somewhere below is ignored
			case entry.IsDir() && path != root && skipped(entry.Name()):
				return fs.SkipDir
			case entry.Type().IsRegular() && slices.Contains(sourceEndings, filepath.Ext(path)):
				files = append(files, filepath.ToSlash(filepath.Clean(path)))
			case entry.Type().IsRegular() && filepath.Ext(path) == ".py":
				python = true
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("look for kernels: %w", err)
		}
	}
	slices.Sort(files)
	files = slices.Compact(files)
	switch {
	case len(files) == 0 && python:
		return nil, &diag.Problem{
			Message: "init drafts kernels of C, C++ and CUDA, and there are only Python files here",
			Hint:    "describe Python functions by hand (docs/python.md); a complete pawl.yaml:\n\n" + draft.PythonExample,
		}
	case len(files) == 0:
		return nil, fmt.Errorf("no kernels found: expected files ending in %s", strings.Join(sourceEndings, ", "))
	case len(files) > most:
		return nil, errors.New("more than 64 source files here: name the ones with kernels, such as pawl init kernels/*.cu")
	}
	return files, nil
}

var skippedFolders = []string{"build", "node_modules", "vendor", "third_party", "testdata"}

func skipped(folder string) bool {
	return slices.Contains(skippedFolders, folder) || strings.HasPrefix(folder, ".")
}

// include returns what reads the headers beside a source.
func include(file string) func(string) []byte {
	return func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), name))
		if err != nil || len(text) > 1<<20 {
			return nil
		}
		return text
	}
}
