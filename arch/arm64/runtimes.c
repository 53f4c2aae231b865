/* SPDX-License-Identifier: MIT */
/* Code of run times (Go's, HotSpot's, Erlang's) is not known on this processor yet: none of it is
 * found. See ../go_switch.h, ../java_entry.h, ../java_dispatch.h and ../beam_code.h. */
#include "arch/beam_code.h"
#include "arch/go_switch.h"
#include "arch/java_dispatch.h"
#include "arch/java_entry.h"

bool beam_code_find(const uint8_t *code, size_t len, uint64_t address, struct stackd_beam *ret_beam)
{
	(void)code, (void)len, (void)address, (void)ret_beam;
	return false;
}

bool beam_code_calls_by_register(const uint8_t *bytes)
{
	(void)bytes;
	return false;
}

/* --- Go ------------------------------------------------------------------------------------ */

bool go_switch_systemstack(const uint8_t *code, size_t size, struct go_switch *ret_switch,
			   struct go_goroutine *ret_goroutine)
{
	(void)code, (void)size, (void)ret_switch, (void)ret_goroutine;
	return false;
}

bool go_switch_asmcgocall(const uint8_t *code, size_t size, size_t from,
			  struct go_switch *ret_switch, struct go_cgo_frame *ret_frame)
{
	(void)code, (void)size, (void)from, (void)ret_switch, (void)ret_frame;
	return false;
}

bool go_switch_is_in_register(const uint8_t *code, size_t size, size_t from, size_t call)
{
	(void)code, (void)size, (void)from, (void)call;
	return false;
}

size_t go_switch_return_end(const uint8_t *code, size_t size, size_t back)
{
	(void)code, (void)size, (void)back;
	return 0;
}

bool go_switch_cgocallback(const uint8_t *code, size_t size, struct go_switch *ret_switch,
			   struct go_callback *ret_callback)
{
	(void)code, (void)size, (void)ret_switch, (void)ret_callback;
	return false;
}

bool go_switch_morestack(const uint8_t *code, size_t size, const struct go_goroutine *goroutine)
{
	(void)code, (void)size, (void)goroutine;
	return false;
}

bool go_switch_gogo(const uint8_t *code, size_t size, struct go_gogo *ret_gogo)
{
	(void)code, (void)size, (void)ret_gogo;
	return false;
}

size_t go_switch_sets_sp(const uint8_t *code, size_t size)
{
	(void)code;
	return size;
}

size_t go_switch_keeps_sp(const uint8_t *code, size_t size, uint8_t *ret_reg)
{
	(void)code, (void)size, (void)ret_reg;
	return 0;
}

int go_switch_saves_fp(const uint8_t *code, int32_t delta)
{
	(void)code, (void)delta;
	return -1;
}

bool go_switch_pops_return(const uint8_t *code)
{
	(void)code;
	return false;
}

/* --- Java ---------------------------------------------------------------------------------- */

bool java_dispatch_at(const uint8_t *code, size_t len, size_t at)
{
	(void)code, (void)len, (void)at;
	return false;
}

enum java_entry java_entry_at(const uint8_t *code, size_t len, size_t at,
			      struct java_entry_left *ret_left)
{
	(void)code, (void)len, (void)at, (void)ret_left;
	return JAVA_ENTRY_NONE;
}

uint32_t java_entry_popped(const uint8_t *code)
{
	(void)code;
	return 0;
}

bool java_entry_is_call_stub(const uint8_t *code, size_t len, size_t at)
{
	(void)code, (void)len, (void)at;
	return false;
}

bool java_entry_thaws(const uint8_t *code)
{
	(void)code;
	return false;
}

bool java_entry_is_start(const uint8_t *code)
{
	(void)code;
	return false;
}

size_t java_entry_is_closed(const uint8_t *code, size_t len, bool *ret_is_made)
{
	(void)code, (void)len, (void)ret_is_made;
	return 0;
}
