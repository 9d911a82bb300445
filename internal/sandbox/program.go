package sandbox

// programMarker is the argument that tells a process to run one of its registered programs.
const programMarker = "__sandboxed-program"

var registered = map[string]func(){}

// Register names a program that is a function of this binary, for Self. It is called
// before main.
func Register(name string, program func()) { registered[name] = program }

// Self makes the command run a registered program of this binary, in which main must call
// EnterIfAsked first.
func (c *Command) Self(name string) {
	c.Path, c.Args = "/proc/self/exe", []string{"pawl", programMarker, name}
}

// runProgram runs the registered program that the arguments name, if they do.
func runProgram(args []string) bool {
	if len(args) != 3 || args[1] != programMarker || registered[args[2]] == nil {
		return false
	}
	registered[args[2]]()
	return true
}
