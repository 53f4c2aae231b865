/* SPDX-License-Identifier: MIT */
/*
 * Counts samples over time; see histogram.h. One pass over the records adds them up by part and
 * bin, and by part, bin and function; then the largest function of each bin is chosen. A wait or a
 * pass through a region adds to each bin its part within the bin.
 */
#include "tree/histogram.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "base/int_map.h"

struct histogram_count {
	uint32_t bin; /* number of a bin among the bins of all parts */
	uint32_t symbol;
	uint64_t samples;
};

struct histogram_pass {
	const struct partition *partition;
	struct histogram *h;
	struct int_map by_key; /* (bin, symbol) -> index in `counts` */
	VEC(struct histogram_count) counts;
	uint64_t start_ns;
	uint64_t end_ns; /* end of the last bin (exclusive) */
};

/* Finds the function that a sample hit. */
static int histogram_symbol(struct profile *profile, const struct store_sample *s,
			    uint32_t *ret_symbol)
{
	size_t n;
	const struct profile_frame *frames;

	if (!s->node) {
		const struct profile_symbol *mark = profile_mark(profile, s->end_reason, s->origin);

		*ret_symbol = (mark ? mark : profile_no_frames(profile))->number;
		return 0;
	}
	frames = profile_location_frames(profile, profile_tables(profile)->nodes[s->node].location,
					 &n);
	if (!frames)
		return -ENOMEM;
	*ret_symbol = frames[n - 1].symbol->number;
	return 0;
}

static uint32_t histogram_bin(const struct histogram_pass *pass, uint64_t time_ns)
{
	uint64_t since = time_ns > pass->start_ns ? time_ns - pass->start_ns : 0;
	uint64_t bin;

	since = since > pass->h->from_ns ? since - pass->h->from_ns : 0;
	bin = since / pass->h->step_ns;
	return bin < pass->h->n_bins ? (uint32_t)bin : pass->h->n_bins - 1;
}

/* Adds an amount to a bin, given by its number among the bins of all parts, and to a function in
 * that bin. Returns 0 or -ENOMEM. */
static int add_to_bin(struct histogram_pass *pass, uint32_t bin, uint32_t symbol, uint64_t amount)
{
	uint32_t at;
	int err = VEC_RESERVE(&pass->counts, 1);

	if (err == 0)
		err = int_map_enter(&pass->by_key, (uint64_t)bin << 32 | symbol,
				    (uint32_t)pass->counts.count, &at);
	if (err < 0)
		return err;
	if (at == pass->counts.count)
		pass->counts.items[pass->counts.count++] = (struct histogram_count){bin, symbol, 0};
	pass->counts.items[at].samples += amount;
	pass->h->bins[bin].samples += amount;
	return 0;
}

/* Adds a record that covers a time to the bins of its part of the profile, which begin at `first`:
 * to each bin the record's share in it. Returns 0 or -ENOMEM. */
static int add_parts(struct histogram_pass *pass, const struct store_sample *record,
		     const struct lasting *lasting, uint32_t first, uint32_t symbol)
{
	const struct histogram *h = pass->h;
	const uint64_t begin = lasting->spans[0].begin_ns;
	const uint64_t end = lasting->spans[lasting->n - 1].end_ns;
	const uint32_t last = histogram_bin(pass, end);
	int err = 0;

	for (uint32_t bin = histogram_bin(pass, begin); err == 0 && bin <= last; bin++) {
		const uint64_t from = pass->start_ns + h->from_ns + bin * h->step_ns;
		const uint64_t to = bin == h->n_bins - 1 ? pass->end_ns : from + h->step_ns;
		uint64_t part;

		if (lasting_within(lasting, record->period, from, to, &part))
			err = add_to_bin(pass, first + bin, symbol, part);
	}
	return err;
}

static int histogram_add(void *arg, const struct store_sample *record,
			 const struct lasting *lasting)
{
	struct histogram_pass *pass = arg;
	struct profile *profile = pass->partition->profile;
	struct store_sample s;
	uint32_t first, symbol;
	int err;

	if (!profile_part(profile, record, lasting, &s))
		return 0;
	err = histogram_symbol(profile, &s, &symbol);
	first = partition_of(pass->partition, s.thread, s.cpu) * pass->h->n_bins;
	if (err < 0)
		return err;
	if (lasting->ns)
		return add_parts(pass, record, lasting, first, symbol);
	return add_to_bin(pass, first + histogram_bin(pass, s.time_ns), symbol,
			  profile_amount(profile, &s));
}

/* Sets the time that the bins cover: the filter's, or else the recording's. It is never empty. */
static void span(struct histogram_pass *pass, uint32_t n_bins)
{
	const struct store_recording *rec = &profile_tables(pass->partition->profile)->recording;
	const struct profile_filter *filter = profile_filter(pass->partition->profile);
	uint64_t end = rec->end_ns > rec->start_ns ? rec->end_ns - rec->start_ns : 0;

	if (filter->to_ns && filter->to_ns < end)
		end = filter->to_ns;
	pass->start_ns = rec->start_ns;
	pass->h->from_ns = filter->from_ns;
	pass->h->n_bins = n_bins;
	end = end > filter->from_ns ? end - filter->from_ns : 0;
	pass->h->step_ns = end ? (end - 1) / n_bins + 1 : 1;
	pass->end_ns = filter->to_ns ? pass->start_ns + filter->from_ns + end : UINT64_MAX;
}

static void pick(struct histogram_pass *pass)
{
	for (size_t i = 0; i < pass->counts.count; i++) {
		const struct histogram_count *count = &pass->counts.items[i];
		struct histogram_bin *bin = &pass->h->bins[count->bin];

		if (count->samples > bin->symbol_samples) {
			bin->symbol_samples = count->samples;
			bin->symbol = count->symbol;
		}
	}
}

int histogram_make(const struct partition *partition, uint32_t n_bins,
		   struct histogram *ret_histogram)
{
	struct histogram h = {0};
	struct histogram_pass pass = {.partition = partition, .h = &h};
	size_t n = (size_t)partition->groups.n * n_bins;
	int err = -ENOMEM;

	if (n >= UINT32_MAX)
		return -EOVERFLOW;
	h.bins = calloc(n + 1, sizeof(*h.bins));
	for (size_t i = 0; h.bins && i < n; i++)
		h.bins[i].symbol = UINT32_MAX;
	span(&pass, n_bins);
	if (h.bins)
		err = profile_lasting(partition->profile,
				      profile_filter(partition->profile)->metric, histogram_add,
				      &pass);
	if (err == 0)
		pick(&pass);
	int_map_fini(&pass.by_key);
	free(pass.counts.items);
	if (err == 0)
		*ret_histogram = h;
	else
		histogram_free(&h);
	return err;
}

void histogram_free(struct histogram *histogram)
{
	free(histogram->bins);
	*histogram = (struct histogram){0};
}
