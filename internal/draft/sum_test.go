package draft

import "testing"

func TestSum(t *testing.T) {
	n, c, b := named("N"), named("C"), named("B")
	last := n.plus(number(1), -1).times(c).plus(c.plus(number(1), -1), 1) // the last index of N rows of C
	for _, test := range []struct {
		got  sum
		want string
	}{
		{nil, "0"},
		{last, "N * C - 1"},
		{last.plus(number(1), 1).over(c), "N"},
		{last.over(c), "N - 1"},
		{n.times(number(4)).plus(n, -4), "0"},
		{n.over(number(2)), "(N // 2)"},
		{n.ceilOver(b), "ceildiv(N, B)"},
		{n.ceilOver(number(16)).times(number(16)), "N"},
		{n.ceilOver(b.times(c)).times(c).times(b), "N"},
		{n.ceilOver(b).times(b).times(c), "N * C"},
		{n.over(b).times(b), "N"},
		{n.times(b).ceilOver(b), "N"},
		{quotientOf(n.plus(b, 1).plus(number(1), -1), b), "ceildiv(N, B)"},
		{quotientOf(n.plus(number(255), 1), number(256)), "ceildiv(N, 256)"},
		{quotientOf(n.plus(number(1), 1), number(256)), "((N + 1) // 256)"},
	} {
		if got := test.got.String(); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
	values := map[string]int64{"N": 100, "C": 7, "B": 16}
	if got, ok := n.ceilOver(b).times(c).plus(number(1), -1).at(values); got != 48 || !ok {
		t.Errorf("ceildiv(100, 16) * 7 - 1 = %d, %t", got, ok)
	}
	if got, ok := named("M").at(values); ok {
		t.Errorf("an unknown variable is %d", got)
	}
}
