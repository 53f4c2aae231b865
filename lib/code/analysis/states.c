/* SPDX-License-Identifier: MIT */
/* The set is a hash table with linear probing, at most half full; see states.h. */
#include "analysis/states.h"

#define FIRST_SLOTS 1024 /* a power of two */

static uint64_t hash_of(const struct frame_state *state)
{
	uint64_t words[sizeof(*state) / 8], h = 0;

	memcpy(words, state, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		h = (h ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	return h;
}

static void enter(struct states *s, uint32_t number)
{
	size_t mask = s->slots.count - 1, k = hash_of(&s->items.items[number]) & mask;

	while (s->slots.items[k])
		k = (k + 1) & mask;
	s->slots.items[k] = number;
}

static int grow(struct states *s)
{
	size_t count = s->slots.count ? s->slots.count * 2 : FIRST_SLOTS;

	if (VEC_RESERVE(&s->slots, count - s->slots.count))
		return -ENOMEM;
	s->slots.count = count;
	memset(s->slots.items, 0, count * sizeof(*s->slots.items));
	for (uint32_t i = 1; i < s->items.count; i++)
		enter(s, i);
	return 0;
}

uint32_t states_number(struct states *s, const struct frame_state *state)
{
	size_t mask, k;

	if (2 * s->items.count >= s->slots.count && grow(s))
		return STATES_NONE;
	mask = s->slots.count - 1;
	for (k = hash_of(state) & mask; s->slots.items[k]; k = (k + 1) & mask) {
		if (!memcmp(&s->items.items[s->slots.items[k]], state, sizeof(*state)))
			return s->slots.items[k];
	}
	if (s->items.count >= STATES_MAX)
		return STATES_UNKNOWN;
	if (VEC_RESERVE(&s->items, 1))
		return STATES_NONE;
	s->items.items[s->items.count] = *state;
	s->slots.items[k] = (uint32_t)s->items.count;
	return (uint32_t)s->items.count++;
}

int states_init(struct states *s)
{
	struct frame_state state = {0};

	memset(s, 0, sizeof(*s));
	if (VEC_RESERVE(&s->items, 1))
		return -ENOMEM;
	s->items.items[s->items.count++] = state;
	frame_state_forget(&state);
	if (states_number(s, &state) != STATES_UNKNOWN)
		return -ENOMEM;
	frame_state_init(&state);
	return states_number(s, &state) == STATES_ENTRY ? 0 : -ENOMEM;
}

void states_fini(struct states *s)
{
	free(s->items.items);
	free(s->slots.items);
	memset(s, 0, sizeof(*s));
}
