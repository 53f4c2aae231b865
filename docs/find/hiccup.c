/* SPDX-License-Identifier: MIT */
/* A game that draws a frame in a tenth of a millisecond, and once needs two hundred. */
#include <unistd.h>

static volatile double sink;

static void compute(int rounds)
{
	for (int i = 0; i < rounds * 1000; i++)
		sink += i * 0.5;
}

static void __attribute__((noinline)) move_things(void)
{
	compute(10);
	sink++;
}
static void __attribute__((noinline)) paint(void)
{
	compute(20);
	sink++;
}
static void __attribute__((noinline)) rebuild_index(void)
{
	compute(60000);
	sink++;
}

static void __attribute__((noinline)) draw_frame(int number)
{
	move_things();
	if (number == 150)
		rebuild_index();
	paint();
}

int main(void)
{
	for (int number = 0; number < 300; number++) {
		draw_frame(number);
		usleep(2000);
	}
	return 0;
}
