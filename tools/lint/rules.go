package main

// This file holds the rules of the house, each with its reason. The other files say how
// they are checked.

// floors says what the rooms, the folders of internal, may import. Imports go strictly
// down: a room may use the rooms on floors below its own; those beside it only where its
// rule names them. Every rule that names a room holds for that room and the folders in it.
// Test files may import what they like.
var floors = []floor{
	// Floor 1, leaves: so plain that any room can use them without a thought.
	{
		rooms: "diag disk dtype formula nsight patch pattern plot stat term unit",
		uses:  "",
		why:   "a leaf imports nothing of pawl",
	},

	// Floor 1, domain: each says what things are and knows little of the others.
	{
		rooms: "forge git native result",
		uses:  "disk native pattern", // disk: trees are locked as the baseline is
		why:   "git, forges and the bindings report what they find, a report what it is given; none needs to know pawl",
	},
	{
		rooms: "space",
		uses:  "formula", // constraints are formulas
		why:   "what can be searched is known without a kernel",
	},
	{
		rooms: "spec",
		uses:  "csource diag dtype formula pattern space", // space: params and constraints are one. csource: arguments are compared with the functions that take them
		why:   "the spec is what the user wrote, formulas included, and not how it is run",
	},
	{
		rooms: "csource",
		uses:  "dtype",
		why:   "a source is read as it is, whoever asks",
	},
	{
		rooms: "draft",
		uses:  "csource dtype foreign formula pattern space spec", // formula: sizes that sources compute become formulas; foreign, space: what others wrote of a kernel's params
		why:   "a draft is made of files that are there, and of no run",
	},
	{
		rooms: "oracle",
		uses:  "dtype formula", // formula: an elementwise reference is one that the user wrote
		why:   "a reference that depends on what it judges proves nothing",
	},
	{
		rooms: "foreign machine sanitizer",
		uses:  "diag formula pattern result space", // diag: what is wrong in a file has a place there. formula, space: other tuners' files describe spaces
		why:   "the machine and what other tools write are read into the one document",
	},

	{
		rooms: "sheet",
		uses:  "plot unit",
		why:   "a page is drawn from its own data, whoever has it",
	},

	// Floor 2: running foreign code.
	{
		rooms: "sandbox",
		uses:  "",
		why:   "confining is the same whatever is confined",
	},
	{
		rooms: "build",
		// csource: the directives of a source name what it includes. sandbox: compilers run in it.
		uses: `csource diag disk dtype foreign formula git machine native oracle pattern plot result sandbox
			spec stat term unit`,
		why: "compiling needs a sandbox, and no worker",
	},
	{
		rooms: "worker",
		// sandbox: a cell is started inside it. worker: wire and cell.
		uses: "diag disk dtype formula machine native nsight oracle pattern result sandbox spec stat unit worker",
		why:  "a worker is trusted; it is given artifacts and decides nothing",
	},
	{
		rooms: "worker/wire",
		uses:  "dtype pattern result",
		why:   "both ends of the wire import it, and so it imports neither",
	},

	// Floor 3: the science.
	{
		rooms: "trial",
		uses:  "diag dtype formula oracle spec unit",
		why:   "which problems to try is chosen from the file alone, and tried by others",
	},
	{
		rooms: "clocks",
		uses:  "result stat",
		why:   "readings are compared, whoever has made them",
	},
	{
		rooms: "trend",
		uses:  "stat trend unit",
		why:   "when a kernel changed follows from its points alone, whoever stored them",
	},
	{
		rooms: "effect",
		uses:  "result",
		why:   "what a search has learned follows from its trials alone, whoever made them",
	},
	{
		rooms: "search",
		// diag: what is wrong in a recording has a place there. formula: values of params are coordinates.
		// search: recorded is a ground, score plays strategies on it.
		uses: "diag formula search space stat",
		why:  "a strategy that knows what it searches could not be tried on recordings",
	},
	{
		rooms: "profile",
		uses:  "diag native pattern unit", // native: a cubin says what a kernel needs
		why:   "what a profiler or a disassembler wrote is read as it is, whoever ran it",
	},
	{
		rooms: "advice",
		uses:  "diag formula profile spec unit", // formula, spec: conditions are the user's to write, too
		why:   "findings follow from facts alone, so that they can be tested without a device",
	},
	{
		rooms: "curve judge measure ratchet roof verify",
		// clocks: when to stop looking, and what was found, are one question.
		uses: `build clocks diag disk dtype foreign formula git machine native oracle plot result
			sandbox spec stat term unit worker`,
		why: "measuring, judging and rendering stay apart, and know no terminal, network or forge",
	},
	{
		rooms: "store",
		uses:  "diag pattern result", // diag: what is wrong with a history has a remedy
		why:   "the history is made of Reports alone, and nobody else knows SQL",
	},
	{
		rooms: "claim",
		// measure: samples become changes again. ratchet: the best-known version, as the base
		// has it. verify: what clocks reveal.
		uses: "diag judge measure pattern ratchet result roof spec unit verify",
		why:  "somebody else's report is judged by the functions that judge one's own",
	},
	{
		rooms: "report",
		uses:  "disk pattern plot report result sheet term unit", // report: view and render. sheet: the picture of a kernel.
		why:   "whatever shows a run reads the Report and nothing else",
	},
	{
		rooms: "dispatch",
		uses:  "disk pattern result",
		why:   "a table of settings is made of the Report, as whatever shows a run",
	},
	{
		rooms: "report/render report/view",
		uses:  "plot report/view term unit",
		why:   "a view is data without a Report, and a form is made of the view alone",
	},

	// Floor 4: whole use cases.
	{
		rooms: "run",
		// git: the report's head names the commit. judge: and its end the outcome. store: a saved report goes into the history.
		uses: "diag disk git judge pattern result spec store",
		why:  "a run's life is the same whatever is measured, and every service stands on it",
	},
	{
		rooms: "lab",
		// run: lab writes its progress there.
		uses: `advice build curve diag disk dtype foreign formula git judge machine measure native
			oracle pattern plot profile ratchet report result roof run sandbox sanitizer spec stat store
			term unit verify worker`,
		why: "every service stands on run",
	},
	{
		rooms: services,
		not:   "baseline bisect calibrate doctor fuzz selftest session tune",
		why:   "services share engines, not each other",
	},
	{
		rooms: "selftest",
		not:   "baseline bench bisect calibrate compare demo doctor session tune",
		why:   "a selftest is a check and a fuzz of pawl's own corpus, and needs no other service",
	},
	{
		rooms: services + " selftest",
		not:   "cli dash mcp",
		why:   "a service does not know which face called it",
	},
	{
		rooms: "baseline bisect check compare doctor fuzz history session tune",
		not:   "bench",
		why:   "services share engines, not each other; only a calibration is a bench, of pawl's own kernels",
	},
	{
		rooms: "baseline bench calibrate check compare doctor fuzz history tune",
		not:   "check",
		why:   "only session, bisect and selftest are made of whole checks",
	},
	{
		rooms: "ci",
		// csource: annotations stand beside a function. measure, ratchet: samples that another job
		// took move the baseline by the same rules.
		uses: "claim csource diag disk forge git measure pattern ratchet report result spec unit",
		why:  "pull requests are served with reports that others made; nothing is measured here",
	},

	{
		rooms: "history",
		// claim: artifacts are read within limits. foreign: other tools' files are imported, too; measure: with their statistics.
		// ratchet: and so are the baseline's moves. trend: where the level of a series moved.
		uses: "claim diag foreign git measure pattern ratchet result store trend",
		why:  "what was measured is asked about here, by every face alike; nothing is measured or judged",
	},
	{
		rooms: "explain",
		uses:  "advice diag disk lab nsight profile result run spec unit",
		why:   "why a kernel takes its time follows from files, and from what a lab shows of a job; no verdict reads it",
	},

	{
		rooms: "wake",
		uses:  "diag disk forge pattern", // diag: what is wrong in its file has a place there
		why:   "machines are started for jobs, whatever these measure; a service that holds a token stays small",
	},

	// Floor 5: faces. cli is the one that starts the others.
	{
		rooms: "cli",
		// draft: what pawl init writes, for nobody but the user to judge. lab: where a run
		// measures. report: shows what a service answers. worker: pawl worker and pawl cell
		// are where those processes begin. search: a replay plays strategies on recordings, with
		// neither a project nor a Report.
		// dash: pawl serve starts it.
		uses: `baseline bench bisect calibrate check ci compare dash demo diag disk doctor draft explain forge fuzz history lab pattern
			report result run search selftest spec store term trend tune unit wake worker`,
		why: face,
	},
	{
		rooms: "dash",
		// plot: scales and ticks of its pictures. Not cli: the command line starts the other
		// faces, never the reverse.
		uses: "diag disk history pattern plot report result run store term trend tune unit",
		why:  "pages show what services and the history answer, and measure nothing",
	},
	{
		rooms: "mcp",
		// As the command line, less the rooms that only it needs.
		uses: `baseline bench calibrate check compare demo diag disk doctor fuzz history lab report
			result run selftest spec store term trend tune unit`,
		why: face,
	},
	{
		rooms: "cmd",
		uses:  "cli sandbox", // sandbox: its first stage must run before anything else
		why:   "main holds signals and the exit code, nothing else",
	},
}

