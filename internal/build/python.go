package build

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// planPython plans a Python kernel. Nothing is compiled: the artifact is the module's text, and
// the cell reads the modules that it imports from the spec's folder.
func (r *recipe) planPython() {
	k := r.variant.Kernel
	r.python = true
	r.hash = hashOf(format+" python", []string{k.Python, k.Framework}, r.variant.Defines(), r.module)
}

// readModule makes the artifact of a Python kernel. Its code is the module, the function, the
// framework, the params (keyword arguments, which appear in no text) and every file of the spec's
// folder that the module imports or that replaces an installed module.
func (run *batch) readModule(r *recipe) (*Artifact, *result.Fault) {
	k := r.variant.Kernel
	text := r.module
	var local []dependency
	framework := cmp.Or(k.Framework, guessFramework(text))
	if text == nil {
		fault := run.fenceOf(r).checkSource(r.dir, k.Source)
		if fault != nil {
			return nil, fault
		}
		if text, fault = readSource(r.dir, k.Source); fault != nil {
			return nil, fault
		}
		fence := run.fenceOf(r)
		imports := newImports(r.dir, k.Source, fence)
		imports.module(k.Python, text)
		framework = cmp.Or(k.Framework, guessFramework(text), chooseFramework(imports.names), "numpy")
		imports.shadows(run.python.outside(fence))
		if imports.tooMany {
			return nil, newFault(result.CauseCompile, "put pawl.yaml into a folder that holds only the kernels, and install other packages into a virtual environment",
				"%s may import more than %d files of %s", k.Source, mostImports, fence.project)
		}
		slices.Sort(imports.files)
		if path := fence.stray(r.dir, filesRead(append(imports.files, k.Source))); path != "" {
			return nil, fence.strayFault(k.Source, path)
		}
		var ok bool
		if local, ok = run.files.dependencies(r.dir, filesRead(imports.files)); !ok {
			return nil, internal("read what "+k.Source+" imports", os.ErrNotExist)
		}
	}
	a := &Artifact{SHA256: sha256Hex(text), bytes: text, Framework: cmp.Or(framework, "numpy"), Symbols: []string{k.Python}}
	deps := append([]dependency{{Path: k.Source, SHA256: a.SHA256}}, local...)
	a.Key = keyOf(r.hash, deps)
	sum := newDigest("pawl code python 1")
	sum.add([]string{k.Python, a.Framework}, r.variant.Defines())
	sum.files(deps)
	a.Code = sum.hex()
	return a, nil
}

// guessFramework finds the framework of a module's tensors by its imports; "" when it imports none.
func guessFramework(text []byte) string {
	found, _ := scanImports(text)
	seen := map[string]bool{}
	addNames(seen, found)
	return chooseFramework(seen)
}

// addNames adds the packages that are certainly imported.
func addNames(seen map[string]bool, found []pythonImport) {
	for _, i := range found {
		if !i.quoted {
			top, _, _ := strings.Cut(i.name, ".")
			seen[top] = true
		}
	}
}

// chooseFramework returns the framework of a module that imports these packages.
func chooseFramework(seen map[string]bool) string {
	if seen["triton"] {
		return "torch"
	}
	for _, name := range spec.Frameworks {
		if seen[name] {
			return name
		}
	}
	return ""
}
