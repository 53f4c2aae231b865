/* SPDX-License-Identifier: MIT */
/*
 * Two libraries for tests/unit/test_mpi_layout.c, with the parts of Open MPI's (as it is) and of
 * MPICH's (with -DMPICH) that say where those keep sizes and ranks.
 */
#define FUNCTION(name) .p2align 4; .globl name; .type name, @function; name:
#define END(name)      .size name, . - name
#define OBJECT(name)   .p2align 4; .globl name; .type name, @object; name:

	.text
#ifdef MPICH
#define FIND_COMM                                                                                  \
	mov %edi, %eax;                                                                            \
	and $0x3ffffff, %eax;                                                                      \
	imul $0x140, %rax, %rax;                                                                   \
	add comm_table(%rip), %rax

FUNCTION(MPI_Comm_size)
	FIND_COMM
	lea comm_tables(%rip), %rdx
	mov %edi, %ecx
	imul 24(%rdx), %ecx
	mov 0x48(%rax), %ecx
	mov %ecx, (%rsi)
	xor %eax, %eax
	ret
END(MPI_Comm_size)
FUNCTION(PMPI_Comm_rank)
	FIND_COMM
	mov 0x4c(%rax), %ecx
	mov %ecx, (%rsi)
	xor %eax, %eax
	ret
END(PMPI_Comm_rank)
FUNCTION(MPI_Comm_test_inter)
	mov %rsi, %rbp
	FIND_COMM
	cmpl $2, 0x74(%rax)
	je 1f
	xor %ecx, %ecx
	cmpl $1, 0x70(%rax)
	sete %cl
	mov %ecx, 0(%rbp)
1:	xor %eax, %eax
	ret
END(MPI_Comm_test_inter)
FUNCTION(MPI_Type_commit)
	lea type_tables(%rip), %rdx
	mov (%rdi), %ecx
	imul 24(%rdx), %ecx
	xor %eax, %eax
	ret
END(MPI_Type_commit)
FUNCTION(MPIR_Init)
	ret
END(MPIR_Init)

	.data
OBJECT(comm_table)
	.quad 0
OBJECT(comm_tables)
	.zero 64
OBJECT(type_tables)
	.zero 64
#else
FUNCTION(MPI_Comm_rank)
	test %rsi, %rsi
	je 1f
	mov 0x30(%rdi), %eax
	mov %eax, (%rsi)
1:	xor %eax, %eax
	ret
END(MPI_Comm_rank)
FUNCTION(MPI_Comm_size)
	mov 0x28(%rdi), %rax
	mov 0x10(%rax), %eax
	mov %eax, (%rsi)
	xor %eax, %eax
	ret
END(MPI_Comm_size)
FUNCTION(MPI_Comm_test_inter)
	mov %rsi, %rbp
	test %rsi, %rsi
	jne 1f
	mov 0x140(%rdi), %rsi
	mov 0x138(%rsi), %rdi
	jmp MPI_Comm_size
1:	mov 0xe8(%rdi), %eax
	and $1, %eax
	mov %eax, 0(%rbp)
	xor %eax, %eax
	ret
END(MPI_Comm_test_inter)

	.data
#define TYPE(name, bytes)                                                                          \
	OBJECT(name)                                                                               \
	.quad 7, bytes - 1, 0, bytes, 0, bytes;                                                    \
	.zero 80

TYPE(ompi_mpi_char, 1)
TYPE(ompi_mpi_short, 2)
TYPE(ompi_mpi_int, 4)
#ifndef NO_DOUBLE
TYPE(ompi_mpi_double, 8)
#endif
#endif
	.section .note.GNU-stack, "", @progbits
