/* SPDX-License-Identifier: MIT */
/*
 * A library of code without call frame information, for tests/unit/test_solve_linked.c: what only a
 * linked file has, and shapes of compilers. Labels are global, so that the test finds them, and have
 * no type, so that the analysis does not take them for functions.
 */
#define FUNCTION(name) .p2align 4; .globl name; .type name, @function; name:
#define LABEL(name)    .globl name; name:

	.text
	.fill 4096, 1, 0xcc

/* A function that never returns, called through the linkage table: another file could replace it. */
FUNCTION(never)
	sub $8, %rsp
	ud2
FUNCTION(calls_never)
	push %rbx
	test %edi, %edi
	je 1f
	call never@plt
LABEL(behind_never)
	push %rsi
1:	pop %rbx
	ret
/* The same by a jump, through the slot itself. */
FUNCTION(jumps_to_never)
	jmp *never@GOTPCREL(%rip)
FUNCTION(calls_jump)
	sub $24, %rsp
	test %edi, %edi
	je 1f
	call jumps_to_never@plt
LABEL(behind_jump)
	push %rsi
1:	add $24, %rsp
	ret

/* gcc's code of an unwinder: it goes to a handler, with the stack pointer of its function. */
	.p2align 4
resumes:
	push %rbp
	mov %rsp, %rbp
	mov 16(%rdi), %rcx
	mov 0(%rbp), %rbp
	mov %rcx, %rsp
	pop %rcx
	jmp *%rcx
FUNCTION(calls_resumes)
	sub $40, %rsp
	test %edi, %edi
	je 1f
	call resumes
LABEL(behind_resumes)
	push %rsi
1:	add $40, %rsp
	ret

/* clang's table: a number that never comes leads behind the function, where another one begins. */
FUNCTION(switched)
	push %rbx
	cmp $2, %edi
	ja 9f
	lea table(%rip), %rdx
	mov %edi, %edi
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	jmp *%rax
case_0:	call *%rsi
	jmp 9f
on_2:
LABEL(case_2)
	call *%rcx
9:	pop %rbx
	ret
behind_switch:
	nop
	.p2align 4
LABEL(next)
	test %edi, %edi
	jne 1f
	inc %eax
1:	ret

/* Tables without bounds, one right behind the other: whose first entry leads back, */
FUNCTION(loops)
	sub $40, %rsp
loop:	test %edi, %edi
	js 1f
	lea loop_table(%rip), %rcx
	movslq (%rcx,%rax,4), %rax
	add %rcx, %rax
	jmp *%rax
on_loop:
LABEL(loop_case)
	call *%rsi
	jmp loop
1:	add $40, %rsp
	ret
FUNCTION(follows_loops)
	push %rbx
	sub $96, %rsp
	test %edi, %edi
	js follows_case
LABEL(follows_start)
	lea 0x100(%rsp), %rdx
follows_case:
	lea follows_table(%rip), %rcx
	movslq (%rcx,%rax,4), %rax
	add %rcx, %rax
	test %eax, %eax
	js 1f
	jmp *%rax
1:	add $96, %rsp
	pop %rbx
	ret
/* or whose first number is not used. */
FUNCTION(skips)
	sub $56, %rsp
	lea skips_table(%rip), %rcx
	movslq (%rcx,%rax,4), %rax
	add %rcx, %rax
	jmp *%rax
on_skips:
LABEL(skips_case)
	call *%rsi
	add $56, %rsp
	ret
FUNCTION(follows_skips)
	push %rbx
	sub $128, %rsp
	test %edi, %edi
	js follows_skips_case
LABEL(follows_skips_start)
	lea 0x100(%rsp), %rdx
follows_skips_case:
	lea follows_skips_table(%rip), %rcx
	movslq (%rcx,%rax,4), %rax
	add %rcx, %rax
	test %eax, %eax
	js 1f
	jmp *%rax
1:	add $128, %rsp
	pop %rbx
	ret
/* Guesses: what follows is no function by any symbol. A part of a function, which stands where one
 * could begin, and before the function that jumps there from the middle of its frame. */
	.p2align 4
