package spec
import ("testing";"strings";"time";"fmt";)
func TestZZ(t *testing.T){
 for _,s:=range []string{"[","{","- ","a: ","? ","a:\n","- a\n","&a ","*a ","!a ","'","\"","|","a: |\n ","# x\n","a,","[a],","{a: b},","\n","\t","a: &a b\n","x ","- - a\n","a: b\n","'a' ","\"\\x41","\"\\u00e9 ", "  ", "%", "---\n", "...\n", "--- a\n", "a: >\n  x\n", "[? ", "{? a: ", "[a: b, ", "[&a ", "a: 'b\n", ": ", "-\n", " -\n","a:\n - ", "[\n", "[a:\n", "<<: *a\n", "a: [", "{a", "é: ü\n"} {
  for _,pre:=range []string{"","version: 1\nci:\n  ","version: 1\nci: [", "version: 1\nci: |\n  x", "version: 1\nci: \"", "version: 1\nci: '", "version: 1\nci: >\n  x\n", "a: b", "a: b\n  "} {
  n:=(1<<20-len(pre))/len(s)
  st:=time.Now()
  _,err:=Parse("p",[]byte(pre+strings.Repeat(s,n))); e:=fmt.Sprint(err); e=strings.ReplaceAll(e,"\n"," "); if len(e)>60 {e=e[:60]}
  d:=time.Since(st)
  if d>1500*time.Millisecond { fmt.Printf("%q %q %v %s\n",pre,s,d,e)}
 }}
}
