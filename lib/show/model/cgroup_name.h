/* SPDX-License-Identifier: MIT */
/*
 * Finds the systemd unit and the container that a cgroup belongs to, from the cgroup's path.
 *
 *   /system.slice/nginx.service                               unit nginx.service
 *   /user.slice/user-1.slice/user@1.service/app.slice/a.scope unit a.scope
 *   /system.slice/docker-ID.scope, /docker/ID                 container docker ID
 *   /kubepods.slice/.../kubepods-podUID.slice/cri-containerd-ID.scope
 *   /kubepods/burstable/podUID/ID                             container pod UID/ID
 *   /lxc.payload.NAME, /lxc.payload/NAME, /lxc/NAME           container lxc NAME
 *   /machine.slice/systemd-nspawn@NAME.service/payload,
 *   /machine.slice/machine-NAME.scope/payload                 container nspawn NAME
 *
 * Container runtimes name the cgroup of a container by their own name and the container's id of 64
 * hexadecimal digits. Only the first 12 are shown, as the runtimes do. Under Kubernetes the pod's
 * id is in the name of a parent folder; it counts only where no user can have made that
 * (cgroup_path_owner()).
 */
#ifndef MODEL_CGROUP_NAME_H
#define MODEL_CGROUP_NAME_H

#include <stdbool.h>

#include "base/buf.h"

/* Appends the name of the innermost unit (service or scope; else slice); "[no unit]" for a path
 * without one, "[unknown]" for NULL. */
void cgroup_name_unit(const char *path, struct buf *b);

/* Appends the container's name; "[no container]" for a path without one, "[unknown]" for NULL. */
void cgroup_name_container(const char *path, struct buf *b);

/* Appends the id of the Kubernetes pod that a path's container belongs to. Returns false if the
 * path has none. */
bool cgroup_name_pod(const char *path, struct buf *b);

/* Returns whether one of the path's folders is the unit `pattern`, a name or pattern
 * (model/pattern.h), which need not have ".service". */
bool cgroup_name_is_in(const char *path, const char *pattern);

#endif
