package profile

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/pattern"
)

// Function is the machine code of one kernel, as a disassembler lists it.
type Function struct {
	Name         string // the symbol
	Arch         string // such as sm_90a; "": the text does not say
	Instructions []Instruction
}

// Instruction is one line of machine code.
type Instruction struct {
	Offset    int
	Predicate string // such as P0 or !UP1; "": always executed
	Op        string // as written: LDG.E.128.CONSTANT
	Operands  string
	Depth     int // loops around it
}

// Base returns the operation without its modifiers.
func (i Instruction) Base() string {
	base, _, _ := strings.Cut(i.Op, ".")
	return base
}

// has reports whether an instruction has a modifier.
func (i Instruction) has(modifier string) bool {
	_, modifiers, _ := strings.Cut(i.Op, ".")
	return slices.Contains(strings.Split(modifiers, "."), modifier)
}

var (
	sassLine     = pattern.New(`^\s*(?:\{\s*)?/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(?:@(!?U?P[0-9T]+)\s+)?([A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*)\s*([^;]*)`)
	sassFunction = pattern.New(`^\s*Function\s*:\s*(\S+)`)
	sassArch     = pattern.New(`^\s*(?:code for|\.target|arch =)\s*(sm_[0-9]+[af]?)`)
	sassText     = pattern.New(`^\s*\.text\.(\S+):\s*$`)
	sassLabel    = pattern.New(`^\s*(\.L_[A-Za-z0-9_.$]+|\$[^:\s]+):\s*$`)
	branchTo     = pattern.New("(?:^|[ ,])(0x[0-9a-f]+)\\s*$|`\\((\\.L_[A-Za-z0-9_.$]+)\\)")
)

// ReadSASS reads what cuobjdump -sass or nvdisasm prints: the instructions of every function.
func ReadSASS(name string, text string) ([]*Function, error) {
	var found []*Function
	var now *Function
	labels := map[*Function]map[string]int{}
	var waiting []string // labels that stand before the next instruction
	arch := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.Contains(line, "/*"):
			m := sassLine.FindStringSubmatch(line)
			if m == nil || now == nil {
				continue // the second half of an encoding
			}
			offset, err := strconv.ParseInt(m[1], 16, 64)
			if err != nil {
				continue
			}
			for _, label := range waiting {
				labels[now][label] = int(offset)
			}
			waiting = waiting[:0]
			now.Instructions = append(now.Instructions, Instruction{Offset: int(offset), Predicate: m[2], Op: m[3], Operands: strings.TrimSpace(m[4])})
		case sassFunction.MatchString(line):
			now = &Function{Name: sassFunction.FindStringSubmatch(line)[1], Arch: arch}
			found, labels[now] = append(found, now), map[string]int{}
		case sassText.MatchString(line):
			now = &Function{Name: sassText.FindStringSubmatch(line)[1], Arch: arch}
			found, labels[now] = append(found, now), map[string]int{}
		case sassLabel.MatchString(line):
			waiting = append(waiting, sassLabel.FindStringSubmatch(line)[1])
		default:
			if m := sassArch.FindStringSubmatch(line); m != nil {
				arch = m[1]
			}
		}
	}
	for _, f := range found {
		f.loops(labels[f])
		f.trim(labels[f])
	}
	found = slices.DeleteFunc(found, func(f *Function) bool { return len(f.Instructions) == 0 })
	if len(found) == 0 {
		return nil, &diag.Problem{Pos: diag.Pos{File: name}, Message: "no instructions in it, expected the output of cuobjdump -sass or nvdisasm", Hint: "cuobjdump -sass FILE.cubin > FILE.sass"}
	}
	return found, nil
}

// loops counts the loops around each instruction: those whose branch goes back over it.
func (f *Function) loops(labels map[string]int) {
	for i := range f.Instructions {
		at := &f.Instructions[i]
		if at.Base() != "BRA" && at.Base() != "BRX" {
			continue
		}
		target, ok := at.target(labels)
		if !ok || target >= at.Offset {
			continue
		}
		first, _ := slices.BinarySearchFunc(f.Instructions, target, func(i Instruction, t int) int { return cmp.Compare(i.Offset, t) })
		for j := first; j <= i; j++ {
			f.Instructions[j].Depth++
		}
	}
}

