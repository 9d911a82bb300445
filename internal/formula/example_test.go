package formula_test

import (
	"errors"
	"fmt"
	"strings"

	"pawl/internal/formula"
)

func Example() {
	expr, err := formula.Parse("ceildiv(S, BLOCK_M) * B * H")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("uses", expr.Names())

	program, err := expr.Compile([]string{"B", "H", "S", "BLOCK_M"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range []int64{512, 4000} {
		blocks, err := program.Eval([]formula.Value{
			formula.Int(32), formula.Int(8), formula.Int(s), formula.Int(128),
		})
		fmt.Println(blocks, err)
	}
	// Output:
	// uses [B BLOCK_M H S]
	// 1024 <nil>
	// 8192 <nil>
}

// An error knows its place in the source, also when it comes out of Eval.
func ExampleError() {
	show := func(src string, err error) {
		var e *formula.Error
		if errors.As(err, &e) {
			fmt.Printf("%s\n%s%s %s\n", src, strings.Repeat(" ", e.Offset), strings.Repeat("^", max(1, e.Width)), e.Message)
			if e.Hint != "" {
				fmt.Println("hint:", e.Hint)
			}
		}
	}

	_, err := formula.Parse("cieldiv(S, 64)")
	show("cieldiv(S, 64)", err)

	expr, _ := formula.Parse("S // (D - 64)")
	_, err = expr.Compile([]string{"S"})
	show(expr.Source(), err)

	program, _ := expr.Compile([]string{"S", "D"})
	_, err = program.Eval([]formula.Value{formula.Int(512), formula.Int(64)})
	show(expr.Source(), err)
	// Output:
	// cieldiv(S, 64)
	// ^^^^^^^ unknown function "cieldiv"
	// hint: did you mean ceildiv?
	// S // (D - 64)
	//       ^ unknown name "D"
	// S // (D - 64)
	//   ^^ division by zero in 512 // 0
}

func ExampleValue_String() {
	fmt.Println(formula.Int(64), formula.Float(2), formula.Float(0.125), formula.Bool(true), formula.String("f16"))
	// Output: 64 2.0 0.125 True f16
}
