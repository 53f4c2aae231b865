/* SPDX-License-Identifier: MIT */
/*
 * Code made at run time, whose page is a moment later that of a file (the second argument), and
 * then again one of its own, and so on: who reads the page when the file is there waits for the
 * file's server.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

#define PAGE 4096

/* Some nops, so that a caller's rules need the bytes; then sub rsp,8; mov eax,40000; dec eax; jnz
 * -2; add rsp,8; ret. The immediate is at IMMEDIATE. */
static const unsigned char code[] = {
	0x90, 0x90, 0x48, 0x83, 0xec, 0x08, 0xb8, 0x40, 0x9c, 0x00,
	0x00, 0xff, 0xc8, 0x75, 0xfc, 0x48, 0x83, 0xc4, 0x08, 0xc3,
};
#define AWAY 2048 /* further code, another one in each turn */

static CALLEE void call(unsigned char *page)
{
	((void (*)(void))page)();
	KEEP;
}

static void put_code(unsigned char *page, unsigned turn)
{
	mmap(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memcpy(page, code, sizeof(code));
	memcpy(page + AWAY, &turn, sizeof(turn)); /* a page that was not seen before */
}

int main(int argc, char **argv)
{
	int file = argc > 2 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
	unsigned char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (file < 0 || page == MAP_FAILED)
		return 1;
	workload_ready(argc, argv);
	for (unsigned turn = 1;; turn++) {
		put_code(page, turn);
		call(page);
		mmap(page, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0);
		SPIN(40000);
	}
}
