package csource

import "testing"

// TestMembers has functions of classes, which end without a semicolon, around a kernel of the same name.
func TestMembers(t *testing.T) {
	tokens := Read([]byte(`Stream::Stream(int n) : size(n), data{nullptr} { start(); }
Stream::~Stream() { stop(); }
void Stream::copy(int n) { size = n; }
extern "C" __global__ void copy(float *x) {}
void Box<int, 4>::fill() {}`))
	members := map[string]bool{}
	for _, f := range Functions(tokens) {
		members[f.Name] = members[f.Name] || f.Member
	}
	if len(members) != 2 || !members["copy"] || !members["fill"] {
		t.Errorf("functions and whether they are members: %v", members)
	}
	p := FindPrototype(tokens, "copy", false, nil)
	if p == nil || len(p.Params) != 1 {
		t.Errorf("the kernel's prototype is %+v, expected one parameter", p)
	}
}
