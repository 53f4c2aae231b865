# SPDX-License-Identifier: MIT
"""packaging/kubernetes: that its fields are those of Kubernetes' API, as far as it uses them, that the programs have its
options, and that it asks for no more rights than the unit of systemd has."""

import os
import re
import subprocess

from common import ROOT, STACKCTL, STACKD, Skip, check, exports

# {field: its own fields, a type, or a list of either}; of apps/v1 and core/v1.
NAME, LABELS = {"name": str}, {"*": str}
CONTAINER = {
    "name": str, "image": str, "command": [str], "args": [str],
    "env": [{"name": str, "valueFrom": {"fieldRef": {"fieldPath": str}}}],
    "securityContext": {"runAsUser": int, "privileged": bool, "allowPrivilegeEscalation": bool,
                        "readOnlyRootFilesystem": bool, "capabilities": {"add": [str], "drop": [str]},
                        "seccompProfile": {"type": str}},
    "resources": {"requests": LABELS, "limits": LABELS},
    "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool}],
}
DAEMON_SET = {
    "apiVersion": str, "kind": str, "metadata": {"name": str, "namespace": str, "labels": LABELS},
    "spec": {
        "selector": {"matchLabels": LABELS},
        "updateStrategy": {"type": str, "rollingUpdate": {"maxUnavailable": str}},
        "template": {"metadata": {"labels": LABELS}, "spec": {
            "hostPID": bool, "automountServiceAccountToken": bool, "enableServiceLinks": bool,
            "terminationGracePeriodSeconds": int, "priorityClassName": str, "tolerations": [{"operator": str}],
            "containers": [CONTAINER],
            "volumes": [{"name": str, "hostPath": {"path": str, "type": str},
                         "secret": {"secretName": str, "defaultMode": int}}]}}}}


def check_fields(value, kind, where):
    if isinstance(kind, list):
        check(isinstance(value, list) and value, "%s is no list: %r" % (where, value))
        for part in value:
            check_fields(part, kind[0], where)
    elif isinstance(kind, dict):
        check(isinstance(value, dict) and value, "%s has no fields: %r" % (where, value))
        for name, part in value.items():
            check(name in kind or "*" in kind, "%s has no field %s" % (where, name))
            check_fields(part, kind.get(name, kind.get("*")), where + "." + name)
    else:
        check(type(value) is kind, "%s is no %s: %r" % (where, kind.__name__, value))


def options_of(*command):
    text = subprocess.run([*command, "--help-all"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return set(re.findall(r"(?<!\S)(-\w|--[\w-]+)", text))


def check_options(container, options):
    for argument in container["args"]:
        option = argument.split("=")[0]
        check(not option.startswith("-") or option in options, "%s has no option %s" % (container["name"], option))


@exports
def test_kubernetes():
    try:
        import yaml  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Skip("python3-yaml is not installed") from None
    with open(os.path.join(ROOT, "packaging/kubernetes/stackd.yaml"), encoding="utf-8") as file:
        documents = list(yaml.safe_load_all(file))
    check(len(documents) == 1 and documents[0]["kind"] == "DaemonSet" and documents[0]["apiVersion"] == "apps/v1", "kind")
    check_fields(documents[0], DAEMON_SET, "DaemonSet")
    spec = documents[0]["spec"]
    pod, labels = spec["template"]["spec"], spec["template"]["metadata"]["labels"]
    check(spec["selector"]["matchLabels"].items() <= labels.items(), "the selector chooses other pods")
    daemon, push = pod["containers"]
    volumes = {volume["name"] for volume in pod["volumes"]}
    used = {mount["name"] for container in (daemon, push) for mount in container["volumeMounts"]}
    check(used == volumes, "volumes %r, of which %r are mounted" % (volumes, used))
    check_options(daemon, options_of(STACKD))
    check_options(push, options_of(STACKCTL, "push"))
    with open(os.path.join(ROOT, "systemd/stackd.service"), encoding="utf-8") as file:
        unit = set(re.search(r"^CapabilityBoundingSet=(.*)$", file.read(), re.M)[1].split())
    rights = {"CAP_" + name for name in daemon["securityContext"]["capabilities"]["add"]}
    check(rights <= unit, "more rights than those of the unit: %r" % (rights - unit))
    for container in daemon, push:
        context = container["securityContext"]
        check(context["capabilities"]["drop"] == ["ALL"] and context["readOnlyRootFilesystem"] and
              not context["privileged"] and not context["allowPrivilegeEscalation"], container["name"])
    check("add" not in push["securityContext"]["capabilities"] and pod["automountServiceAccountToken"] is False, "push")
