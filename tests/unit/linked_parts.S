/* SPDX-License-Identifier: MIT */
/*
 * A library of code without call frame information, for tests/unit/test_solve_parts.c: parts of
 * functions that only tables, contradictions, or many calls together tell from functions. Labels as in
 * linked_code.S.
 */
#define FUNCTION(name) .p2align 4; .globl name; .type name, @function; name:
#define LABEL(name)    .globl name; name:

	.weak ends_elsewhere
	.text
	.fill 4096, 1, 0xcc

/* An interpreter, which jumps to what is in its program: addresses of its parts, which share code. */
FUNCTION(interprets)
	push %rbx
	push %rbp
	sub $40, %rsp
	mov %rdi, %rbx
	jmp *(%rbx)
	.p2align 4
	.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
part_\number:
	add $\number, %rax
	mov 8(%rbx), %rcx
	test %eax, %eax
	js 2f
	jmp *%rcx
	.p2align 4
	.endr
last:
LABEL(last_part)
	mov 16(%rbx), %rcx
	jmp *%rcx
2:
LABEL(shared_by_parts)
	call *%rsi
	add $40, %rsp
	pop %rbp
	pop %rbx
	ret

/* A table of functions to which another one may hand over. It is no switch. */
	.p2align 4
LABEL(hands_over)
	mov (%rsi), %rax
	test %edi, %edi
	je 1f
	lea handed(%rip), %rax
	mov (%rax), %rcx
	jmp *%rcx
1:	jmp *(%rax,%rdi,8)
	.p2align 4
handed_0:
	endbr64
	push %rbx
LABEL(handed_0_in)
	call *%rsi
	pop %rbx
	ret
	.p2align 4
LABEL(handed_1_at)
handed_1:
	sub $24, %rsp
LABEL(handed_1_in)
	call *%rsi
	add $24, %rsp
	ret

/* What is called behind a switch is not called by the switch's table. */
	.p2align 4
LABEL(has_switch)
	push %rbx
	sub $16, %rsp
	cmp $2, %edi
	ja 9f
	lea has_table(%rip), %rdx
	mov %edi, %edi
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	jmp *%rax
9:	call *%rax
	add $16, %rsp
	pop %rbx
	ret
	.p2align 4
LABEL(case_behind)
has_0:	nop
has_1:	call *%rsi
has_2:	jmp 9b

/* Behind a branch that goes where a number is within a bound, it is not. */
	.p2align 4
FUNCTION(beyond)
	push %rbx
	cmp $1, %edi
	jbe 9f
	lea -2(%rdi), %ecx
	lea beyond_table(%rip), %rdx
	movslq (%rdx,%rcx,4), %rax
	add %rdx, %rax
	jmp *%rax
beyond_0: nop
beyond_1: nop
beyond_2: jmp 9f
beyond_3:
LABEL(beyond_bound)
	call *%rsi
9:	pop %rbx
	ret

/* A function of another library that does not return: one of its calls stands before a function. */
FUNCTION(ends_here)
	sub $8, %rsp
	call ends_elsewhere@plt
FUNCTION(follows)
	ret
FUNCTION(ends_inside)
	push %rbx
	sub $32, %rsp
	test %edi, %edi
LABEL(ends_inside_in)
	je 1f
	add $32, %rsp
	pop %rbx
	ret
1:	call ends_elsewhere@plt
other_cold:
	mov %rax, %rdi
	jmp other_in
FUNCTION(has_other_cold)
	push %rbp
	sub $48, %rsp
	cmp $1, %edi
	ja other_in
	lea other_table(%rip), %rdx
	mov %edi, %edi
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	jmp *%rax
LABEL(has_other_in)
other_in:
	call *%rsi
	add $48, %rsp
	pop %rbp
	ret

/* A function of this library that does not return, called by a slot that only the loader fills. */
	.p2align 4
never_local:
	sub $8, %rsp
	ud2
FUNCTION(calls_by_slot)
	push %rbx
	sub $32, %rsp
	test %edi, %edi
LABEL(calls_by_slot_in)
	je 1f
	add $32, %rsp
	pop %rbx
	ret
1:	call *never_slot(%rip)
slot_cold:
	mov %rax, %rdi
	jmp slot_in
FUNCTION(has_slot_cold)
	push %rbp
	sub $48, %rsp
	cmp $1, %edi
	ja slot_in
	lea slot_table(%rip), %rdx
	mov %edi, %edi
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	jmp *%rax
slot_in:
LABEL(has_slot_in)
	call *%rsi
	add $48, %rsp
	pop %rbp
	ret

/* What compilers have behind a call that does not return, and what they have where they do not know
 * that: code that goes on in the same frame. Another frame's, and one's that ends nowhere, are not. */
FUNCTION(stops)
	sub $24, %rsp
	call never_local
LABEL(stop)
	ud2
FUNCTION(goes_on)
	push %rbx
	test %edi, %edi
	jne 1f
	call never_local