func (i Instruction) target(labels map[string]int) (int, bool) {
	m := branchTo.FindStringSubmatch(i.Operands)
	if m == nil {
		return 0, false
	}
	if m[2] != "" {
		offset, known := labels[m[2]]
		return offset, known
	}
	offset, err := strconv.ParseInt(strings.TrimPrefix(m[1], "0x"), 16, 64)
	return int(offset), err == nil
}

// trim removes what stands behind the code: a branch to itself, and nothing more until the end.
func (f *Function) trim(labels map[string]int) {
	n := len(f.Instructions)
	for n > 0 && f.Instructions[n-1].Base() == "NOP" {
		n--
	}
	if n > 0 && f.Instructions[n-1].Base() == "BRA" {
		if target, ok := f.Instructions[n-1].target(labels); ok && target == f.Instructions[n-1].Offset {
			n--
		}
	}
	f.Instructions = f.Instructions[:n]
}

// Bytes returns the size of the code.
func (f *Function) Bytes() int {
	if n := len(f.Instructions); n > 1 {
		return f.Instructions[n-1].Offset + f.Instructions[1].Offset - f.Instructions[0].Offset
	}
	return 16 * len(f.Instructions)
}

// Class is what an instruction is for.
type Class string

// The classes.
const (
	ClassFloat      Class = "f32"
	ClassDouble     Class = "f64"
	ClassHalf       Class = "f16"
	ClassTensor     Class = "tensor"
	ClassSpecial    Class = "special" // functions such as exp2 and rsqrt
	ClassInteger    Class = "integer"
	ClassConversion Class = "conversion"
	ClassMove       Class = "move"
	ClassLoad       Class = "global load"
	ClassStore      Class = "global store"
	ClassShared     Class = "shared"
	ClassLocal      Class = "local"
	ClassConstant   Class = "constant"
	ClassAtomic     Class = "atomic"
	ClassBulk       Class = "bulk copy" // TMA and its relatives
	ClassAsync      Class = "async copy"
	ClassBarrier    Class = "barrier"
	ClassBranch     Class = "branch"
	ClassShuffle    Class = "shuffle"
	ClassTexture    Class = "texture"
	ClassOther      Class = "other"
)