LABEL(cold_part)
cold:	mov $40, %edi
	call *%rsi
	ud2
	.p2align 4
LABEL(has_cold)
	push %rbx
	sub $32, %rsp
	test %edi, %edi
LABEL(has_cold_in)
	jne cold
	add $32, %rsp
	pop %rbx
	ret

/* A pointer to a part of a function, which shares code with the function. */
	.p2align 4
LABEL(pointed_part)
pointed: mov 8(%rbx), %rdi
	jmp shared
	.p2align 4
LABEL(has_shared)
	push %rbx
	sub $48, %rsp
	mov %rdi, %rbx
	test %edi, %edi
	jne shared
	add $48, %rsp
	pop %rbx
	ret
LABEL(shared_part)
shared:	call *%rsi
	mov 8(%rbx), %rax
	jmp *%rax

/* Two functions that end in a third one, of which only jumps tell. */
FUNCTION(ends_in_third)
	jmp third
	.p2align 4
LABEL(ends_in_third_too)
	lea 8(%rsp), %rax
	push %rbx
	sub $16, %rsp
LABEL(ends_in_third_in)
	mov %rax, %rbx
	add $16, %rsp
	pop %rbx
	jmp third
third:	mov %rdi, %rcx
	ret

/* What ends in a function that an object knows, and a part of such code. Nothing shows that calls
 * lead there. */
	.p2align 4
LABEL(dispatches)
dispatching: mov (%rdi), %rax
	jmp *16(%rax)
	.p2align 4
LABEL(dispatches_part)
dispatching_part: mov (%rbx), %rax
	jmp *16(%rax)

/* A part that nobody would align, which writes what functions preserve, and goes on to the next. */
	ret
	nop
	nop
LABEL(copies)
copying: movzwl (%rdx), %ebx
	mov %bl, (%rax)
	jmp *%r10

/* A function that is known by the tail call of what nothing is known of. */
	.p2align 4
LABEL(unknown)
	mov (%rbx), %rdi
	jmp known
	.p2align 4
LABEL(known_by_jump)
known:	push %rbp
	push %rbx
	mov %rdi, %rbx
LABEL(known_by_jump_in)
	call *%rsi
	pop %rbx
	pop %rbp
	mov (%r12), %rax
	jmp *%rax

/* What is entered where code is interrupted: it saves all registers, and returns to no caller. */
	.p2align 4
LABEL(interrupts)
interrupting: push %r13
	push %r12
	push %r11
	push %r10
	push %r9
	push %r8
LABEL(interrupts_in)
	call *%rdi
	ud2

/* What the linkage table enters by a jump, with two words above the return address. */
	.p2align 4
LABEL(resolves)
	push %rbx
	mov %rsp, %rbx
	and $-64, %rsp
LABEL(resolves_in)
	call *%rdi
	mov %rax, %r11
	mov %rbx, %rsp
	mov (%rsp), %rbx
	add $24, %rsp
	jmp *%r11

/* A function behind a call that does not return. */
FUNCTION(calls_never_last)
	sub $8, %rsp
	call never@plt
	nop
	.p2align 4
LABEL(behind_call)
	test %edi, %edi
	jne 1f
	inc %eax
1:	ret
/* A table of addresses: its words are no pointers to functions, even if a case could be one. */
	.p2align 4
LABEL(has_cases)
	push %rbx
	sub $64, %rsp
	cmp $1, %edi
	ja 9f
	mov %edi, %edi
	lea cases(%rip), %rdx
	jmp *(%rdx,%rdi,8)
	.p2align 4
LABEL(on_one)
one:	call *%rsi
	mov (%rax), %rax
	jmp *16(%rax)
	.p2align 4
LABEL(on_two)
two:	call *%rsi
9:	add $64, %rsp
	pop %rbx
	ret

/* A number that never comes leads to the function behind, without padding: that one is called. */
FUNCTION(switched_on)
	sub $72, %rsp
	cmp $1, %edi
	ja 9f
	lea table_on(%rip), %rdx
	mov %edi, %edi
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	jmp *%rax
case_on: add $72, %rsp
	ret
