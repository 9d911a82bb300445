package build

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/disk"
	"pawl/internal/pattern"
	"pawl/internal/spec"
	"pawl/internal/term"
)

// compileCommand is an entry of compile_commands.json.
type compileCommand struct {
	Directory string   `json:"directory"`
	File      string   `json:"file"`
	Arguments []string `json:"arguments"`
}

// Export writes the files that people and editors need to build without pawl: in dir, a build.ninja
// that makes the same shared objects and cubins, and a compile_commands.json for the user's sources
// with the defines of each kernel's default variant.
//
// The symbol of a C++ entry is known only after compiling, so Export builds the requests first. A
// request that does not compile is exported all the same, to fail under ninja as it does here; one
// without a compiler makes Export fail.
func (b *Builder) Export(ctx context.Context, dir string, requests []Request) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("export the build: %w", err)
	}
	requests = slices.DeleteFunc(slices.Clone(requests), func(r Request) bool { return r.Variant.Kernel.Python != "" })
	out := &export{dir: dir, files: map[string]string{"pawl.map": versionScript()}, built: map[string]bool{}}
	out.ninja.WriteString("# Written by pawl; `ninja` makes every variant.\n" +
		"rule compile\n  command = $compiler $flags -MD -MF $out.d -c $source -o $out\n  depfile = $out.d\n  deps = gcc\n" +
		"rule cubin\n  command = $compiler $flags -MD -MF $out.d $source -o $out\n  depfile = $out.d\n  deps = gcc\n" +
		"rule link\n  command = $compiler -shared -o $out $in $flags\n\n")
	for _, o := range b.Build(ctx, requests) {
		if ctx.Err() != nil {
			return fmt.Errorf("export the build: %w", ctx.Err())
		}
		r, fault := b.recipe(ctx, o.Request)
		if fault != nil {
			return fmt.Errorf("export the build: %w", fault)
		}
		if err := out.add(r, o.Artifact); err != nil {
			return fmt.Errorf("export the build: %w", err)
		}
	}
	commands, err := b.compileCommands(ctx, requests)
	if err != nil {
		return fmt.Errorf("export the build: %w", err)
	}
	out.files["compile_commands.json"] = commands
	fmt.Fprintf(&out.ninja, "build all: phony %s\ndefault all\n", strings.Join(out.variants, " "))
	out.files["build.ninja"] = out.ninja.String()
	return out.write()
}

// export collects the files to write.
type export struct {
	dir      string
	files    map[string]string // by name
	ninja    strings.Builder
	built    map[string]bool // targets that have a statement
	variants []string        // targets that people want
}

// add writes the three steps of a recipe. Ninja wants the paths that a depfile
// lists to be relative to its own folder, or absolute, so here everything the
// compiler is told is absolute; -fmacro-prefix-map keeps __FILE__, and so the
// code, as in pawl's own builds.
func (e *export) add(r *recipe, made *Artifact) error {
	k := r.variant.Kernel
	name, ending := fileName(k.Name, r), ".so"
	if r.cuda != nil {
		ending = ".cubin"
	}
	if e.built[name+ending] {
		return nil
	}
	e.variants = append(e.variants, name+ending)
	switch {
	case r.cuda != nil:
		return e.addCubin(r, name)
	case r.launcher:
		return e.addLauncher(r, name)
	}
	symbols := entriesOf(k)
	if made != nil {
		symbols = made.Symbols
	}
	shim, err := shimSource(k, symbols)
	if err != nil {
		return err
	}
	shimName := "shim-" + sha256Hex([]byte(shim))[:12]
	e.files[shimName+".c"] = shim
	shimObject := shimName + "-" + r.compiler.Name + ".o"
	if !e.built[shimObject] {
		e.build(r, shimObject, "compile", []string{shimName + ".c"}, shimFlags)
	}
	flags := append(absoluteFlags(r.dir, r.compile), "-fmacro-prefix-map="+r.dir+"/=")
	if err := e.compile(r, name+".o", "compile", within(r.dir, k.Source), flags); err != nil {
		return err
	}
	e.build(r, name+".so", "link", []string{name + ".o", shimObject}, append(absoluteFlags(r.dir, r.link), "-Wl,--version-script=pawl.map"))
	return nil
}

// addCubin writes the one step of device code.
func (e *export) addCubin(r *recipe, name string) error {
	k := r.variant.Kernel
	if r.cuda.runtime != nil {
		return fmt.Errorf("%s: NVRTC can only compile inside pawl; install nvcc, or name it in NVCC", k.Name)
	}
	text, _ := readSource(r.dir, k.Source) // one that is missing fails under ninja
	source := within(r.dir, k.Source)
	if wrapper := r.cuda.instances(source); wrapper != "" {
		source = name + ".cu"
		e.files[source] = wrapper
	}
	return e.compile(r, name+".cubin", "cubin", source, absoluteFlags(r.dir, r.cuda.without(r.compile, text)))
}

