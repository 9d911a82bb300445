package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/ci"
)

// releases is the address of the file that users install, set by the linker of a release.
var releases = ""

type ciInitOptions struct{ ci.InitOptions }

func (o *ciInitOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Runner, "runner", "gpu", "label of the runner that measures; ubuntu-latest measures on the forge's own CPUs")
	f.StringVar(&o.Branch, "default-branch", "main", "the branch that holds the baseline")
	f.StringVar(&o.URL, "url", releases, "the pawl that runners install")
	f.StringVar(&o.SHA256, "sha256", "", "the checksum of that file (default: that of this pawl)")
	f.BoolVar(&o.Force, "force", false, "replace files that somebody else wrote or edited")
}

func newCIInit(e *env) *cobra.Command {
	opts := &ciInitOptions{}
	return withFlags(&cobra.Command{
		Use: "init " + strings.Join(ci.Forges, "|"), Short: "write the workflows that measure pull requests", Args: cobra.ExactArgs(1),
		Long: `init writes workflows that measure every pull request, post the result and move the
baseline, and says what else must be set up. It never replaces a file that it did not write.`,
		Example: "  pawl ci init github --runner gpu\n  pawl ci init github --runner ubuntu-latest",
		RunE:    func(cmd *cobra.Command, args []string) error { return runCIInit(cmd.Context(), e, opts, args[0]) },
	}, opts)
}

func runCIInit(ctx context.Context, e *env, opts *ciInitOptions, forge string) error {
	opts.Forge, opts.Dir, opts.Version = forge, ".", version
	if opts.SHA256 == "" {
		sum, err := ownSum()
		if err != nil {
			return fmt.Errorf("read this pawl's own checksum: %w (name one with --sha256)", err)
		}
		opts.SHA256 = sum
	}
	files, err := ci.Init(ctx, opts.InitOptions)
	if err != nil {
		return err
	}
	for _, file := range files {
		fmt.Fprintf(e.stdout, "wrote %s\n", file)
	}
	fmt.Fprintf(e.stdout, "\nnext:\n")
	for i, step := range ci.Next(opts.InitOptions) {
		e.print("  %d. %s\n", i+1, step)
	}
	return nil
}

func ownSum() (string, error) {
	file, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return fmt.Sprintf("%x", hash.Sum(nil)), err
}
