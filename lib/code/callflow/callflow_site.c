/* SPDX-License-Identifier: MIT */
/* The cache of decoded instructions; see lbr_site.h. */
#include "callflow/callflow_site.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "arch/call_site.h"

#define MAX_INSTRUCTION 16

struct lbr_sites {
	struct lbr_site slots[LBR_SITE_SLOTS];
};

int lbr_sites_new(struct lbr_sites **ret_sites)
{
	struct lbr_sites *sites = calloc(1, sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	*ret_sites = sites;
	return 0;
}

void lbr_sites_free(struct lbr_sites *sites)
{
	free(sites);
}

static enum lbr_site_kind kind_of(const struct flow_insn *i)
{
	switch (i->kind) {
	case FLOW_CALL:
		return LBR_SITE_CALL;
	case FLOW_RETURN:
		return LBR_SITE_RETURN;
	case FLOW_JUMP:
		return i->is_direct ? LBR_SITE_OTHER : LBR_SITE_INDIRECT;
	default:
		return LBR_SITE_OTHER;
	}
}

static void decode(struct lbr_site *site, const struct insn_decoder *decoder, const uint8_t *bytes,
		   size_t len)
{
	struct flow_insn i;

	if (!flow_insn_decode(decoder, bytes, len, &i))
		return;
	site->kind = (uint8_t)kind_of(&i);
	site->length = i.length;
	if (site->kind == LBR_SITE_CALL && i.is_direct)
		site->distance = (int32_t)i.distance;
}

static void read_site(struct lbr_site *site, const struct insn_decoder *decoder,
		      const struct lbr_location *location)
{
	uint8_t bytes[CALL_SITE_BYTES + MAX_INSTRUCTION];
	size_t before = location->offset >= CALL_SITE_BYTES ? CALL_SITE_BYTES : 0;
	int64_t got = elf_file_read(location->object->elf, location->offset - before, bytes,
				    before + MAX_INSTRUCTION);

	*site = (struct lbr_site){.offset = location->offset,
				  .object = location->object->number + 1};
	if (got < (int64_t)before)
		return;
	site->follows_call = before && call_site_ends(bytes, before);
	decode(site, decoder, bytes + before, (size_t)got - before);
}

const struct lbr_site *lbr_site_at(struct lbr_sites *sites, const struct insn_decoder *decoder,
				   const struct lbr_location *location)
{
	uint64_t hash = hash_mix64(location->offset ^ (uint64_t)location->object->number << 48);
	struct lbr_site *site = &sites->slots[hash % LBR_SITE_SLOTS];

	if (site->offset != location->offset || site->object != location->object->number + 1)
		read_site(site, decoder, location);
	return site;
}