// addLauncher writes the two steps of host code that launches by itself.
func (e *export) addLauncher(r *recipe, name string) error {
	k := r.variant.Kernel
	shim, err := launcherShim(k)
	if err != nil {
		return err
	}
	e.files[name+"-shim.c"] = shim
	if err := e.compile(r, name+".o", "compile", within(r.dir, k.Source), absoluteFlags(r.dir, r.compile)); err != nil {
		return err
	}
	e.build(r, name+".so", "link", []string{name + ".o", name + "-shim.c"}, append([]string{"-Xcompiler", "-fPIC"}, absoluteFlags(r.dir, r.link)...))
	return nil
}

// compile writes the step that compiles a variant's source.
func (e *export) compile(r *recipe, target, rule, source string, flags []string) error {
	k := r.variant.Kernel
	if strings.Contains(source+strings.Join(flags, "")+strings.Join(r.link, ""), "\n") {
		return fmt.Errorf("%s %s: a line break in a flag or name cannot be written to build.ninja", k.Name, r.variant.Name())
	}
	fmt.Fprintf(&e.ninja, "# %s %s\n", oneLine(k.Name), oneLine(r.variant.Name()))
	e.build(r, target, rule, []string{source}, flags)
	return nil
}

// build writes one statement. Rules that compile want their source as a word of the shell, too.
func (e *export) build(r *recipe, target, rule string, inputs, flags []string) {
	e.built[target] = true
	escape := strings.NewReplacer("$", "$$", " ", "$ ", ":", "$:")
	fmt.Fprintf(&e.ninja, "build %s: %s", escape.Replace(target), rule)
	for _, input := range inputs {
		fmt.Fprintf(&e.ninja, " %s", escape.Replace(input))
	}
	if rule == "link" {
		e.ninja.WriteString(" | pawl.map")
	}
	value := func(words ...string) string { return strings.ReplaceAll(term.ShellLine(words...), "$", "$$") }
	fmt.Fprintf(&e.ninja, "\n  compiler = %s\n  flags = %s\n", value(r.compiler.Command...), value(flags...))
	if rule != "link" {
		fmt.Fprintf(&e.ninja, "  source = %s\n", value(inputs[0]))
	}
	e.ninja.WriteByte('\n')
}

func (e *export) write() error {
	if err := os.MkdirAll(e.dir, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(e.files)) {
		if err := disk.Write(filepath.Join(e.dir, name), []byte(e.files[name])); err != nil {
			return err
		}
	}
	return nil
}

// compileCommands lists each kernel's source once, as its default variant is
// compiled.
func (b *Builder) compileCommands(ctx context.Context, requests []Request) (string, error) {
	commands := []compileCommand{}
	seen := map[*spec.Kernel]bool{}
	for _, request := range requests {
		k := request.Variant.Kernel
		if seen[k] {
			continue
		}
		seen[k] = true
		r, fault := b.recipe(ctx, Request{Dir: request.Dir, Variant: k.Default()})
		if fault != nil {
			return "", fault
		}
		flags := r.compile
		if r.cuda != nil {
			text, _ := readSource(r.dir, k.Source)
			flags = r.cuda.without(flags, text)
		}
		commands = append(commands, compileCommand{
			Directory: r.dir, File: k.Source,
			Arguments: slices.Concat(r.compiler.Command, flags, []string{"-c", k.Source}),
		})
	}
	text, err := json.MarshalIndent(commands, "", "  ")
	return string(text) + "\n", err
}

// fileName distinguishes variants, and names their kernel.
func fileName(kernel string, r *recipe) string {
	return oddInName.ReplaceAllString(kernel, "_") + "-" + hashOf("export", r.dir, r.hash)[:12]
}

var oddInName = pattern.New(`[^0-9A-Za-z_-]`)

// pathFlags are followed by a path, in the same word or the next.
var pathFlags = []string{"-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-I", "-L", "-B"}

// absoluteFlags returns flags that mean the same in any folder. A path that does not exist stays
// unchanged: an -include may be found on the include path.
func absoluteFlags(dir string, flags []string) []string {
	place := func(path string) string {
		if there := within(dir, path); exists(there) {
			return there
		}
		return path
	}
	var absolute []string
	pathNext := false
	for _, flag := range flags {
		switch {
		case pathNext:
			flag, pathNext = place(flag), false
		case slices.Contains(pathFlags, flag):
			pathNext = true
		case strings.HasPrefix(flag, "-"):
			for _, prefix := range pathFlags {
				if path, ok := strings.CutPrefix(flag, prefix); ok {
					flag = prefix + place(path)
					break
				}
			}
		case linkOnly(flag):
			flag = place(flag)
		}
		absolute = append(absolute, flag)
	}
	return absolute
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }
