package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/store"
	"pawl/internal/term"
)

type historyNoteOptions struct {
	historyOptions
	row     string
	invalid bool
	ack     bool
	author  string
	remove  int64
}

func (o *historyNoteOptions) AddFlags(f *pflag.FlagSet) {
	o.historyOptions.AddFlags(f)
	f.StringVar(&o.row, "row", "", "only about this kernel[/config] of the run")
	f.BoolVar(&o.invalid, "invalid", false, "the numbers are wrong: trends leave them out")
	f.BoolVar(&o.ack, "ack", false, "seen, and accepted as it is")
	f.StringVar(&o.author, "author", "", "who says so (default: the name that git knows)")
	f.Int64Var(&o.remove, "remove", 0, "remove the note of this number instead")
}

func newHistoryNote(e *env) *cobra.Command {
	opts := &historyNoteOptions{}
	return withFlags(&cobra.Command{
		Use: "note [RUN] [TEXT…]", ValidArgsFunction: cobra.NoFileCompletions, Short: "write a note about a run, or mark it as invalid",
		Long: `note writes down what people know about a run: a remark, that it was seen and accepted
(--ack), or that its numbers are wrong (--invalid). The note shows wherever the run
does. Without arguments it lists the notes.`,
		Example: "  pawl history note\n  pawl history note 7f3a9c2b1d04 --invalid 'the fan had stopped'\n  pawl history note latest --row attention/training_512 --ack 'costs 2%, fixes the overflow'\n  pawl history note --remove 3",
		RunE:    func(cmd *cobra.Command, args []string) error { return runHistoryNote(cmd.Context(), e, opts, args) },
	}, opts)
}

func runHistoryNote(ctx context.Context, e *env, opts *historyNoteOptions, args []string) error {
	if opts.invalid && opts.ack {
		return usage("--invalid and --ack exclude each other")
	}
	h, err := opts.open(ctx, e, store.Read)
	if err != nil {
		return err
	}
	defer h.Close()
	switch {
	case opts.remove != 0 && len(args) > 0:
		return usage("--remove takes the number of a note, and nothing else")
	case opts.remove != 0:
		was, err := h.RemoveNote(ctx, opts.remove)
		if err == nil && !was {
			err = fmt.Errorf("--remove %d: there is no such note (pawl history note lists them)", opts.remove)
		}
		return err
	case len(args) == 0:
		notes, err := h.Notes(ctx)
		for _, n := range notes {
			e.print("%s\n", term.Plain(noteText(n)))
		}
		return err
	}
	n := store.Note{Kind: store.Remark, At: e.started, Author: opts.author, Text: strings.Join(args[1:], " ")}
	switch {
	case opts.invalid:
		n.Kind = store.Invalid
	case opts.ack:
		n.Kind = store.Acknowledged
	case n.Text == "":
		return usage("a note without a mark needs a text: pawl history note RUN TEXT")
	}
	if n.Run, err = h.Find(ctx, args[0]); err != nil {
		return err
	}
	n.Kernel, n.Config, _ = strings.Cut(opts.row, "/")
	if opts.row != "" {
		_, rows, err := h.Run(ctx, n.Run)
		if err != nil {
			return err
		}
		there := false
		for _, row := range rows {
			there = there || n.About(row)
		}
		if !there {
			return fmt.Errorf("--row %s: run %s has no such row", opts.row, n.Run)
		}
	}
	if n.Author == "" {
		n.Author = h.UserName(ctx)
	}
	if n, err = h.AddNote(ctx, n); err == nil {
		e.print("%s\n", term.Plain(noteText(n)))
	}
	return err
}

// noteText says a note in one line.
func noteText(n store.Note) string {
	about := n.Run
	if n.Kernel != "" {
		about += " " + n.Kernel
		if n.Config != "" {
			about += "/" + n.Config
		}
	}
	by := n.At.Format("2006-01-02")
	if n.Author != "" {
		by += ", " + n.Author
	}
	text := fmt.Sprintf("note %d  %s  %s  (%s)", n.ID, about, n.Kind, by)
	if n.Text != "" {
		text += ": " + n.Text
	}
	return text
}