9:	call abort@plt
LABEL(called_next)
called:	test %edi, %edi
	jne 1f
	inc %eax
1:	ret
	.p2align 4
LABEL(calls_next)
	sub $8, %rsp
	call called
	add $8, %rsp
	ret

/* Large frames, whose pages are touched: in a loop, or by a function. */
FUNCTION(probes)
	lea -0x8000(%rsp), %r11
1:	sub $0x1000, %rsp
	orq $0, (%rsp)
	cmp %r11, %rsp
	jne 1b
	sub $0x100, %rsp
LABEL(probes_in)
	call *%rdi
	add $0x8100, %rsp
	ret
FUNCTION(is_probed)
	push %rbx
	mov $0x2248, %eax
	call touches
	sub %rax, %rsp
LABEL(is_probed_in)
	call *%rdi
	add $0x2248, %rsp
	pop %rbx
	ret
FUNCTION(touches)
	ret

/* Functions right behind an end, which nothing refers to; the last one never returns. */
	.p2align 4
	.fill 14, 1, 0xcc
	ud2
LABEL(behind_stop)
	test %edi, %edi
	jne 1f
	inc %eax
1:	ret
	.p2align 4
	.fill 10, 1, 0xcc
	jmp *abort@GOTPCREL(%rip)
LABEL(behind_slot)
	test %edi, %edi
	jne 1f
	inc %eax
1:	ret
	.p2align 4
LABEL(fails)
	sub $24, %rsp
LABEL(fails_in)
	call *%rdi
	ud2

/* Functions that the table of a call leads to, somewhere in it. */
FUNCTION(calls_by_table)
	sub $40, %rsp
	lea callees(%rip), %r10
	lea (%r10,%rdi,8), %r11
	movslq 8(%r11,%rsi,4), %rax
	add %r10, %rax
	call *%rax
	add $40, %rsp
	ret
LABEL(callee_0)
callee_of_0:
	lea 1(%rdi), %rax
	ret
LABEL(callee_1)
callee_of_1:
	lea 2(%rdi), %rax
	ret

/* Functions that share all but where they go on to. */
	.p2align 4
	lea 2f(%rip), %r8
	jmp 1f
	.p2align 4
	lea 3f(%rip), %r8
	jmp 1f
	.p2align 4
	mov %rdi, %rax
	ret
1:	sub $56, %rsp
	add (%rdi), %rax
	jmp *%r8
LABEL(brought_1)
2:	inc %rax
	add $56, %rsp
	ret
LABEL(brought_2)
3:	dec %rax
	add $56, %rsp
	ret

/* Two registers that a function keeps, one for each caller. */
FUNCTION(counts_on_r10)
	mov %rsp, %r10
	and $-32, %rsp
	sub $96, %rsp
	call keeping_1
	mov %r10, %rsp
	ret
FUNCTION(counts_on_r11)
	mov %rsp, %r11
	and $-32, %rsp
	sub $96, %rsp
	call keeping_1
	call keeping_2
	mov %r11, %rsp
	ret
FUNCTION(keeping_both)
keeping_1:
	lea (%rdi,%rsi), %rax
	ret
FUNCTION(keeping_r11)
keeping_2:
	xor %r10d, %r10d
	ret

/* A number that is compared before a switch, and has nothing to do with it: the table has more. */
FUNCTION(compares_other)
	push %rbx
	cmp $1, %esi
	ja 9f
	lea bounds_table(%rip), %rdx
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	jmp *%rax
bounds_0: nop
bounds_1: jmp 9f
bounds_2:
LABEL(not_bounded)
	call *%rcx
9:	pop %rbx
	ret
FUNCTION(compares_copy)
	push %rbx
	cmp $1, %dil
	ja 9f
	movzbl %dil, %eax
	lea bounded_table(%rip), %rdx
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	jmp *%rax
bounded_0: nop
bounded_1:
LABEL(bounded)
	call *%rcx
9:	pop %rbx
	ret
	.p2align 4
bounded_2:
LABEL(behind_bounded)
	push %rbp
	call *%rcx
	pop %rbp
	ret