LABEL(behind_unknown)
	mov %rax, %rdi
1:	call *%rsi
	pop %rbx
	ret
FUNCTION(ends_last)
	push %rbx
	test %edi, %edi
	jne 1f
	pop %rbx
	ret
1:	call never_local
LABEL(behind_last)
	mov %rax, %rdi
	call never_local

/* The realigned frame of a function that keeps the CFA in a register, which it saves, and spills. */
FUNCTION(spills)
	push %r13
	lea 16(%rsp), %r13
	and $-32, %rsp
	push -8(%r13)
	push %rbp
	mov %rsp, %rbp
	push %r13
	push %rbx
	sub $64, %rsp
	test %edi, %edi
	je 1f
	mov %r13, -40(%rbp)
	mov %edi, %r13d
LABEL(spilled)
	call *%rsi
	mov -40(%rbp), %r13
1:	lea -16(%rbp), %rsp
	pop %rbx
	pop %r13
	pop %rbp
	lea -16(%r13), %rsp
LABEL(spills_out)
	pop %r13
	ret

/* setjmp() returns to an endbr64, which may stand where functions begin. */
FUNCTION(sets)
	sub $24, %rsp
	.nops 7
	call __sigsetjmp@plt
	endbr64
LABEL(behind_setjmp)
	add $24, %rsp
	ret

/* A call of the function that begins behind it. */
FUNCTION(calls_following)
	sub $24, %rsp
	call 1f
LABEL(following)
1:	push %rbx
	mov %rdi, %rbx
	call *%rsi
	pop %rbx
	ret

/* Nobody aligns functions in code that is to be small. */
	.nops 3
	ret
LABEL(unaligned)
	push %r14
	push %rbx
LABEL(unaligned_in)
	call *%rdi
	pop %rbx
	pop %r14
	ret

/* Guesses. Two that share code which only traps. */
	.p2align 4
LABEL(traps_1)
	push %rbx
	sub $32, %rsp
	test %edi, %edi
LABEL(traps_1_in)
	je 2f
	add $32, %rsp
	pop %rbx
	ret
	.p2align 4
LABEL(traps_2)
	push %rbx
	sub $64, %rsp
	test %edi, %edi
LABEL(traps_2_in)
	je 2f
	add $64, %rsp
	pop %rbx
	ret
2:	mov 8, %eax
	ud2

/* Two that share code of the same frame, but for what is in a register. */
	.p2align 4
LABEL(shares_1)
	sub $40, %rsp
	jmp 3f
	.p2align 4
LABEL(shares_2)
	sub $40, %rsp
LABEL(shares_2_in)
	xor %ebx, %ebx
	mov %edi, %r12d
	jmp 3f
	ret
3:	call *%rsi
LABEL(shared_frame)
	add $40, %rsp
	ret

/* The default of a switch that never comes, behind a frame of which rsp does not tell. */
	.p2align 4
LABEL(ghost_cold)
ghost:	mov 8(%rbx), %rdi
	call *%rsi
	jmp ghost_in
	.p2align 4
LABEL(has_ghost)
	push %rbp
	mov %rsp, %rbp
	sub %rdi, %rsp
	cmp $1, %esi
	ja ghost
	lea ghost_table(%rip), %rdx
	mov %esi, %esi
	movslq (%rdx,%rsi,4), %rax
	add %rdx, %rax
	jmp *%rax
ghost_0: nop
ghost_1:
LABEL(has_ghost_in)
	call *%rcx
	leave
	ret
	.p2align 4
LABEL(owns_cold)
	push %rbx
	sub $32, %rsp
	test %edi, %edi
	je ghost
ghost_in:
LABEL(owns_cold_in)
	add $32, %rsp
	pop %rbx
	ret

/* A guess that leads to where the depth is not known. */
FUNCTION(loses_depth)
	test %edi, %edi
	je 4f
	push %rdi
4:	nop
	call abort@plt
	.p2align 4
LABEL(leads_to_lost)
	push %rbx
	sub $16, %rsp
	test %edi, %edi
LABEL(leads_to_lost_in)
	je 4b
	add $16, %rsp
	pop %rbx
	ret
/* __builtin_setjmp(): a buffer in the frame has the address of the code at which __builtin_longjmp()
 * goes on, and behind that the stack pointer. In the last one, the stack pointer is elsewhere. */
FUNCTION(catches)
	push %rbx
	push %rbp
	sub $72, %rsp
	lea 1f(%rip), %rax
	mov %rbp, 16(%rsp)
	mov %rax, 24(%rsp)
	mov %rsp, 32(%rsp)
	call *%rdi
2:	add $72, %rsp
	pop %rbp
	pop %rbx
	ret
	.p2align 4
1:
LABEL(landing)
	mov 8(%rsp), %rdi
LABEL(landing_in)
	call *%rsi
	jmp 2b