// classes by operation; prefixes of several operations follow in prefixes.
var classes = map[string]Class{
	"FFMA": ClassFloat, "FADD": ClassFloat, "FMUL": ClassFloat, "FFMA32I": ClassFloat, "FADD32I": ClassFloat, "FMUL32I": ClassFloat, "FSETP": ClassFloat, "FSEL": ClassFloat, "FSET": ClassFloat,
	"FMNMX": ClassFloat, "FMNMX3": ClassFloat, "FCHK": ClassFloat, "FSWZADD": ClassFloat, "FRND": ClassConversion, "FFMA2": ClassFloat, "FADD2": ClassFloat, "FMUL2": ClassFloat,
	"DFMA": ClassDouble, "DADD": ClassDouble, "DMUL": ClassDouble, "DSETP": ClassDouble, "DMNMX": ClassDouble, "DSET": ClassDouble,
	"HFMA2": ClassHalf, "HADD2": ClassHalf, "HMUL2": ClassHalf, "HSETP2": ClassHalf, "HSET2": ClassHalf, "HMNMX2": ClassHalf, "HFMA2_MMA": ClassHalf, "HMNMX": ClassHalf,
	"MUFU": ClassSpecial,
	"LDG":  ClassLoad, "LD": ClassLoad, "STG": ClassStore, "ST": ClassStore, "LDS": ClassShared, "STS": ClassShared, "LDSM": ClassShared, "STSM": ClassShared, "LDL": ClassLocal, "STL": ClassLocal,
	"LDC": ClassConstant, "LDCU": ClassConstant, "ULDC": ClassConstant,
	"ATOM": ClassAtomic, "ATOMG": ClassAtomic, "ATOMS": ClassAtomic, "RED": ClassAtomic, "REDG": ClassAtomic, "REDAS": ClassAtomic, "SUATOM": ClassAtomic, "ATOMIC": ClassAtomic,
	"LDGSTS": ClassAsync, "LDGDEPBAR": ClassAsync, "DEPBAR": ClassBarrier,
	"BAR": ClassBarrier, "UCGABAR_ARV": ClassBarrier, "UCGABAR_WAIT": ClassBarrier, "SYNCS": ClassBarrier, "MEMBAR": ClassBarrier, "WARPSYNC": ClassBarrier, "ERRBAR": ClassBarrier, "FENCE": ClassBarrier,
	"BRA": ClassBranch, "BRX": ClassBranch, "BRXU": ClassBranch, "JMP": ClassBranch, "JMX": ClassBranch, "CALL": ClassBranch, "RET": ClassBranch, "EXIT": ClassBranch, "BSSY": ClassBranch,
	"BSYNC": ClassBranch, "BREAK": ClassBranch, "BMOV": ClassBranch, "BRA_U": ClassBranch, "BPT": ClassBranch, "KILL": ClassBranch, "NANOSLEEP": ClassBranch, "YIELD": ClassBranch,
	"SHFL": ClassShuffle, "VOTE": ClassShuffle, "VOTEU": ClassShuffle, "MATCH": ClassShuffle, "REDUX": ClassShuffle, "CREDUX": ClassShuffle,
	"MOV": ClassMove, "MOV32I": ClassMove, "UMOV": ClassMove, "SEL": ClassMove, "USEL": ClassMove, "PRMT": ClassMove, "UPRMT": ClassMove, "S2R": ClassMove, "S2UR": ClassMove, "CS2R": ClassMove,
	"R2P": ClassMove, "P2R": ClassMove, "R2UR": ClassMove, "MOVM": ClassMove, "UP2UR": ClassMove, "CS2UR": ClassMove, "R2B": ClassMove, "B2R": ClassMove,
	"TEX": ClassTexture, "TLD": ClassTexture, "TLD4": ClassTexture, "TXD": ClassTexture, "TMML": ClassTexture, "TXQ": ClassTexture, "SULD": ClassTexture, "SUST": ClassTexture,
	"NOP": ClassOther, "USETMAXREG": ClassOther, "CCTL": ClassOther, "PREEXIT": ClassOther, "ACQBULK": ClassOther,
}

var classPrefixes = []struct {
	prefix string
	class  Class
}{
	{"UTMA", ClassBulk},
	{"UBLK", ClassBulk},
	{"UTC", ClassTensor},
	{"LDT", ClassTensor},
	{"STT", ClassTensor},
	{"HMMA", ClassTensor},
	{"IMMA", ClassTensor},
	{"BMMA", ClassTensor},
	{"DMMA", ClassTensor},
	{"QMMA", ClassTensor},
	{"OMMA", ClassTensor},
	{"HGMMA", ClassTensor},
	{"IGMMA", ClassTensor},
	{"QGMMA", ClassTensor},
	{"BGMMA", ClassTensor},
	{"WARPGROUP", ClassTensor},
	{"WARPGROUPSET", ClassTensor},
	{"F2F", ClassConversion},
	{"F2I", ClassConversion},
	{"I2F", ClassConversion},
	{"I2I", ClassConversion},
	{"I2IP", ClassConversion},
	{"F2FP", ClassConversion},
	{"UF2", ClassConversion},
	{"UI2", ClassConversion},
	{"I", ClassInteger},
	{"UI", ClassInteger},
	{"L", ClassInteger},
	{"UL", ClassInteger},
	{"S", ClassInteger},
	{"US", ClassInteger},
	{"PLOP", ClassInteger},
	{"UPLOP", ClassInteger},
	{"POPC", ClassInteger},
	{"UPOPC", ClassInteger},
	{"FLO", ClassInteger},
	{"UFLO", ClassInteger},
	{"BREV", ClassInteger},
	{"UBREV", ClassInteger},
	{"BMSK", ClassInteger},
	{"UBMSK", ClassInteger},
	{"VABSDIFF", ClassInteger},
	{"VIADD", ClassInteger},
	{"VIMNMX", ClassInteger},
	{"VHMNMX", ClassInteger},
	{"V", ClassInteger},
	{"R2", ClassMove},
	{"U", ClassOther},
}

