"""What the files of a pull request's root may not say, in both forms of the language and in disguise."""

from __future__ import annotations

import json
from typing import Any

import pygohcl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.pull_requests.rules.allowed_code import Allowed, engine_problem, patterns_of
from tidegate.pull_requests.rules.untrusted_code import examine, locked_providers
from tidegate.roots.rules.root import EngineName

DEFAULTS = Allowed()


def told(text: str, name: str = "main.tf", allowed: Allowed = DEFAULTS) -> list[str]:
    return [f"{finding.line}: {finding.what}" for finding in examine(name, text.encode(), allowed).findings]


def told_of(document: Any, allowed: Allowed = DEFAULTS) -> list[str]:
    return told(json.dumps(document), "main.tf.json", allowed)


# Engines


@pytest.mark.parametrize("version", ["0.12.31", "1.0.8", "1.5.6", "1.5.0-rc1"])
def test_an_engine_by_which_unreviewed_code_could_run_programs_plans_no_pull_request(version: str) -> None:
    assert "1.5.7" in str(engine_problem(EngineName.TERRAFORM, version))


@pytest.mark.parametrize(
    ("engine", "version"),
    [(EngineName.TERRAFORM, "1.5.7"), (EngineName.TERRAFORM, "1.14.0-beta1"), (EngineName.TOFU, "1.6.0")],
)
def test_later_engines_do(engine: EngineName, version: str) -> None:
    assert engine_problem(engine, version) is None


# Providers


@pytest.mark.parametrize(
    "address",
    [
        "aws",
        "hashicorp/aws",
        "HashiCorp/AWS",
        "registry.terraform.io/hashicorp/aws",
        "registry.opentofu.org/hashicorp/random",
        "terraform.io/builtin/terraform",
    ],
)
def test_hashicorp_s_providers_may_run(address: str) -> None:
    assert DEFAULTS.refused_provider(address) is None


@pytest.mark.parametrize(
    "address",
    [
        "evil/aws",
        "evil.example/hashicorp/aws",
        "hashicorp/aws/x",
        "external",
        "hashicorp/HTTP",
        "registry.opentofu.org/hashicorp/kubernetes",
        "hashicorp/helm",
        "alekc/kubectl",
    ],
)
def test_others_and_those_that_run_programs_may_not(address: str) -> None:
    finding = DEFAULTS.refused_provider(address)
    assert finding is not None
    assert "pull_requests.allowed_providers" in finding.remedy


def test_the_lock_file_adds_its_providers_but_none_that_run_programs() -> None:
    lock = (
        'provider "registry.terraform.io/acme/cloud" {\n  version = "1.0.0"\n}\n\n'
        'provider "registry.terraform.io/scottwinkler/shell" {\n}\n# provider "registry.terraform.io/evil/x" {\n'
    )
    allowed = Allowed(locked=locked_providers(lock))
    assert allowed.provider("acme/cloud")
    assert not allowed.provider("acme/other")
    assert not allowed.provider("scottwinkler/shell")
    assert not allowed.provider("evil/x")


def test_a_list_decides_alone() -> None:
    allowed = Allowed(providers=("acme/*", "external", "example.com/*/*"), locked=frozenset({"locked/one"}))
    assert allowed.provider("registry.terraform.io/acme/cloud")
    assert allowed.provider("hashicorp/external")
    assert allowed.provider("example.com/a/b")
    assert not allowed.provider("hashicorp/aws")
    assert not allowed.provider("locked/one")
    assert not allowed.provider("other.com/acme/cloud")
    assert not Allowed(providers=()).provider("aws")


@pytest.mark.parametrize("name", ["external", "hashicorp/http", "hashicorp/helm"])
def test_a_pattern_allows_no_provider_that_runs_programs(name: str) -> None:
    finding = Allowed(providers=("hashicorp/*", "*/*")).refused_provider(name)
    assert finding is not None
    assert "add the full name hashicorp/" in finding.remedy
    assert Allowed(providers=("hashicorp/*", name)).provider(name)


