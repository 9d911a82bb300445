package main
import ("fmt";"os";"pawl/internal/spec")
func main(){ s,err:=spec.Load(os.Args[1]); if err!=nil{fmt.Println(err);os.Exit(1)}
 for _,k:=range s.Kernels{ n:=0; for v:=range k.Variants(){n++; for _,c:=range k.Configs{ if _,err:=v.At(c);err!=nil{fmt.Println(err)}}}
  fmt.Println(k.Name,n,"variants, oracle",k.Oracle.Builtin,k.Tolerance,k.Flags)
  for _,c:=range k.Configs{ in,err:=k.Default().At(c); if err!=nil{fmt.Println(err);continue}; fmt.Println("  ",c.Name,in.Flops,in.Bytes,in.Footprint,k.Default().Name()); if c==k.Configs[0]{for _,a:=range in.Args{fmt.Println("     ",a)}}}}
}
