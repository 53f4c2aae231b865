/* SPDX-License-Identifier: MIT */
/*
 * Stacks of 200 KiB to 7 MiB, from the first moment on: the frames of vast(), wide() and broad()
 * lie between the leaves and main. Every page of a frame of 200 KiB and of 1 MiB is written; the 7
 * MiB are left as they are, like a large array that is hardly used.
 *
 * EXPECT: main;steady;broad;middle_200K;leaf_200K
 * EXPECT: main;steady;wide;middle_1M;leaf_1M
 * EXPECT: main;steady;vast;middle_7M;leaf_7M
 */
#include "workload.h"

#define LEAF(size)                                                                                 \
	static CALLEE void leaf_##size(void)                                                       \
	{                                                                                          \
		SPIN(20000);                                                                       \
	}                                                                                          \
	static CALLEE void middle_##size(volatile char *room)                                      \
	{                                                                                          \
		room[1] = 1;                                                                       \
		leaf_##size();                                                                     \
		KEEP;                                                                              \
	}

LEAF(200K)
LEAF(1M)
LEAF(7M)

static CALLEE void broad(void)
{
	volatile char room[200 << 10];

	for (size_t i = 0; i < sizeof(room); i += 4096)
		room[i] = 1;
	middle_200K(room);
	KEEP;
}

static CALLEE void wide(void)
{
	volatile char room[1 << 20];

	for (size_t i = 0; i < sizeof(room); i += 4096)
		room[i] = 1;
	middle_1M(room);
	KEEP;
}

static CALLEE void vast(void)
{
	volatile char room[7 << 20];

	middle_7M(room);
	KEEP;
}

static CALLEE void steady(void)
{
	for (;;) {
		for (int i = 0; i < 8; i++) {
			broad();
			KEEP;
		}
		for (int i = 0; i < 8; i++) {
			wide();
			KEEP;
		}
		for (int i = 0; i < 8; i++) {
			vast();
			KEEP;
		}
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
