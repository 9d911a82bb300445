package csource

import "testing"

// Expressions as kernels and their host code have them, in the one form that String gives.
func TestReadExpression(t *testing.T) {
	for source, want := range map[string]string{
		"a + b * c":                        "+ (a,* (b,c))",
		"(a + b) * c":                      "* (+ (a,b),c)",
		"a - -1":                           "- (a,u- (1))",
		"i++ + 1":                          "+ (u++ (i),1)",
		"x[i * 4 + 3].y":                   ". y([] (x,+ (* (i,4),3)))",
		"p->n":                             ". n(p)",
		"(float)n / 2":                     "/ (cast float(n),2)",
		"(void **)&d":                      "cast void * *(u& (d))",
		"reinterpret_cast<float4 *>(p)[i]": "[] (cast float4 *(p),i)",
		"static_cast<size_t>(a) * b":       "* (cast size_t(a),b)",
		"f<float, 16>(a, b)":               "call f(a,b)",
		"i < n && j > (m)":                 "&& (< (i,n),> (j,m))",
		"a ? b : c ? d : e":                "?: (a,b,?: (c,d,e))",
		"a = b = c":                        "= (a,= (b,c))",
		"s >>= 1":                          ">>= (s,1)",
		"n * sizeof(unsigned int)":         "* (n,sizeof unsigned int())",
		"dim3(a, 1)":                       "call dim3(a,1)",
		"{1, 2}":                           "{} (1,2)",
		"std::min(a, b)":                   "call std::min(a,b)",
		"w.size()":                         "call .size(w)",
		"Pack<half>::size":                 "Pack::size",
		"a +":                              "",
		"a b":                              "",
		"f(a":                              "",
		"":                                 "",
	} {
		if got := ReadExpression(Read([]byte(source))).String(); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}

func TestStatements(t *testing.T) {
	list := Statements(Read([]byte(`{
#pragma unroll
		int a = 1, b = {2};
		if (a < b) return; else { a = b; b++; }
		for (int i = 0; i < n; i++) x[i] = 0;
		while (a) a--;
		do { b--; } while (b);
		switch (a) { case 1: f(); break; default: g(); }
		for (int v : values) h(v);
	}`)))
	kinds := []StatementKind{Simple, If, Loop, Loop, Loop, Loop, Switch, Loop}
	if len(list) != len(kinds) {
		t.Fatalf("%d statements, want %d: %+v", len(list), len(kinds), list)
	}
	for i, s := range list {
		if s.Kind != kinds[i] {
			t.Errorf("statement %d is of kind %d, want %d", i, s.Kind, kinds[i])
		}
	}
	if branch := list[1]; branch.Body[0].Kind != Return || len(branch.Else) != 2 {
		t.Errorf("the if statement is %+v", branch)
	}
	if loop := list[2]; join(loop.Init) != "int i = 0" || join(loop.Tokens) != "i < n" || join(loop.Step) != "i + +" || join(loop.Body[0].Tokens) != "x [ i ] = 0" {
		t.Errorf("the for loop is %+v", loop)
	}
	if cases := list[6].Body; len(cases) != 3 || cases[1].Kind != Return {
		t.Errorf("the switch is %+v", cases)
	}
	if over := join(list[7].Init); over != "int v = values [ 0 ]" {
		t.Errorf("the loop over a list begins with %s", over)
	}
}

// FuzzStatements checks that no body makes the readers panic or loop.
func FuzzStatements(f *testing.F) {
	f.Add([]byte("{ if (a) for (;;) { x[i] = (float)y; } else do ; while (b); }"))
	f.Add([]byte("{ switch (a) { case 1: f<2>(a); default: ; } }"))
	f.Add([]byte("} ) ] else case"))
	f.Fuzz(func(t *testing.T, source []byte) {
		var walk func([]Statement)
		walk = func(list []Statement) {
			for _, s := range list {
				_ = ReadExpression(s.Tokens).String()
				walk(s.Body)
				walk(s.Else)
			}
		}
		walk(Statements(Read(source)))
	})
}
