// SPDX-License-Identifier: Apache-2.0
/* Call frame information as no compiler writes it; run by nobody. Each row is checked by hand. */
	.text
	.globl _start
	.type _start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip
	nop
	.cfi_endproc
	.size _start, . - _start

	.balign 16
	.globl odd
	.type odd, @function
odd:
	.cfi_startproc
	nop				/* +0: rsp+8 */
	.cfi_remember_state
	.cfi_def_cfa_offset 16
	nop				/* +1: rsp+16 */
	.cfi_remember_state
	.cfi_def_cfa rbp, 16
	.cfi_offset rbp, -16
	nop				/* +2: rbp+16, rbp at -16 */
	.cfi_restore_state
	nop				/* +3: rsp+16 */
	.cfi_restore_state
	nop				/* +4: rsp+8 */
	.cfi_def_cfa r10, 0
	nop				/* +5: unsupported */
	.cfi_def_cfa rsp, 8
	.cfi_undefined rbp
	nop				/* +6: rsp+8, rbp gone */
	.cfi_same_value rbp
	nop				/* +7: rsp+8 */
	.cfi_register rbp, rax
	nop				/* +8: rsp+8, rbp gone */
	.cfi_restore rbp
	nop				/* +9: rsp+8 */
	.cfi_offset rbp, -40000
	nop				/* +10: rsp+8, rbp gone: it does not fit */
	.cfi_restore rbp
	.cfi_offset rip, -16
	nop				/* +11: unsupported */
	.cfi_restore rip
	.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06	/* CFA: *(rbp - 8) */
	.cfi_escape 0x10, 6, 2, 0x76, 0		/* rbp: at rbp + 0 */
	nop				/* +12: *(rbp-8), rbp at rbp */
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
	.cfi_restore rbp
	nop				/* +13: PLT, 11 */
	.cfi_escape 0x0f, 2, 0x77, 16		/* rsp + 16, as an expression */
	nop				/* +14: unsupported */
	.cfi_escape 0x13, 0x7e			/* def_cfa_offset_sf 16 */
	.cfi_escape 0x0d, 7			/* def_cfa_register rsp */
	nop				/* +15: rsp+16 */
	.cfi_escape 0x12, 7, 0x7d		/* def_cfa_sf rsp 24 */
	.cfi_escape 0x11, 6, 3			/* offset_extended_sf rbp, -24 */
	nop				/* +16: rsp+24, rbp at -24 */
	.cfi_escape 0x2e, 16			/* GNU_args_size */
	.cfi_escape 0x05, 6, 2			/* offset_extended rbp, -16 */
	nop				/* +17: rsp+24, rbp at -16 */
	.cfi_escape 0x14, 6, 2			/* val_offset rbp */
	nop				/* +18: rsp+24, rbp gone */
	.cfi_escape 0x16, 6, 2, 0x76, 0		/* val_expression rbp */
	.cfi_escape 0x06, 6			/* restore_extended rbp */
	nop				/* +19: rsp+24 */
	.cfi_def_cfa rsp, 8
	nop				/* +20: rsp+8 */
	.cfi_endproc
	.size odd, . - odd
	.skip 64, 0x90			/* no CFI */

	.balign 16
	.globl broken
	.type broken, @function
broken:
	.cfi_startproc
	nop				/* +0: rsp+8 */
	.cfi_def_cfa_offset 16
	nop				/* +1: rsp+16 */
	.cfi_escape 0x3f		/* no instruction */
	nop				/* +2: unsupported */
	.cfi_endproc
	.size broken, . - broken

	.balign 16
	.globl returns_from_signal
	.type returns_from_signal, @function
returns_from_signal:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 0x06	/* CFA: *(rsp + 160) */
	nop				/* +0: signal */
	.cfi_endproc
	.size returns_from_signal, . - returns_from_signal

	.balign 16
	.globl plain_but_marked
	.type plain_but_marked, @function
plain_but_marked:
	.cfi_startproc
	.cfi_signal_frame
	nop				/* +0: rsp+8: what the kernel saves is not there */
	.cfi_endproc
	.size plain_but_marked, . - plain_but_marked
	.section .note.GNU-stack, "", @progbits
