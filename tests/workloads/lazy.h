/* SPDX-License-Identifier: MIT */
/* far_000 to far_fff, 4,096 functions of the library that liblazy.c calls. */
#ifndef LAZY_H
#define LAZY_H

/* clang-format off */
/* A macro does not expand within itself, so each power of 16 has its own. */
#define LAZY_16(each, n) \
	each(n##0) each(n##1) each(n##2) each(n##3) each(n##4) each(n##5) each(n##6) each(n##7) \
	each(n##8) each(n##9) each(n##a) each(n##b) each(n##c) each(n##d) each(n##e) each(n##f)
#define LAZY_256(each, n) \
	LAZY_16(each, n##0) LAZY_16(each, n##1) LAZY_16(each, n##2) LAZY_16(each, n##3) \
	LAZY_16(each, n##4) LAZY_16(each, n##5) LAZY_16(each, n##6) LAZY_16(each, n##7) \
	LAZY_16(each, n##8) LAZY_16(each, n##9) LAZY_16(each, n##a) LAZY_16(each, n##b) \
	LAZY_16(each, n##c) LAZY_16(each, n##d) LAZY_16(each, n##e) LAZY_16(each, n##f)
#define LAZY_ALL(each) \
	LAZY_256(each, far_0) LAZY_256(each, far_1) LAZY_256(each, far_2) LAZY_256(each, far_3) \
	LAZY_256(each, far_4) LAZY_256(each, far_5) LAZY_256(each, far_6) LAZY_256(each, far_7) \
	LAZY_256(each, far_8) LAZY_256(each, far_9) LAZY_256(each, far_a) LAZY_256(each, far_b) \
	LAZY_256(each, far_c) LAZY_256(each, far_d) LAZY_256(each, far_e) LAZY_256(each, far_f)
/* clang-format on */

#define LAZY_DECLARE(name) void name(void);
LAZY_ALL(LAZY_DECLARE)

#endif
