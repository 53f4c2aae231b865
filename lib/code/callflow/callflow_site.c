/* SPDX-License-Identifier: MIT */
/* Fills the cache of decoded instructions; see callflow_site.h. */
#include "callflow/callflow_site.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "arch/call_site.h"

#define MAX_INSTRUCTION 16

struct callflow_sites {
	struct callflow_site slots[CALLFLOW_SITE_SLOTS];
};

int callflow_sites_new(struct callflow_sites **ret_sites)
{
	struct callflow_sites *sites = calloc(1, sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	*ret_sites = sites;
	return 0;
}

void callflow_sites_free(struct callflow_sites *sites)
{
	free(sites);
}

static enum callflow_site_kind kind_of(const struct flow_insn *i)
{
	switch (i->kind) {
	case FLOW_CALL:
		return CALLFLOW_SITE_CALL;
	case FLOW_RETURN:
		return CALLFLOW_SITE_RETURN;
	case FLOW_JUMP:
		return i->is_direct ? CALLFLOW_SITE_OTHER : CALLFLOW_SITE_INDIRECT;
	default:
		return CALLFLOW_SITE_OTHER;
	}
}

static void decode(struct callflow_site *site, const struct insn_decoder *decoder,
		   const uint8_t *bytes, size_t len)
{
	struct flow_insn i;

	if (!flow_insn_decode(decoder, bytes, len, &i))
		return;
	site->kind = (uint8_t)kind_of(&i);
	site->length = i.length;
	if (site->kind == CALLFLOW_SITE_CALL && i.is_direct)
		site->distance = (int32_t)i.distance;
}

static void read_site(struct callflow_site *site, const struct insn_decoder *decoder,
		      const struct callflow_location *location)
{
	uint8_t bytes[CALL_SITE_BYTES + MAX_INSTRUCTION];
	size_t before = location->offset >= CALL_SITE_BYTES ? CALL_SITE_BYTES : 0;
	int64_t got = elf_file_read(location->object->elf, location->offset - before, bytes,
				    before + MAX_INSTRUCTION);

	*site = (struct callflow_site){.offset = location->offset,
				       .object = location->object->number + 1};
	if (got < (int64_t)before)
		return;
	site->follows_call = before && call_site_ends(bytes, before);
	decode(site, decoder, bytes + before, (size_t)got - before);
}

const struct callflow_site *callflow_site_at(struct callflow_sites *sites,
					     const struct insn_decoder *decoder,
					     const struct callflow_location *location)
{
	uint64_t hash = hash_mix64(location->offset ^ (uint64_t)location->object->number << 48);
	struct callflow_site *site = &sites->slots[hash % CALLFLOW_SITE_SLOTS];

	if (site->offset != location->offset || site->object != location->object->number + 1)
		read_site(site, decoder, location);
	return site;
}
