package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/diag"
	"pawl/internal/disk"
	"pawl/internal/explain"
	"pawl/internal/report"
	"pawl/internal/report/render"
	"pawl/internal/sheet"
	"pawl/internal/spec"
)

const profileHelp = `profile says why kernels take the time they take, from what Nsight Compute wrote:
how busy each part of the GPU was, what warps waited for, how memory was accessed,
what limits occupancy, and what to do about it, the most promising first.

FILE is CSV of ncu (--csv with --page raw or details, of any version), or its .ncu-rep
where ncu (PAWL_NCU) or the Python package ncu-report is there to read it. Launches of one kernel at one
size are repeats; medians are shown.

A finding names its evidence and an upper bound on what removing the cause can gain.
Bounds are never summed. Counters that the file does not have are named: a missing
reading is not taken for zero.

--diff compares two versions of a kernel: the counters that moved further than repeats
of one version differ, the most telling first, and the cause in one sentence. Profile
each version three times or more: --launch-count 3. --sass and --sass-after add the
instructions, as cuobjdump -sass or nvdisasm list them.

The findings of your own pawl.yaml, here or in a folder above, are judged by too; -v says so.
Nothing else of that file matters here.

Profiles explain; they never decide a verdict. Profiling slows kernels down, flushes
caches and may hold the clock.`

// profileEndings are the file endings a profile can be written as.
var profileEndings = []string{".json", ".md", ".html", ".csv", ".svg", ".png"}

// profileOptions say what is wanted of profiles.
type profileOptions struct {
	explain.Options
	diff, json, verbose, dark bool
	files                     []string
	file                      string // pawl.yaml
}

func (o *profileOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.diff, "diff", false, "compare two files: the version before, the version after")
	f.StringVar(&o.Kernel, "kernel", "", "only kernels with this name, without arguments; globs allowed")
	f.StringVar(&o.SASS, "sass", "", "machine code of the kernels, as cuobjdump -sass or nvdisasm list it")
	f.StringVar(&o.After, "sass-after", "", "with --diff: the machine code of the version after")
	f.BoolVar(&o.json, "json", false, "print the answer as JSON")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show all findings and remarks, of all kernels")
	f.BoolVar(&o.dark, "dark", false, "draw pictures on dark ground")
	addFileFlag(f, &o.file)
	f.StringArrayVarP(&o.files, "output", "o", nil, "also write it to this file: "+strings.Join(profileEndings, " ")+" (may be repeated)")
}

func newProfile(e *env) *cobra.Command {
	opts := &profileOptions{}
	return withFlags(&cobra.Command{
		Use: "profile FILE | --diff BEFORE AFTER", Short: "say why a kernel takes its time, from what a profiler wrote", GroupID: groupDaily, Long: profileHelp,
		Example: "  ncu --set full --csv --page raw ./app > k.csv; pawl profile k.csv\n  pawl profile k.csv --kernel 'attention*' -o why.png\n  pawl profile --diff old.csv new.csv --sass old.sass --sass-after new.sass",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case opts.diff && len(args) != 2:
				return usage("profile --diff takes two files, before and after; got %d", len(args))
			case !opts.diff && len(args) != 1:
				return usage("profile takes one file of ncu; got %d (two are compared with --diff)", len(args))
			case !opts.diff && opts.After != "":
				return usage("--sass-after goes with --diff")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runProfile(cmd.Context(), e, opts, args) },
	}, opts)
}

func runProfile(ctx context.Context, e *env, opts *profileOptions, files []string) error {
	outputs := slices.DeleteFunc(slices.Clone(opts.files), func(file string) bool { return file == "" })
	for _, file := range outputs {
		if ending := report.Ending(file); !slices.Contains(profileEndings, ending) {
			return usage("-o %s: %q is not a format of profiles (%s)", file, ending, diag.Meant(ending, profileEndings))
		}
	}
	opts.Tool = version
	var answer *explain.Answer
	var err error
	if opts.Spec, err = ownFindings(opts.file); err != nil {
		return err
	}
	if opts.diff {
		answer, err = explain.Compare(ctx, files[0], files[1], opts.Options)
	} else {
		answer, err = explain.File(ctx, files[0], opts.Options)
	}
	if err != nil {
		return err
	}
	for _, file := range outputs {
		if err := opts.write(file, answer); err != nil {
			return err
		}
	}
	if opts.json {
		return printJSON(e, answer)
	}
	return render.Text(e.stdout, answer.View(opts.verbose), render.TextOptions{Style: e.style(), Width: e.width(), Verbose: opts.verbose})
}

// ownFindings reads the findings of a pawl.yaml: of the one that is named, or of the one that other commands
// find. Without one, or with none in it, there are none.
func ownFindings(file string) (*spec.Spec, error) {
	if file == "" {
		found, err := spec.Find(".")
		if err != nil {
			return nil, nil // a profile is explained without a project, too
		}
		return spec.LoadFindings(relative(found))
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, &diag.Problem{Message: fmt.Sprintf("-f %s: no such file", file), Hint: "without -f it is pawl.yaml, here or in a folder above, if there is one"}
	}
	return spec.LoadFindings(file)
}

// write writes the answer in the form that the file's ending names.
func (o *profileOptions) write(file string, answer *explain.Answer) error {
	var data []byte
	var err error
	switch report.Ending(file) {
	case ".json":
		data, err = json.MarshalIndent(answer, "", "  ")
		data = append(data, '\n')
	case ".md":
		data = []byte(render.Markdown(answer.View(true)))
	case ".html":
		data, err = render.HTML(answer.View(true))
	case ".csv":
		data, err = render.CSV(answer.View(true))
	case ".svg":
		theme := sheet.Auto
		if o.dark {
			theme = sheet.Dark
		}
		var text string
		text, err = answer.Sheet().SVG(theme)
		data = []byte(text)
	case ".png":
		theme := sheet.Light
		if o.dark {
			theme = sheet.Dark
		}
		var b bytes.Buffer
		err = answer.Sheet().PNG(&b, theme)
		data = b.Bytes()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return disk.Write(file, data)
}
