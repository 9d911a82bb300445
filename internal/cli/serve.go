package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/dash"
	"pawl/internal/diag"
	"pawl/internal/history"
	"pawl/internal/store"
)

// serveOptions say what is served where, and to whom.
type serveOptions struct {
	project   projectOptions
	listen    string
	tokenFile string
	hosts     []string
	public    bool
	hookFile  string
}

const serveDefault = "127.0.0.1:8770"

func (o *serveOptions) AddFlags(f *pflag.FlagSet) {
	o.project.AddFlags(f)
	f.StringVar(&o.listen, "listen", serveDefault, "address and port; any other than this machine's own needs a token, or --public")
	f.StringVar(&o.tokenFile, "token-file", "", "visitors must have the token in this file; PAWL_SERVE_TOKEN has it otherwise")
	f.StringArrayVar(&o.hosts, "host", nil, "a name that visitors may use for this server, where it is not the machine's (may be repeated)")
	f.StringVar(&o.hookFile, "webhook-file", "", "tell the address in this file what moves on main")
	f.BoolVar(&o.public, "public", false, "let anybody read, without a token; commands and machine details of runs are left out")
}

func newServe(e *env) *cobra.Command {
	opts := &serveOptions{}
	return withFlags(&cobra.Command{
		Use: "serve", Short: "show the history in a browser", GroupID: groupMemory, Args: cobra.NoArgs,
		Long: `serve shows the history of a project as pages: all kernels, how each went, every run, what
moved, comparisons, and searches while they run. It changes nothing.

It answers this machine alone, unless --listen names another address. Then visitors need a
token of at least 16 characters, from --token-file or PAWL_SERVE_TOKEN.`,
		Example: "  pawl serve\n  pawl serve --listen 0.0.0.0:8770 --token-file ~/.pawl-token",
		RunE:    func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), e, opts) },
	}, opts)
}

// serveTokenVariable has the token of visitors.
const serveTokenVariable = "PAWL_SERVE_TOKEN"

const leastToken = 16

// hookEvery is how often it is looked for what moved.
const hookEvery = 10 * time.Second

// token returns what visitors must have; "": nothing.
func (o *serveOptions) token(e *env) (string, error) {
	token, from := e.serveToken, serveTokenVariable
	if o.tokenFile != "" {
		raw, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		token, from = string(raw), o.tokenFile
	}
	if token = strings.TrimSpace(token); o.public && o.tokenFile == "" {
		return "", nil
	}
	if o.public {
		return "", usage("--public and --token-file: expected one of them")
	}
	if token != "" && len(token) < leastToken {
		return "", &diag.Problem{Message: fmt.Sprintf("the token in %s has %d characters", from, len(token)), Hint: "expected at least 16: openssl rand -hex 24 makes one"}
	}
	if host, _, err := net.SplitHostPort(o.listen); err != nil {
		return "", usage("--listen %s: expected an address and a port, such as %s", o.listen, serveDefault)
	} else if token == "" && !isLoopback(host) {
		return "", &diag.Problem{
			Message: fmt.Sprintf("--listen %s lets others in", o.listen), Hint: "--token-file FILE or " + serveTokenVariable + " says what they must have; --public lets anybody read",
		}
	}
	return token, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func runServe(ctx context.Context, e *env, opts *serveOptions) error {
	token, err := opts.token(e)
	if err != nil {
		return err
	}
	file, err := specFile(opts.project.file)
	if err != nil {
		return err
	}
	root, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return err
	}
	h, err := history.Open(ctx, root, e.database, store.Create)
	if err != nil {
		return err
	}
	defer h.Close()
	if problem, ok := errors.AsType[*diag.Problem](h.Frozen()); ok {
		e.warn("the history is shown as it is, and takes no new runs: %s", problem.Message)
		e.hint("%s", problem.Hint)
	}
	server, err := dash.New(ctx, dash.Options{
		History: h, Root: root, Project: filepath.Base(root), Tool: version, Token: token, Public: opts.public, Hosts: opts.hosts,
		Log: func(text string) { e.warn("%s", text) },
	})
	if err != nil {
		return err
	}
	if opts.hookFile != "" {
		raw, err := os.ReadFile(opts.hookFile)
		if err != nil {
			return fmt.Errorf("--webhook-file: %w", err)
		}
		go func() {
			hook := dash.Hook{Address: strings.TrimSpace(string(raw)), File: filepath.Join(root, ".pawl", "runs", "webhook.json"), Every: hookEvery}
			if err := server.Tell(ctx, hook); err != nil {
				e.warn("--webhook-file %s: %v", opts.hookFile, err)
			}
		}()
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", opts.listen)
	if err != nil {
		return &diag.Problem{Message: fmt.Sprintf("serve: %v", err), Hint: "--listen " + strings.TrimSuffix(opts.listen, port(opts.listen)) + "0 takes a free port"}
	}
	e.print("http://%s shows the history in %s; Ctrl-C ends it\n", shownAddress(listener.Addr()), h.Where())
	return serve(ctx, server.HTTP(), dash.Limit(listener))
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// shownAddress is where a browser on this machine finds the server.
func shownAddress(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// serve answers until the context ends, and then lets answers end that have begun.
func serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(wait); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	_ = server.Close()
	return nil
}