FUNCTION(catches_by_pointer)
	push %rbp
	mov %rsp, %rbp
	push %rbx
	sub $72, %rsp
	lea 16(%rsp), %rdx
	lea 1f(%rip), %rax
	mov %rax, 8(%rdx)
	mov %rbp, (%rdx)
	mov %rsp, 16(%rdx)
	call *%rdi
2:	mov -8(%rbp), %rbx
	leave
	ret
	.p2align 4
1:
LABEL(landing_by_pointer)
	call *%rsi
	jmp 2b
FUNCTION(catches_nothing)
	push %rbx
	sub $64, %rsp
	lea 1f(%rip), %rax
	mov %rax, 24(%rsp)
	mov %rsp, 40(%rsp)
	call *%rdi
	add $64, %rsp
	pop %rbx
	ret
	.p2align 4
1:
LABEL(no_landing)
	mov 8(%rsp), %rax
	add $64, %rsp
	pop %rbx
	ret
/* Contexts in the frame of code that starts coroutines: a function and its stack pointer, and once
 * a frame pointer before them. No symbol tells of the functions. */
FUNCTION(makes_contexts)
	push %rbx
	sub $64, %rsp
	lea 1f(%rip), %rax
	mov %rax, 24(%rsp)
	mov %rsp, 32(%rsp)
	lea 2f(%rip), %rax
	mov %rbp, 40(%rsp)
	mov %rax, 48(%rsp)
	mov %rsp, 56(%rsp)
	call *%rdi
	add $64, %rsp
	pop %rbx
	ret
	.p2align 4
1:
	mov %rdi, %rax
LABEL(entered_by_context)
	call *%rax
	ud2
	.p2align 4
2:
	push %rbx
LABEL(saves_in_context)
	mov %rdi, %rbx
	call *%rsi
	ud2

/* Functions right behind calls that do not return: neither padding nor a saved register shows where
 * they begin. The second call is of this file's. The third has a part of its own function behind it. */
	.p2align 4
	push %rbx
	test %edi, %edi
	jne 1f
	pop %rbx
	ret
	.p2align 4
1:	.nops 11
	call abort@plt
LABEL(behind_abort)
	mov %rdi, %rax
	sub $24, %rsp
	test %eax, %eax
	je 1f
LABEL(behind_abort_in)
	mov (%rax), %eax
1:	add $24, %rsp
	ret
	.p2align 4
	push %rbx
	test %edi, %edi
	jne 1f
	pop %rbx
	ret
	.p2align 4
1:	.nops 11
	call never_local
LABEL(behind_never)
	mov %rdi, %rax
	sub $24, %rsp
	test %eax, %eax
	je 1f
LABEL(behind_never_in)
	mov (%rax), %eax
1:	add $24, %rsp
	ret
	.p2align 4
	push %rbx
	sub $16, %rsp
	test %edi, %edi
	jne 1f
	jmp *(%rsi)
	.p2align 4
1:	.nops 11
	call abort@plt
LABEL(part_behind_abort)
	mov %rdi, %rax
	add $16, %rsp
	pop %rbx
	ret

/* A function that does nothing but jump to another one, and one that ends in a jump to it. */
	.p2align 4
2:	ret
FUNCTION(only_jumps)
jumps_only:
	mov %rsi, %rax
	jmp 2b
	.p2align 4
LABEL(ends_in_jumps)
	lea jumps_only(%rip), %rax
	push %rbx
	test %edi, %edi
	je 1f
LABEL(ends_in_jumps_in)
	call *%rax
1:	pop %rbx
	jmp jumps_only

/* A check fails in a part behind the return, which begins as another function could. */
	.p2align 4
	sub $24, %rsp
	call abort@plt
	.p2align 4
LABEL(checks_first)
	mov %edi, %eax
	push %rbx
	cmp $-1, %edx
	je 1f
LABEL(checks_first_in)
	call *%rsi
	pop %rbx
	ret
	.p2align 4
1:	mov $1, %edi
LABEL(check_fails)
	call abort@plt
	.p2align 4
LABEL(code_end)
	ret

	.section .rodata
	.p2align 2
has_table:
	.long has_0 - has_table, has_1 - has_table, has_2 - has_table
beyond_table:
	.long beyond_0 - beyond_table, beyond_1 - beyond_table, beyond_2 - beyond_table
	.long beyond_3 - beyond_table
ghost_table:
	.long ghost_0 - ghost_table, ghost_1 - ghost_table
other_table:
	.long other_cold - other_table, other_in - other_table
slot_table:
	.long slot_cold - slot_table, slot_in - slot_table
	.section .data.rel.ro, "aw"
	.p2align 3
parts:	.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	.quad part_\number
	.endr
	.quad last
handed:	.quad handed_0, handed_1
	.section .got, "aw"
	.p2align 3
never_slot:
	.quad never_local
	.section .note.GNU-stack, "", @progbits
