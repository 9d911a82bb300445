#include "textflag.h"

// A line has 64 bytes on every processor of this kind.

// func flush(start, end uintptr, optimised bool)
TEXT ·flush(SB), NOSPLIT, $0-17
	MOVQ start+0(FP), AX
	MOVQ end+8(FP), BX
	MOVBLZX optimised+16(FP), DX
	ANDQ $~63, AX
	TESTL DX, DX
	JEQ  plain

any:
	CMPQ AX, BX
	JCC  done
	CLFLUSHOPT (AX)
	ADDQ $64, AX
	JMP  any

plain:
	CMPQ AX, BX
	JCC  done
	CLFLUSH (AX)
	ADDQ $64, AX
	JMP  plain

done:
	MFENCE
	RET

// func walk(first, end uintptr)
TEXT ·walk(SB), NOSPLIT, $0-16
	MOVQ first+0(FP), DI
	MOVQ end+8(FP), SI
	XORL DX, DX

next:
	CMPQ DI, SI
	JCC  walked
	MOVQ (DI), AX
	MOVBLZX (AX)(DX*1), DX
	ANDL $0, DX // it is 0, and known to be once the load is done
	ADDQ $8, DI
	JMP  next

walked:
	RET

#define MUL8 IMULQ AX, AX; IMULQ AX, AX; IMULQ AX, AX; IMULQ AX, AX; IMULQ AX, AX; IMULQ AX, AX; IMULQ AX, AX; IMULQ AX, AX;

// func spin(rounds int)
TEXT ·spin(SB), NOSPLIT, $0-8
	MOVQ rounds+0(FP), CX
	MOVQ $3, AX

again:
	CMPQ CX, $0
	JLE  spun
	MUL8 MUL8 MUL8 MUL8 MUL8 MUL8 MUL8 MUL8
	DECQ CX
	JMP  again

spun:
	RET

// func cpuid(leaf, subleaf uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL subleaf+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET
