/* SPDX-License-Identifier: MIT */
/* Keeps a bucket for each user, which fills with time; see user_shares.h. */
#include "daemon/recorder/user_shares.h"

uint64_t user_shares_key(uid_t user)
{
	return (uint64_t)(user >= 65536 ? user >> 16 << 16 : user) + 1;
}

static double burst_of(const struct user_shares *shares, uint64_t key)
{
	return key == 1 ? shares->burst * USER_SHARES_ROOT : shares->burst;
}

/* Fills a bucket up to now. */
static void fill(const struct user_shares *shares, struct user_share *s, double budget,
		 uint64_t now_ns)
{
	const double most = burst_of(shares, s->user);

	if (now_ns > s->as_of_ns)
		s->left += (double)(now_ns - s->as_of_ns) / 1e9 * budget * shares->per_core;
	s->left = s->left > most ? most : s->left;
	s->as_of_ns = now_ns;
}

/* Returns the bucket of a user. A new user takes an empty bucket, or the one of the user who has
 * spent least. */
static struct user_share *find(struct user_shares *shares, uint64_t key, double budget,
			       uint64_t now_ns)
{
	struct user_share *least = &shares->users[0];
	double least_spent = 1e300;

	for (unsigned i = 0; i < USER_SHARES_USERS; i++) {
		struct user_share *s = &shares->users[i];
		double spent = -1;

		if (s->user == key) {
			fill(shares, s, budget, now_ns);
			return s;
		}
		if (s->user) {
			fill(shares, s, budget, now_ns);
			spent = burst_of(shares, s->user) - s->left;
		}
		if (spent < least_spent) {
			least = s;
			least_spent = spent;
		}
	}
	*least =
		(struct user_share){.user = key, .left = burst_of(shares, key), .as_of_ns = now_ns};
	return least;
}

bool user_shares_take(struct user_shares *shares, uid_t user, unsigned n, double budget,
		      uint64_t now_ns)
{
	struct user_share *share;

	if (!(budget > 0))
		return true;
	share = find(shares, user_shares_key(user), budget, now_ns);
	if (share->left < n) {
		shares->refused += n;
		return false;
	}
	share->left -= n;
	return true;
}

void user_shares_spend(struct user_shares *shares, uid_t user, double n, double budget,
		       uint64_t now_ns)
{
	find(shares, user_shares_key(user), budget, now_ns)->left -= n;
}

bool user_shares_has(struct user_shares *shares, uid_t user, double budget, uint64_t now_ns)
{
	return find(shares, user_shares_key(user), budget, now_ns)->left >= 0;
}