REQUIREMENT = 'terraform {\n  required_providers {\n    x = {\n      source = "evil/x"\n    }\n  }\n}\n'


def test_a_required_provider_is_told_with_its_line() -> None:
    assert told(REQUIREMENT) == ["4: the provider 'evil/x' may not run before the merge."]
    assert told(REQUIREMENT, allowed=Allowed(providers=("evil/x",))) == []
    assert told('required_providers { x = { source = "hashicorp/aws" } }\nsource = "some text"\n') == []
    document = {"terraform": [{"required_providers": {"x": {"source": "evil/x"}, "y": {"source": "hashicorp/aws"}}}]}
    assert told_of(document) == ["0: the provider 'evil/x' may not run before the merge."]
    assert told_of({"terraform": {"required_providers": {"x": {"source": 3}}}}) == []
    assert told_of({"terraform": [{"required_providers": [{"aws": "5", "external": "~> 2.0"}, 3]}]}) == [
        "0: the provider 'hashicorp/external' may not run before the merge."
    ]


# Modules


@pytest.mark.parametrize(
    ("source", "pattern"),
    [
        ("terraform-aws-modules/vpc/aws", "terraform-aws-modules/*"),
        ("registry.terraform.io/terraform-aws-modules/vpc/aws", "terraform-aws-modules/*"),
        ("github.com/acme/modules//vpc?ref=v1", "github.com/acme/*"),
        ("git::https://github.com/acme/modules.git//vpc?ref=v1", "github.com/acme/modules//*"),
        ("git@github.com:acme/modules.git", "git@github.com:acme/*"),
        ("git::ssh://git@github.com/acme/modules.git", "git@github.com:acme/*"),
        ("git::https://git.example.com/x.git", "git::https://git.example.com/*"),
    ],
)
def test_a_pattern_allows_a_source_however_it_is_written(source: str, pattern: str) -> None:
    assert Allowed(modules=(pattern,)).refused_module(source) is None
    assert DEFAULTS.refused_module(source) is not None


@pytest.mark.parametrize(
    "source",
    [
        "github.com/acme/../evil/x",
        "github.com/acme/%2E%2e/evil/x",
        "git::https://evil.example/github.com/acme/x",
        "/etc",
        "evil/vpc/aws",
    ],
)
def test_what_only_looks_like_an_allowed_source_is_refused(source: str) -> None:
    finding = Allowed(modules=("github.com/acme/*", "acme/*")).refused_module(source)
    assert finding is not None
    assert "pull_requests.allowed_modules" in finding.remedy


def test_modules_of_the_repository_are_followed_and_others_told() -> None:
    examined = examine("main.tf", b'module "a" { source = "../a" }\nmodule "b" {\n  source = "evil/x/y"\n}\n', DEFAULTS)
    assert examined.local_modules == {"../a"}
    assert examined.uses_modules
    assert [(finding.line, finding.what) for finding in examined.findings] == [
        (3, "the module source 'evil/x/y' is not allowed before the merge.")
    ]
    document = {"module": {"a": {"source": "./a"}, "b": [{"source": "evil/x/y"}], "c": {"source": ["./x"]}}}
    examined = examine("main.tf.json", json.dumps(document).encode(), DEFAULTS)
    assert examined.local_modules == {"./a"}
    assert examined.uses_modules
    assert len(examined.findings) == 2
    assert not examine("main.tf", b"locals {}\n", DEFAULTS).uses_modules


@pytest.mark.parametrize("source", ["${var.x}", "%{ if true }x%{ endif }"])
def test_a_source_that_is_no_plain_string_is_refused(source: str) -> None:
    assert told_of({"module": {"a": {"source": source}}}) == [
        "0: the source of a module is not a plain string, so it cannot be checked."
    ]


