/* SPDX-License-Identifier: MIT */
/* What to tell a person when the kernel refuses stackd a right. */
#ifndef BASE_RIGHTS_H
#define BASE_RIGHTS_H

/* Returns what to do about a refusal: to run as root; or for root, where to look, since a container
 * or a security module has taken the right away. `others` is what else helps who is not root,
 * such as ", or with CAP_PERFMON", or "". The string stays valid until the next call. */
const char *rights_remedy(const char *others);

#endif
