/* SPDX-License-Identifier: MIT */
/* The hash primitives: both are part of the recording format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"

/* SplitMix64 seeded with 0 yields mix(k * golden gamma): its well-known first outputs. */
static void hash_mix64_is_splitmix(void **state)
{
	const uint64_t gamma = UINT64_C(0x9e3779b97f4a7c15);

	(void)state;
	assert_true(hash_mix64(0) == 0);
	assert_true(hash_mix64(gamma) == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(hash_mix64(2 * gamma) == UINT64_C(0x6e789e6aa1b965f4));
	assert_true(hash_mix64(3 * gamma) == UINT64_C(0x06c45d188009454f));
}

static void hash_every_bit_reaches_many(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		unsigned changed = 0;

		for (uint64_t i = 0; i < 256; i++) {
			uint64_t x = hash_mix64(i * 77 + 1);
			uint64_t y = hash_mix64((i * 77 + 1) ^ (UINT64_C(1) << bit));

			changed += (unsigned)__builtin_popcountll(x ^ y);
		}
		assert_true(changed >= 256 * 28 && changed <= 256 * 36);
	}
}

static void hash_chain_is_invertible(void **state)
{
	(void)state;
	assert_true(HASH_INVERSE_11 * 11 == 1);
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t parent = hash_mix64(i), id = hash_mix64(i + 100000);

		assert_true(hash_unchain(hash_chain(parent, id), id) == parent);
	}
	assert_true(hash_chain(0, 5) == 5);
	assert_true(hash_chain(2, 5) == (22 ^ 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash_mix64_is_splitmix),
		cmocka_unit_test(hash_every_bit_reaches_many),
		cmocka_unit_test(hash_chain_is_invertible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