# What runs programs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('data "external" "x" {}', "'external' runs a program"),
        ('data "local_command" "x" {}', "'local_command' runs a program"),
        ('check "c" {\n  data "http" "x" {}\n}', "'http' calls a URL"),
        ('terraform {\n  backend "kubernetes" {}\n}', "the backend 'kubernetes'"),
        ('data "terraform_remote_state" "x" {\n  backend = "kubernetes"\n}', "the backend 'kubernetes'"),
        ('provider "aws" {\n  shared_config_files = ["x"]\n}', "shared_config_files may name a file"),
        ('backend "oss" {\n  shared_credentials_file = "x"\n}', "shared_credentials_file may name a file"),
        (
            'provider "vault" {\n  auth_login_aws {\n    aws_shared_credentials_file = "x"\n  }\n}',
            "shared_credentials_file may name a file",
        ),
        ('terraform {\n  state_store "a_b" {}\n}', "state_store starts a provider"),
        ('encryption {\n  key_provider "external" "x" {}\n}', "the key provider 'external'"),
        ('encryption {\n  method "external" "x" {}\n}', "the encryption method 'external'"),
        ('backend /* x */ "kubernetes" {}', "the backend 'kubernetes'"),
        ('data "\\u0065xternal" "x" {}', "'external' runs a program"),
        ('ephemeral "http" "x" {}', "'http' calls a URL"),
        ('x = jsondecode("{\\"shared\\u005fconfig_files\\": 1}")', "shared_config_files may name a file"),
        ("x = <<E\ncredential_process = id\nE", "credential_process may name a file"),
        ('x = {\n  backend "kubernetes" {}\n}', "the backend 'kubernetes'"),
    ],
)
def test_what_runs_programs_is_told(text: str, words: str) -> None:
    found = told(f"# first line\n{text}\n")
    assert len({line.partition(": ")[2] for line in found}) == 1
    assert words in found[0]
    assert int(found[0].partition(":")[0]) >= 2


def test_data_sources_are_allowed_with_their_provider() -> None:
    allowed = Allowed(providers=("hashicorp/external",))
    assert told('data "external" "x" {}', allowed=allowed) == []
    assert told_of({"data": {"external": {}}}, allowed) == []
    assert told('data "http" "x" {}', allowed=allowed) != []
    assert told('data "local_command" "x" {}', allowed=Allowed(providers=("hashicorp/*",))) != []
    assert told('data "local_command" "x" {}', allowed=Allowed(providers=("hashicorp/local",))) == []


REMOTE = 'data "terraform_remote_state" "x" {{\n  {}\n}}\n'


@pytest.mark.parametrize(
    "backend",
    [
        "local.kind",
        '"${"kube"}rnetes"',
        '("kubernetes")',
        '(\n"kubernetes")',
        'true ? "kubernetes" : "s3"',
        "<<E\ns3\nE",
    ],
)
def test_the_backend_of_another_state_is_a_name_in_quotes(backend: str) -> None:
    found = told(REMOTE.format(f"backend = {backend}"))
    assert found[0] == "2: the backend of terraform_remote_state must be a literal string, so that it can be checked."


@pytest.mark.parametrize(
    "config",
    [
        "local.x",
        "merge({}, local.x)",
        "{ for k, v in local.x : k => v }",
        "{ # x\nfor k in local.x : k => k }",
        "{}[local.x]",
        "true ? {} : local.x",
    ],
)
def test_the_config_of_another_state_is_written_out(config: str) -> None:
    found = told(REMOTE.format(f'backend = "s3"\n  config = {config}'))
    assert "3: the config of terraform_remote_state must be written out in braces, so that it can be checked." in found