/* A parser's switch of more than a thousand cases. */
FUNCTION(has_many_cases)
	push %rbx
	cmp $1100, %edi
	ja 9f
	mov %edi, %edi
	lea many_table(%rip), %rdx
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	jmp *%rax
many_first:
	jmp 9f
many_last:
LABEL(last_of_many)
	call *%rcx
9:	pop %rbx
	ret

/* A function that is chosen and called at the end, as a label would be jumped to. */
FUNCTION(chooses)
	sub $24, %rsp
	lea chosen(%rip), %rax
	mov %rax, (%rsp)
	test %edi, %edi
	js 1f
	mov (%rsp), %rax
	add $24, %rsp
	jmp *%rax
1:	mov (%rdx,%rdi), %rax
	jmp *%rax
	.p2align 4
chosen:	push %rbx
LABEL(chosen_in)
	call *%rsi
	pop %rbx
	ret

/* A branch to what never comes: where code ends, or where the next function begins. */
FUNCTION(branches_behind)
	push %rbx
	sub $32, %rsp
	cmp $7, %edi
	ja 8f
	call *%rsi
	cmp $9, %edi
	ja is_behind
LABEL(branches_on)
	add $32, %rsp
	pop %rbx
	ret
8:	nopw 0(%rax,%rax)
	.p2align 4
FUNCTION(is_behind)
	push %rbp
LABEL(is_behind_in)
	call *%rsi
	pop %rbp
	ret

/* It never returns, and makes its frame behind other instructions; only a pointer leads to it. */
	.p2align 4
straight:
	lea table(%rip), %rdi
	sub $8, %rsp
LABEL(straight_in)
	call *%rsi
	ud2
/* The same by what pushes an argument in the middle of a frame. */
	.p2align 4
crooked:
	lea table(%rip), %rdi
	sub $8, %rsp
	push $2
LABEL(crooked_in)
	call *%rsi
	ud2

/* A call of unoptimised code at a function's end, with a no-op and an epilogue at an address where
 * functions begin. */
FUNCTION(unoptimised)
	push %rbp
	mov %rsp, %rbp
	sub $16, %rsp
	mov %rdi, -8(%rbp)
	mov -8(%rbp), %rax
	mov -8(%rbp), %rax
	mov -8(%rbp), %rax
	xor %eax, %eax
	call keeping_1
	nop
LABEL(epilogue_in)
	leave
	ret

/* No padding at all: the function's size is a multiple of what functions are aligned to. */
FUNCTION(fills_up)
	push %rbx
	.nops 10
	call never@plt
LABEL(behind_full)
	push %rbp
	mov %rdi, %rbp
	call *%rsi
LABEL(behind_full_in)
	pop %rbp
	ret

/* Padding of zeroes behind a call that does not return. */
FUNCTION(calls_at_end)
	push %rbx
	call never@plt
	.balign 16, 0
LABEL(behind_zeroes)
	push %rbp
LABEL(behind_zeroes_in)
	call *%rsi
	pop %rbp
	ret
LABEL(code_end)

	.section .rodata
	.p2align 2
table:	.long case_0 - table, behind_switch - table, on_2 - table
loop_table:
	.long loop - loop_table, on_loop - loop_table
follows_table:
	.long follows_case - follows_table
skips_table:
	.long 0x7ffffff0, on_skips - skips_table
follows_skips_table:
	.long follows_skips_case - follows_skips_table
	.long 0x7ffffff0
table_on:
	.long case_on - table_on, called - table_on
callees:
	.long callee_of_0 - callees, callee_of_1 - callees, callee_of_1 - callees, callee_of_0 - callees
many_table:
	.rept 1100
	.long many_first - many_table
	.endr
	.long many_last - many_table
bounds_table:
	.long bounds_0 - bounds_table, bounds_1 - bounds_table, bounds_2 - bounds_table
bounded_table:
	.long bounded_0 - bounded_table, bounded_1 - bounded_table, bounded_2 - bounded_table
	.section .data.rel.ro, "aw"
	.p2align 3
cases:	.quad one, two
	.quad straight, crooked
	.quad pointed, dispatching, dispatching_part, interrupting, copying
	.section .note.GNU-stack, "", @progbits
