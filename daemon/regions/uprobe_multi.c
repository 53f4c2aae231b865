/* SPDX-License-Identifier: MIT */
/* Makes links of many uprobes; see uprobe_multi.h. */
#include "daemon/regions/uprobe_multi.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/base/kernel_version.h"
#include "daemon/capture/sampler.h"

/* The arguments of bpf(BPF_LINK_CREATE) for this type of link. Part of the kernel's interface. */
struct link_create {
	uint32_t program, target;
	uint32_t attach_type, link_flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t count, flags, pid, pad;
};

static int attach(int program, const char *path, const uint64_t *offsets, const uint64_t *cookies,
		  size_t count, pid_t pid, uint32_t flags)
{
	struct link_create attr = {
		.flags = flags,
		.program = (uint32_t)program,
		.attach_type = SAMPLER_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)path,
		.offsets = (uint64_t)(uintptr_t)offsets,
		.cookies = (uint64_t)(uintptr_t)cookies,
		.count = (uint32_t)count,
		.pid = (uint32_t)pid,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, offsetof(struct link_create, pad));

	return fd < 0 ? -errno : fd;
}

int uprobe_multi_attach(int program, const char *path, const uint64_t *offsets,
			const uint64_t *cookies, size_t count, pid_t pid)
{
	return attach(program, path, offsets, cookies, count, pid, 0);
}

int uprobe_multi_attach_returns(int program, const char *path, const uint64_t *offsets,
				size_t count, pid_t pid)
{
	const uint32_t at_returns = 1; /* BPF_F_UPROBE_MULTI_RETURN */

	return attach(program, path, offsets, NULL, count, pid, at_returns);
}

/* Tries to attach to a folder: a kernel without such links does not know the type (EINVAL); one
 * that has them rejects the folder, which is no regular file (EBADF). */
bool uprobe_multi_is_there(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)SAMPLER_UPROBE_MULTI);
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	const uint64_t offset = 0;
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", nothing, 2, &options);
	int err;

	if (program < 0)
		return false;
	err = uprobe_multi_attach(program, "/", &offset, &offset, 1, 0);
	close(program);
	return err == -EBADF;
}

bool uprobe_multi_is_by_process(void)
{
	return uprobe_multi_is_there() && kernel_is_from(6, 11);
}