@pytest.mark.parametrize(
    "key",
    [
        '(join("_", ["shared", "config", "files"])) =',
        'join("_", ["shared", "config", "files"]) =',
        'join("_", ["shared", "config", "files"]) :',
        '"shared_${"config"}_files" =',
        "true ? local.a : local.b =",
        "local.names[local.x] =",
        "(local.a) /* x */ =",
        '"?", (local.a) :',
    ],
)
def test_no_key_is_computed_beside_another_state(key: str) -> None:
    found = told(REMOTE.format(f'backend = "s3"\n  config = {{\n    {key} ["./x"]\n  }}'))
    assert found == ["3: a key is computed in the config of terraform_remote_state, so it cannot be checked."]


def test_an_escape_hides_no_key() -> None:
    found = told(REMOTE.format('backend = "s3"\n  config = {\n    "shared_config\\u005ffiles" = ["./x"]\n  }'))
    assert found == ["4: shared_config_files may name a file of the branch, and such a file can name a program to run."]


def test_ordinary_reading_of_another_state_is_left_alone() -> None:
    assert (
        told(
            REMOTE.format(
                'backend = "s3" # there\n  count = var.x ? length(var.y) : 0\n  config = {\n    bucket = "b-${var.x}"\n'
                '    "key" = var.x ? "${var.x}/*" : "y"\n    region : local.region\n  }'
            )
            + 'locals {\n  a = { for k in keys(var.m) : k => m[k] == "x" }\n  b = provider::x::y("z")\n}\n'
        )
        == []
    )


@pytest.mark.parametrize(
    "body",
    [{"backend": "${local.k}"}, {"backend": "s3", "config": "${local.c}"}, {"config": {"%{ if true }a%{ endif }": 1}}],
)
def test_another_state_is_judged_in_json_as_well(body: Any) -> None:
    assert "that is computed" in told_of({"data": {"terraform_remote_state": {"x": body}}})[0]
    assert told_of({"data": {"terraform_remote_state": {"x": {"backend": "s3", "config": {"key": "${var.k}"}}}}}) == []


@pytest.mark.parametrize(
    "text",
    [
        '# data "external", by the backend "kubernetes" that shared_config_files has\n',
        'resource "x" "y" {\n  data = "external"\n  a = local.backend["kubernetes"]\n}\n',
        'resource "aws_lb" "x" {\n  backend = kubernetes_service.x.name\n}\n',
        'resource "aws_api_gateway_method" "x" {\n  method = "GET"\n}\n',
        'output "state_store_name" { value = "x" }\n',
        'resource "aws_instance" "x" {\n  user_data = <<-EOT\n    exec > >(tee /var/log/x)\n  EOT\n}\n',
        'provider "aws" {\n  assume_role { role_arn = "x" }\n}\n',
    ],
)
def test_ordinary_files_are_left_alone(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"data": {"external": {"x": {}}}}, "'external' runs a program"),
        ({"data": [{"http": {"x": {}}}]}, "'http' calls a URL"),
        ({"terraform": {"backend": {"kubernetes": {}}}}, "the backend 'kubernetes'"),
        ({"data": {"terraform_remote_state": {"x": {"backend": "kubernetes"}}}}, "the backend 'kubernetes'"),
        ({"provider": {"aws": {"shared_config_files": ["x"]}}}, "shared_config_files may name a file"),
        ({"terraform": {"state_store": {"a_b": {}}}}, "state_store starts a provider"),
        ({"terraform": {"encryption": {"key_provider": {"external": {}}}}}, "the key_provider 'external'"),
    ],
)
def test_the_json_form_is_judged_as_well(document: Any, words: str) -> None:
    assert words in told_of(document)[0]


def test_keys_that_occur_twice_or_are_escaped_both_count_in_json() -> None:
    assert told('{"data": {"\\u0065xternal": {}}, "data": {}}', "x.tf.json") != []


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"a": 1} x', "\x00"])
def test_json_that_cannot_be_read_is_refused(text: str) -> None:
    assert told(text, "x.tf.json") == ["0: this is not valid JSON, so it cannot be checked."]


