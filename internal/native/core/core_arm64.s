#include "textflag.h"

// func flush(start, end uintptr, optimised bool)
TEXT ·flush(SB), NOSPLIT, $0-17
	MOVD start+0(FP), R0
	MOVD end+8(FP), R1
	MRS  CTR_EL0, R3
	UBFX $16, R3, $4, R3
	MOVD $4, R2
	LSL  R3, R2, R2 // bytes of the smallest line
	SUB  $1, R2, R4
	BIC  R4, R0

again:
	CMP  R1, R0
	BHS  done
	DC   CIVAC, R0
	ADD  R2, R0
	B    again

done:
	DSB  $15
	RET

#define ADD8 ADD R1, R1, R1; ADD R1, R1, R1; ADD R1, R1, R1; ADD R1, R1, R1; ADD R1, R1, R1; ADD R1, R1, R1; ADD R1, R1, R1; ADD R1, R1, R1;

// func spin(rounds int)
TEXT ·spin(SB), NOSPLIT, $0-8
	MOVD rounds+0(FP), R0
	MOVD $3, R1

again:
	CMP  $0, R0
	BLE  spun
	ADD8 ADD8 ADD8 ADD8 ADD8 ADD8 ADD8 ADD8
	SUB  $1, R0
	B    again

spun:
	RET

// func walk(first, end uintptr)
TEXT ·walk(SB), NOSPLIT, $0-16
	MOVD first+0(FP), R0
	MOVD end+8(FP), R1
	MOVD ZR, R2

next:
	CMP   R1, R0
	BHS   walked
	MOVD  (R0), R3
	ADD   R2, R3
	MOVBU (R3), R4
	AND   ZR, R4, R2 // it is 0, and known to be once the load is done
	ADD   $8, R0
	B     next

walked:
	RET
