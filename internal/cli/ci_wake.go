package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/forge"
	"pawl/internal/term"
	"pawl/internal/wake"
)

const ciWakeHelp = `wake starts a GPU machine when a job of GitHub Actions waits for its labels, and stops
it when nobody needs it. It takes workflow_job webhooks, and finds by polling what they
missed. For each job it registers a runner that takes one job, and hands the runner's
config to your start command, on its standard input.

It runs on a machine that is always on, and not on the GPU machine: it holds a token that
may register runners. That token is in PAWL_FORGE_TOKEN or GITHUB_TOKEN; a GitHub App is
in PAWL_APP_ID and PAWL_APP_KEY (PEM). The webhook's secret is in PAWL_WEBHOOK_SECRET.

--config names the service's own file; docs/ci.md explains its keys.`

type ciWakeOptions struct {
	config, listen     string
	once, status, json bool
}

func (o *ciWakeOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.config, "config", "/etc/pawl/wake.yaml", "the service's file")
	f.StringVar(&o.listen, "listen", "127.0.0.1:8716", "address for webhooks, behind a proxy that has TLS; empty: only poll")
	f.BoolVar(&o.once, "once", false, "look once, do what is due, and end: for cron")
	f.BoolVar(&o.status, "status", false, "show machines, jobs and what authors have used today, and do nothing else")
	f.BoolVar(&o.json, "json", false, "with --status: print JSON")
}

func newCIWake(e *env) *cobra.Command {
	opts := &ciWakeOptions{}
	return withFlags(&cobra.Command{
		Use: "wake", Short: "start GPU machines for jobs that wait, and stop them afterwards", Long: ciWakeHelp,
		Example: "  pawl ci wake --config /etc/pawl/wake.yaml\n  pawl ci wake --once\n  pawl ci wake --status",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 || opts.once && opts.status || opts.json && !opts.status {
				return usage("expected --once, or --status with or without --json, or neither (see pawl ci wake --help)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runCIWake(cmd.Context(), e, opts) },
	}, opts)
}

func runCIWake(ctx context.Context, e *env, opts *ciWakeOptions) error {
	config, err := wake.ReadConfig(opts.config)
	if err != nil {
		return err
	}
	if opts.status {
		status, err := wake.ReadStatus(config, time.Now())
		if err != nil {
			return err
		}
		if opts.json {
			return printJSON(e, status)
		}
		e.showWake(status)
		return nil
	}
	access := forge.Options{Agent: "pawl/" + version}
	access.Token, access.App = forge.Credentials(forge.GitHub, os.Getenv)
	service, err := wake.New(wake.Options{
		Config: config, Forge: access, Secret: os.Getenv("PAWL_WEBHOOK_SECRET"),
		Log: func(line string) { e.warn("%s", term.Plain(line)) },
	})
	if err != nil {
		return err
	}
	defer service.Close()
	if opts.once {
		return service.Once(ctx)
	}
	var listener net.Listener
	if opts.listen != "" {
		if listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", opts.listen); err != nil {
			return fmt.Errorf("--listen %s: %w", opts.listen, err)
		}
		defer listener.Close()
		e.warn("takes webhooks at http://%s", listener.Addr())
	}
	return service.Serve(ctx, listener)
}

func (e *env) showWake(s *wake.Status) {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.DateTime)
	}
	if s.Updated.IsZero() {
		fmt.Fprintln(e.stdout, "pawl ci wake has not looked yet")
		return
	}
	fmt.Fprintf(e.stdout, "as of %s UTC\n", at(s.Updated))
	if s.Problem != "" {
		e.print("the last look failed: %s\n", term.Plain(s.Problem))
	}
	machines := e.table(left("machine"), left("is"), left("on since"), left("runner"), words("last failure"))
	for _, m := range s.Machines {
		is := string(m.Phase)
		switch {
		case m.Busy:
			is = "busy"
		case m.Phase == wake.Up && m.Runner == "":
			is = "idle"
		case m.Phase == wake.Up:
			is = "waits for a job"
		}
		machines.Add(m.Name, is, at(m.On), m.Runner, term.Plain(m.Error))
	}
	_ = machines.Render(e.stdout)
	if len(s.Jobs) > 0 {
		fmt.Fprintln(e.stdout)
		jobs := e.table(left("job"), left("author"), left("is"), left("since"), words("because"))
		for _, job := range s.Jobs {
			jobs.Add(fmt.Sprint(job.ID), term.Plain(job.Author), string(job.Status), at(job.Created), term.Plain(job.Reason))
		}
		_ = jobs.Render(e.stdout)
	}
	if len(s.Today) > 0 {
		fmt.Fprintln(e.stdout)
		today := e.table(left("author, today"), right("jobs"), right("minutes"), right("cost"))
		for _, author := range slices.Sorted(maps.Keys(s.Today)) {
			used := s.Today[author]
			today.Add(term.Plain(cmp.Or(author, "unknown")), fmt.Sprint(used.Jobs), fmt.Sprintf("%.1f", used.Minutes), fmt.Sprintf("%.2f", used.Cost))
		}
		_ = today.Render(e.stdout)
	}
}
