package spec

import (
	"path"
	"slices"
	"strings"
)

// Frameworks are what the arguments of a Python kernel can be tensors of.
var Frameworks = []string{"torch", "cupy", "jax", "numpy"}

// PythonName reports whether text names a Python function as module:function.
func PythonName(text string) bool { return pythonName.MatchString(text) }

// PythonSource returns the file of the module in module:function, relative to the
// folder of pawl.yaml.
func PythonSource(name string) string {
	module, _, _ := strings.Cut(name, ":")
	return path.Join(strings.Split(module, ".")...) + ".py"
}

func (d *decoder) python(k *kernelDraft, n *node) {
	text, ok := d.text(n, "a Python function as module:function")
	if !ok {
		return
	}
	if !PythonName(text) {
		p := d.expect(n, "a Python function as module:function")
		if file, function, found := strings.Cut(text, ":"); found && strings.HasSuffix(file, ".py") {
			p.Hint = "write " + strings.ReplaceAll(strings.TrimSuffix(file, ".py"), "/", ".") + ":" + function
		}
		return
	}
	k.Python, k.Source, k.SourcePos, k.Cell = text, PythonSource(text), n.pos, CellPython
}

func (d *decoder) framework(k *kernelDraft, n *node) {
	if text, ok := d.choice(n, "the framework of a Python kernel", "%s is not a framework that pawl knows", Frameworks, map[string]string{
		"pytorch": "torch", "triton": "torch",
	}); ok {
		k.Framework = text
	}
}

// besidesPython says what to do with keys that have no meaning for a Python
// kernel.
var besidesPython = []struct{ key, hint string }{
	{"source", "the module's file is the source"},
	{"entry", "the function is named after the colon"},
	{"launches", "a Python function makes its own launches"},
	{"launcher", "a Python function makes its own launches"},
	{"flags", "nothing is compiled before the function is called"},
}

// pythonShape is kernelShape for a kernel that is a Python function.
func (d *decoder) pythonShape(k *kernelDraft, python field) {
	for _, other := range besidesPython {
		d.refuse(k.present, other.key, other.hint, "kernel %s has both python and %s", k.Name, other.key)
	}
	k.onlyLaunch(python.key.pos).Entry = k.Python
	for _, name := range k.params {
		if slices.Contains(pythonWords, name.text) {
			d.fail(name, "%s is a word of Python, so it cannot be a keyword argument", name.text)
		}
	}
}

var pythonWords = strings.Fields(`False None True and as assert async await break class continue def del elif else
	except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield`)
