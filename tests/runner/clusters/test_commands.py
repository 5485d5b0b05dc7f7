"""Commands of the repository: tasks of the provider ``command``, and hooks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from runner.clusters.values import read_values
from runner.faults import ClusterUnreachable, TaskFailed
from tidegate.deploys.rules.cluster import ClusterKind, DeclaredCluster, DeclaredHook, HookPoint, ProviderName

SPEC = "network/cluster.yaml"
CREATE = "create-workload-cluster"
SHOP = DeclaredCluster("shop", ClusterKind.WORKLOAD, ProviderName.COMMAND, SPEC)


def spec(create='[sh, -c, "echo workload-cluster=secret:shop > $TIDEGATE_VALUES"]', more=""):
    return f'kubernetes: "1.33"\nprovider:\n  tasks:\n    {CREATE}: {create}\n{more}'


@pytest.fixture
def shop(workflows):
    def make(*, hook=None, **files):
        declared = replace(SHOP, hooks=(hook,) if hook else ())
        made = workflows(declared, {SPEC: spec(), **files})
        made.plan()
        return made

    return make


def login(**user):
    """Return a kubeconfig for a server that does not answer."""
    return {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": user}],
    }


@pytest.fixture
def unasked(monkeypatch):
    """Let no API server be asked for its version: there is none."""
    monkeypatch.setattr("runner.clusters.api.Api.version", lambda _: "v1.33.0")


@pytest.mark.parametrize(
    ("command", "fault", "part"),
    [
        ("[sh, -c, exit 75]", ClusterUnreachable, "75"),
        ("[sh, -c, exit 3]", TaskFailed, "exit code 3"),
        ("[sh, -c, kill -9 $$]", TaskFailed, "SIGKILL"),
        ("[./no-such-program]", TaskFailed, "failed to start"),
        ('["true"]', TaskFailed, "how to reach"),
        ('[sh, -c, "echo nonsense > $TIDEGATE_VALUES"]', TaskFailed, "no ="),
        ("just text", TaskFailed, "list of words"),
    ],
)
def test_how_a_command_ends_is_how_its_task_ends(shop, command, fault, part):
    made = shop(**{SPEC: spec(command)})
    with pytest.raises(fault, match=part):
        made.run(CREATE)


def test_a_workflow_whose_tasks_have_no_command_is_refused_at_its_beginning(shop):
    with pytest.raises(TaskFailed, match=CREATE):
        shop(**{SPEC: 'kubernetes: "1.33"\nprovider: {tasks: {}}\n'}).run("validate")


def test_a_misspelt_task_is_refused_with_the_nearest(shop):
    with pytest.raises(TaskFailed, match=CREATE):
        shop(**{SPEC: spec() + '    create-workload-clustr: ["true"]\n'}).run("validate")


def test_a_command_for_a_task_that_runs_none_is_refused(shop):
    with pytest.raises(TaskFailed, match=r"install-networking.*Allowed"):
        shop(**{SPEC: spec() + '    install-networking: ["true"]\n'}).run("validate")


def test_a_probe_that_fails_is_no_answer(shop):
    made = shop(**{SPEC: spec(more=f"  probes:\n    {CREATE}: [sh, -c, exit 2]\n")})
    with pytest.raises(TaskFailed, match="exit code 2"):
        made.run(CREATE)


def test_a_hook_has_the_context_and_the_clusters_and_returns_values(shop, aws, unasked):
    aws.secrets["tidegate/clusters/acme/infra/shop"] = json.dumps(login(token="very-secret-token"))
    script = (
        'stat -c %a "$KUBECONFIG"; cat "$KUBECONFIG" "$TIDEGATE_CONTEXT"\n'
        'echo "$TIDEGATE_CLUSTER $TIDEGATE_OPERATION $TIDEGATE_HOOK $TIDEGATE_FENCE ${AWS_SECRET_ACCESS_KEY-none}"\n'
        'test "$KUBECONFIG" = "$TIDEGATE_KUBECONFIG_WORKLOAD" && echo "answer=42" > "$TIDEGATE_VALUES"\n'
    )
    made = shop(hook=DeclaredHook("look", HookPoint.AFTER, CREATE, ("sh", "look.sh")), **{"network/look.sh": script})
    made.run(CREATE)
    [hook] = [each for step in made.planned.steps for each in step.after if each.name == "look"]
    result = made.run(CREATE, hook=hook)
    assert result.values == (("answer", "42"),)
    assert "600\n" in made.log
    assert "shop create look 1 none" in made.log
    assert "very-secret-token" not in made.log


def test_no_kubeconfig_comes_into_the_log_the_bucket_or_the_context(shop, aws, unasked):
    aws.secrets["tidegate/clusters/acme/infra/shop"] = json.dumps(login(token="very-secret-token"))
    steal = 'cat "$KUBECONFIG" >&2; printf "login=%s" "$(cat "$KUBECONFIG")" > "$TIDEGATE_VALUES"'
    made = shop(hook=DeclaredHook("steal", HookPoint.AFTER, CREATE, ("sh", "-c", steal)))
    made.run(CREATE)
    [hook] = [each for step in made.planned.steps for each in step.after if each.name == "steal"]
    with pytest.raises(TaskFailed, match="written a secret into the value login"):
        made.run(CREATE, hook=hook)
    assert "very-secret-token" not in f"{made.log}{made.values}"
    assert not [key for key, content in aws.objects.items() if b"very-secret-token" in content]


def test_a_command_cannot_give_the_runner_a_program_to_run(shop, aws, tmp_path):
    aws.secrets["tidegate/clusters/acme/infra/shop"] = json.dumps(login(token="very-secret-token"))
    proof = tmp_path / "ran-as-the-runner"
    version = "client.authentication.k8s.io/v1"
    program = {"apiVersion": version, "command": "touch", "args": [str(proof)], "interactiveMode": "Never"}
    create = (
        'cd "$(dirname "$TIDEGATE_VALUES")" && mkdir -p kubeconfigs\n'
        'cp "$OLDPWD/planted.json" kubeconfigs/shop.json\n'
        'echo workload-cluster=secret:shop > "$TIDEGATE_VALUES"\n'
    )
    files = {"network/create.sh": create, "network/planted.json": json.dumps(login(exec=program))}
    made = shop(**{SPEC: spec("[sh, create.sh]"), **files})
    with pytest.raises(ClusterUnreachable):
        made.run(CREATE)
    assert not proof.exists()


def test_a_repository_cannot_name_the_secret_of_another(shop):
    made = shop(**{SPEC: spec('[sh, -c, "echo workload-cluster=secret:../../other > $TIDEGATE_VALUES"]')})
    with pytest.raises(TaskFailed, match="no name of a secret"):
        made.run(CREATE)


def test_an_order_or_plan_that_was_changed_runs_nothing(shop, aws, monkeypatch):
    made = shop()
    store = made._store

    def altered(key, content):
        artifact = store(key, content)
        aws.objects[key] = content.replace(b"shop", b"chop")
        return artifact

    monkeypatch.setattr(made, "_store", altered)
    with pytest.raises(Exception, match="was changed"):
        made.run(CREATE)
    monkeypatch.undo()
    aws.objects[made._apply.plan_file.key] += b" "
    with pytest.raises(Exception, match="was changed"):
        made.run(CREATE)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("a=1\nb-c = x=y \n\n", {"a": "1", "b-c": "x=y"}),
        ('{"a": "1", "b": {"c": [1]}}', {"a": "1", "b": '{"c":[1]}'}),
    ],
)
def test_values_are_lines_or_json(tmp_path, text, values):
    file = tmp_path / "values"
    file.write_text(text)
    assert read_values(file, "It") == values


@pytest.mark.parametrize("text", ["a", "A=1", '{"a": ', "[1]", "a=" + "x" * 70_000])
def test_unusable_values_are_refused(tmp_path, text):
    file = tmp_path / "values"
    file.write_text(text)
    with pytest.raises(TaskFailed):
        read_values(file, "It")