def test_ordinary_json_is_left_alone() -> None:
    assert told_of({"resource": {"aws_lb": {"x": {"backend": {"a": 1}, "data": "text"}}}, "data": {"aws_x": {}}}) == []


# A real parser as the judge

GAPS = st.sampled_from(["", " ", "\t", "/* x */", " /**/ "])
LABELS = st.sampled_from(["external", '"external"', '"\\u0065xternal"', '"e\\U00000078ternal"', '"other"'])
NAMES = st.sampled_from(["x", '"x"', "é", '"a b"', "a·b"])
#: What could make a reader lose its place before the block.
BEFORE = st.sampled_from(
    [
        "",
        "x = <<A·B\n  A\nA·B\n",
        'x = "${"}"}"\n',
        'x = "\\\\"\n',
        '/* " */\n',
        "# /*\n",
        "x = <<-E\n  ${<<F\nE\nF\n}\n  E\n",
        'x = "%{ if true }"\n',
        'x = 1 // "\n',
    ]
)


BLOCKS = st.tuples(BEFORE, st.just("data"), GAPS, LABELS, GAPS, NAMES, GAPS, st.sampled_from(["{\n}\n", "{\r\n}\r\n"]))


@given(BLOCKS.map("".join))
def test_whatever_a_parser_reads_as_an_external_data_source_is_told(text: str) -> None:
    try:
        kinds = pygohcl.loads(text).get("data", {})
    except pygohcl.HCLParseError:
        return
    assert "external" not in kinds or told(text) != []


@pytest.mark.parametrize(
    "hostile",
    [
        REMOTE.format("config = {" + "#" * 60),
        REMOTE.format('backend = "s3"\n  config = { ' + "//" * 200_000 + "\n}"),
        REMOTE.format("config = {" + "a = 1\n" * 50_000 + "}"),
        "x = <<A·B\nA·B\n",
        'x = "\ud800"',
        'x = "${" }\n',
        "é = 1\n",
        'b { backend "s3" {} }\n',
        "x = [" * 50_000,
    ],
    ids=lambda text: ascii(text[-20:]),
)
def test_what_cannot_be_read_is_refused_at_once_and_never_searched_for_ever(hostile: str) -> None:
    found = examine("main.tf", hostile.encode("utf-8", "surrogatepass"), DEFAULTS).findings
    assert all(finding.what for finding in found)
    try:
        pygohcl.loads(hostile) if len(hostile) < 1_000 else None
    except (pygohcl.HCLParseError, UnicodeEncodeError):
        assert found


def test_a_provider_without_a_source_is_hashicorp_s_of_its_name() -> None:
    assert told('terraform {\n  required_providers {\n    external = "~> 2.0"\n    aws = "5"\n  }\n}\n') == [
        "3: the provider 'hashicorp/external' may not run before the merge."
    ]
    assert told("terraform {\n  required_providers {\n    x = { source = var.x }\n  }\n}\n") == [
        "3: the source of a provider is not a plain string, so it cannot be checked."
    ]


@pytest.mark.parametrize(
    ("source", "is_allowed"),
    [
        ("github.com/acme/modules", True),
        ("github.com/acme/modules//queue?ref=v1", True),
        ("git::https://github.com/acme/modules.git//queue", True),
        ("git::https://github.com/acme/modules?ref=v1", True),
        ("git@github.com:acme/modules.git//queue", True),
        ("git::ssh://git@github.com/acme/modules.git?ref=v1", True),
        ("github.com/acme/modules-of-others", False),
        ("github.com/acme/modules/x//queue", False),
        ("git::https://github.com.evil.example/acme/modules.git", False),
        ("git::https://evil.example/github.com/acme/modules", False),
        ("github.com/acme/modules//../../evil", False),
    ],
)
def test_modules_of_a_repository_are_meant_in_all_forms_and_no_others(source, is_allowed):
    allowed = Allowed(modules=patterns_of("https://github.com/acme/modules.git"))
    assert allowed.module(source) is is_allowed