// Class returns what the instruction is for.
func (i Instruction) Class() Class {
	base := i.Base()
	if c, known := classes[base]; known {
		return c
	}
	for _, p := range classPrefixes {
		if strings.HasPrefix(base, p.prefix) {
			return p.class
		}
	}
	return ClassOther
}

// Key returns the instruction's place in a histogram: the operation, with the modifiers that change
// what it costs. Widths of memory accesses count, caching hints do not.
func (i Instruction) Key() string {
	base := i.Base()
	switch i.Class() {
	case ClassLoad, ClassStore, ClassShared, ClassLocal, ClassAsync:
		for _, width := range []string{"128", "64", "U16", "S16", "16", "U8", "S8", "256"} {
			if i.has(width) {
				return base + "." + strings.TrimLeft(width, "US")
			}
		}
		if base == "LDSM" || base == "STSM" || base == "LDGDEPBAR" {
			return base
		}
		return base + ".32"
	case ClassSpecial, ClassTensor, ClassConversion, ClassAtomic:
		return i.Op
	}
	return base
}

// Histogram counts the instructions of a function by key.
type Histogram map[string]int

// Mix counts a function's instructions: by key, by class, and inside of loops.
type Mix struct {
	Total   int            `json:"total"`
	InLoops int            `json:"in_loops"`
	Bytes   int            `json:"bytes"`
	Deepest int            `json:"deepest"` // loops inside of each other
	Keys    Histogram      `json:"keys"`
	Hot     Histogram      `json:"hot,omitempty"` // those of the deepest loops; nil where there is no loop
	Classes map[Class]int  `json:"classes"`
	Uses    map[string]int `json:"uses,omitempty"` // features: see Features
}

// Features that exceptions of findings depend on, and the operations that show them.
var features = map[string][]string{
	"setmaxnreg": {"USETMAXREG"},
	"tma":        {"UTMALDG", "UTMASTG", "UTMAREDG", "UBLKCP", "UBLKRED"},
	"wgmma":      {"HGMMA", "IGMMA", "QGMMA", "BGMMA"},
	"tcgen05":    {"UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA"},
	"cp_async":   {"LDGSTS"},
	"ldmatrix":   {"LDSM"},
	"mbarrier":   {"SYNCS"},
	"cluster":    {"UCGABAR_ARV", "UCGABAR_WAIT"},
}

// Mix counts the instructions.
func (f *Function) Mix() *Mix {
	m := &Mix{Total: len(f.Instructions), Bytes: f.Bytes(), Keys: Histogram{}, Classes: map[Class]int{}, Uses: map[string]int{}}
	for _, i := range f.Instructions {
		m.Deepest = max(m.Deepest, i.Depth)
	}
	if m.Deepest > 0 {
		m.Hot = Histogram{}
	}
	for _, i := range f.Instructions {
		key := i.Key()
		m.Keys[key]++
		m.Classes[i.Class()]++
		if i.Depth > 0 {
			m.InLoops++
		}
		if m.Deepest > 0 && i.Depth == m.Deepest {
			m.Hot[key]++
		}
		for feature, ops := range features {
			if slices.Contains(ops, i.Base()) {
				m.Uses[feature]++
			}
		}
	}
	return m
}

// Sorted returns the keys of a histogram, the most frequent first.
func (h Histogram) Sorted() []string {
	keys := slices.Sorted(maps.Keys(h))
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(h[b], h[a]) })
	return keys
}
