// SPDX-License-Identifier: Apache-2.0
// Every way in which a function can have a name, or none. What each place must be called is in
// tests/unit/test_symbol_elf.c. Nothing here is ever run.

	.macro function name, binding=local, kind=function
	.\binding \name
	.type \name, @\kind
\name:
	.endm

	.macro code bytes
	.fill \bytes, 1, 0x90
	.endm

	.text
	.globl _start
	function _start globl
	code 16
	.size _start, 16

	// One inside the other, and one of no size inside as well; then a gap that belongs to nobody.
	function outer_one globl
	code 16
	function inner_one
	code 16
	.size inner_one, 16
	function inner_label
	code 32
	.size outer_one, 64
	code 32

	// Without a size: up to the next symbol.
	function no_size globl
	code 32
	function after_no_size
	code 16
	.size after_no_size, 16

	// Not said to be a function; hidden, it is nobody's.
	.globl plain_label
plain_label:
	code 16
	function between_labels
	code 8
	.size between_labels, 8
	.hidden hidden_label
hidden_label:
	code 8

	// Aliases: global before local before weak, fewer underscores, the longer name.
	function much_longer_weak_name weak
	function _one_name globl
	function one_name globl
	function quite_a_long_local_name
	code 16
	.size much_longer_weak_name, 16
	.size _one_name, 16
	.size one_name, 16
	.size quite_a_long_local_name, 16
	function weak_alias weak
	function local_alias
	code 16
	.size weak_alias, 16
	.size local_alias, 16
	function abc globl
	function abcdef globl
	code 16
	.size abc, 16
	.size abcdef, 16
	function aliased_no_size globl
	function aliased
	code 16
	.size aliased, 16
	code 16

	// Of other kinds.
	function chosen_at_start globl gnu_indirect_function
	code 16
	.size chosen_at_start, 16
	function data_in_code globl object
	code 16
	.size data_in_code, 16

	// C++, a part of it that was split off, Rust before and after the new mangling.
	function _ZNK5outer5inner3runIlLi8EEEiPKcRT_ globl
	code 16
	.size _ZNK5outer5inner3runIlLi8EEEiPKcRT_, 16
	function _ZN5outer3runEv.cold
	code 16
	.size _ZN5outer3runEv.cold, 16
	function _ZN4core3fmt9Formatter9write_str17h0123456789abcdefE
	code 16
	.size _ZN4core3fmt9Formatter9write_str17h0123456789abcdefE, 16
	function _ZN47_$LT$alloc..string..String$u20$as$u20$Clone$GT$5clone17h0123456789abcdefE
	code 16
	.size _ZN47_$LT$alloc..string..String$u20$as$u20$Clone$GT$5clone17h0123456789abcdefE, 16
	function _RNvMs_NtCs1234_7mycrate3fooNtB4_3Bar3baz
	code 16
	.size _RNvMs_NtCs1234_7mycrate3fooNtB4_3Bar3baz, 16
	function _Znot_really_mangled
	code 16
	.size _Znot_really_mangled, 16

	// Without a size, at the end of its section.
	function last_no_size
	code 8

	.section other_code, "ax", @progbits
	code 16
	function alone
	code 16
	.size alone, 16
