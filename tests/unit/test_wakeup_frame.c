// SPDX-License-Identifier: MIT
/* Whether a wake-up is a thread's or an interrupt's, by its kernel frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/recorder/wakeup_frame.h"

/* Of frames, up to a NULL. */
static bool is_interrupt(const char *const *names)
{
	unsigned frames = 0;

	for (; *names; names++)
		frames |= (unsigned)wakeup_frame_of(*names);
	return wakeup_is_by_interrupt(frames);
}

#define IS_INTERRUPT(...) is_interrupt((const char *const[]){__VA_ARGS__, NULL})

static void threads(void **state)
{
	(void)state;
	assert_false(IS_INTERRUPT("try_to_wake_up", "futex_wake", "do_syscall_64"));
	/* send() to a socket of this machine */
	assert_false(IS_INTERRUPT("sock_def_readable", "tcp_v4_rcv", "process_backlog",
				  "__napi_poll.constprop.0", "net_rx_action", "handle_softirqs",
				  "do_softirq.part.0", "__local_bh_enable_ip", "__sys_sendto"));
	assert_false(IS_INTERRUPT("sock_def_readable", "veth_poll", "net_rx_action", "__do_softirq",
				  "do_softirq", "__sys_sendmsg"));
}

static void interrupts(void **state)
{
	(void)state;
	assert_true(IS_INTERRUPT("hrtimer_wakeup", "asm_sysvec_apic_timer_interrupt", "memcpy"));
	assert_true(IS_INTERRUPT("blk_mq_complete_request", "asm_common_interrupt"));
	/* work that was put off, behind an interrupt, or due meanwhile */
	assert_true(IS_INTERRUPT("tcp_v4_rcv", "process_backlog", "handle_softirqs",
				 "asm_sysvec_call_function_single"));
	assert_true(IS_INTERRUPT("process_timeout", "run_timer_softirq", "handle_softirqs",
				 "__local_bh_enable_ip", "__sys_sendto"));
	assert_true(IS_INTERRUPT("tcp_v4_rcv", "virtnet_poll", "net_rx_action", "handle_softirqs",
				 "__local_bh_enable_ip"));
	/* whose work this thread does is not known */
	assert_true(IS_INTERRUPT("tcp_v4_rcv", "process_backlog", "handle_softirqs",
				 "run_ksoftirqd", "smpboot_thread_fn"));
	assert_true(IS_INTERRUPT("process_backlog", "run_backlog_napi"));
}

static void names_with_endings(void **state)
{
	(void)state;
	assert_int_equal(wakeup_frame_of("process_backlog.isra.0"), WAKEUP_DELIVERY);
	assert_int_equal(wakeup_frame_of("process_backlogs"), WAKEUP_OTHER);
	assert_int_equal(wakeup_frame_of("do_softirq"), WAKEUP_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads),
		cmocka_unit_test(interrupts),
		cmocka_unit_test(names_with_endings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
