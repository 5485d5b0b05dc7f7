"""Components, and objects that they are made of."""

from __future__ import annotations

import yaml

from tidegate.deploys.rules.cluster import ComponentForm, ComponentRole, DeclaredComponent


def component(name, form=ComponentForm.MANIFESTS, path="", **more):
    return DeclaredComponent(name, ComponentRole.WORKLOAD, form, path or f"{name}.yaml", "1", seconds=20, **more)


def manifests(*objects):
    return yaml.safe_dump_all(objects)


def settings(name, namespace="default", **data):
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(name, namespace="default", image="agent:1"):
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "agent", "image": image}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }


def definition(kind, plural, group="example.com"):
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": plural[:-1]},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def custom(kind, name, namespace="default", **spec):
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": metadata, "spec": spec}
