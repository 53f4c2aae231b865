/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * step_in_beam(s): a step in code that the Erlang virtual machine's JIT compiler has made, by what
 * that code looks like. The includer has runtime_go.bpf.h, mapping.bpf.h and scratch.bpf.h, and
 * code.bpf.h of this folder.
 */
#ifndef ARCH_BEAM_BPF_H
#define ARCH_BEAM_BPF_H

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "x86_64/beam.bpf.h"
#endif

#endif