const (
	services = "baseline bench bisect calibrate check ci compare demo doctor fuzz history session tune"
	face     = "a face asks services and shows what they answer; a rule that it kept by itself would not hold in the next face"
)

// confined names packages that only some rooms import, in test files too.
var confined = []floor{
	{
		rooms: "native",
		uses:  "github.com/ebitengine/purego",
		why:   "foreign calls live in internal/native, where their rules are known",
	},
	{
		rooms: "store",
		uses:  "database/sql github.com/jackc/pgx/v5 modernc.org/sqlite",
		why:   "the store is the only room that knows SQL",
	},
	{
		rooms: "native sandbox", // sandbox: it hands structures to the kernel for which x/sys has no call
		uses:  "unsafe",
		why:   "pointers that Go does not check live in internal/native",
	},
}

// forbidden names what only the faces do: they talk to the terminal and end the process.
var forbidden = []rule{
	{`^os\.Exit$`, "return an error or a code; internal/cli decides how pawl ends"},
	{`^os\.(Stdin|Stdout|Stderr)$`, "take an io.Reader or io.Writer; internal/cli has the streams"},
	{`^fmt\.Print(f|ln)?$`, "take an io.Writer; internal/cli has the streams"},
	{`^log\.(Print|Fatal|Panic)`, "return an error, or put a warning in the result"},
}

