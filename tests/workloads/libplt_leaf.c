/* SPDX-License-Identifier: MIT */
/* The far side of plt.c. */
void far_leaf(void);

void far_leaf(void)
{
	__asm__ volatile("");
}
