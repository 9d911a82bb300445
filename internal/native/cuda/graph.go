package cuda

import "unsafe"

// captureThreadLocal forbids unsafe calls on the capturing thread alone, so that
// others may go on allocating.
const captureThreadLocal = 1

// BeginCapture turns what is put into the stream from now on into a graph
// instead of running it.
func (s Stream) BeginCapture() error {
	return s.d.call(cuStreamBeginCapture, s.handle, captureThreadLocal)
}

// EndCapture ends the capture and returns the graph. After an error the stream
// is an ordinary one again.
func (s Stream) EndCapture() (Graph, error) {
	g := Graph{d: s.d}
	err := s.d.call(cuStreamEndCapture, s.handle, uintptr(unsafe.Pointer(&g.handle)))
	return g, err
}

// Graph is work with its dependencies.
type Graph object

// Instantiate makes the graph executable.
func (g Graph) Instantiate() (GraphExec, error) {
	e := GraphExec{d: g.d}
	err := g.d.call(cuGraphInstantiateWithFlags, uintptr(unsafe.Pointer(&e.handle)), g.handle, 0)
	return e, err
}

// Destroy frees the graph; what was instantiated from it stays.
func (g Graph) Destroy() error { return g.d.call(cuGraphDestroy, g.handle) }

// GraphExec is a graph that can be launched.
type GraphExec object

// Upload brings the graph to the device, so that its first launch is like the
// others.
func (e GraphExec) Upload(s Stream) error { return e.d.call(cuGraphUpload, e.handle, s.handle) }

// Launch puts the whole graph into the stream.
func (e GraphExec) Launch(s Stream) error { return e.d.call(cuGraphLaunch, e.handle, s.handle) }

// Destroy frees the executable graph.
func (e GraphExec) Destroy() error { return e.d.call(cuGraphExecDestroy, e.handle) }