// faces are the files for which nothing is forbidden.
var faces = []rule{
	{`^(cmd|tools|internal/cli)/`, "the faces' streams and exit codes, and tools"},
	{`_test\.go$`, "tests end as they like"},
	{`^internal/sandbox/stage1_linux\.go$`, "the first stage replaces itself by the confined program; it has no caller to return to"},
}

// unneeded names functions whose error nobody must look at.
var unneeded = []rule{
	{`(?i)(close|flush)$`, "nothing is to be done about it"},
	{`(?i)print(f|ln)?$`, "printing to a stream: as above"},
	{`(?i)^(os\.)?std(out|err)\.`, "as above"},
	{`^os\.(Remove|RemoveAll|Setenv|Unsetenv)$`, "as above"},
	{`^\(\*?(bytes\.Buffer|strings\.Builder|hash\.Hash|hash/maphash\.Hash)\)\.Write`, "it never fails"},
	{`^(crypto|math)/rand\.Read$|^\(\*math/rand\.Rand\)\.Read$`, "it never fails"},
	{`^\(\*io\.Pipe(Reader|Writer)\)\.CloseWithError$`, "it never fails"},
	{`^\(\*pawl/internal/diag\.List\)\.Addf$`, "it has recorded the problem, and returns it only so that a hint can be added"},
	{`^\(\*pawl/internal/spec\.(decoder|resolver)\)\.(expect|fail)$`, "as above"},
}

// notChecked are checks of staticcheck that pawl does without. All others run, except those
// called QF: they are suggestions for an editor, and naming an embedded field, say, may well
// be clearer.
var notChecked = []rule{
	{`^ST10(00|20|21|22)$`, "the linter comments sees to comments"},
}
