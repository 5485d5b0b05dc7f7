"""What is read of module files, in order and out of order; a real parser is the judge where it can read them."""

from __future__ import annotations

import json
import string
import time

import pygohcl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.roots.rules.module_file import ModuleFile, read_module_file


def sources(text: str, name: str = "main.tf") -> set[str]:
    return set(read_module_file(name, text.encode()).sources)


@pytest.mark.parametrize(
    "text",
    [
        'module "network" {\n  source = "./network"\n}',
        'module "network" { source = "./network" }',
        'module network {\n  source="./network"\n}',
        'module "network" {\n  cidr = "10.0.0.0/8"\n  source = "./network" # here\n}',
        '# module "x" { source = "./x" }\nmodule "network" {\n  source = "./network"\n}',
        '/* module "x" {\n source = "./x" } */ module "network" {\n  source = "./network"\n}',
        'locals {\n  a = <<-E\n    module "x" { source = "./x"\n  E\n}\nmodule "network" {\n  source = "./network"\n}',
        'locals {\n  a = "${jsonencode({ a = "}" })} \\" {"\n}\nmodule "network" {\n  source = "./network"\n}',
        'locals {\n  a = "$${ {"\n}\nmodule "network" {\n  source = "./network"\n}',
        'resource "x" "y" {\n  source = "./y"\n}\nmodule "network" {\n  source = "./network"\n}',
        'module "network" {\n  providers = { source = "./z" }\n  source = "./network"\n}',
        'module "network" {\n  source = "./network"\n  for_each = toset([for a in ["x"] : a])\n}',
    ],
)
def test_the_source_of_a_module_is_found_and_nothing_else(text):
    assert sources(text) == {"./network"}


@pytest.mark.parametrize(
    "text",
    [
        'module "network" {\n  source = "./network"\n  count = \n}',
        'resource "x" {{{ ]\n}}}\nmodule "network" {\n  source = "./network"\n}',
        'module "network" {\n  source = "./network"\n',
        'a = "never ends\nmodule "network" {\n  source = "./network"\n}',
    ],
)
def test_a_file_with_an_error_in_it_still_tells_its_modules(text):
    with pytest.raises(pygohcl.HCLParseError):
        pygohcl.loads(text)
    assert sources(text) == {"./network"}


@pytest.mark.parametrize(
    ("text", "keeps_state"),
    [
        ('terraform {\n  backend "s3" {}\n}', True),
        ('terraform {\n  cloud {\n    organization = "acme"\n  }\n}', True),
        ("terraform { cloud {} }", True),
        ('terraform {\n  required_providers {\n    backend = { source = "acme/backend" }\n  }\n}', False),
        ('terraform {\n  required_version = ">= 1.5"\n}', False),
        ('resource "x" "y" {\n  backend "s3" {}\n}', False),
        ('# terraform { backend "s3" {} }', False),
        ("locals {\n  backend = {}\n}", False),
    ],
)
def test_a_backend_or_cloud_block_is_seen_where_it_means_something(text, keeps_state):
    assert read_module_file("main.tf", text.encode()).keeps_state is keeps_state


@pytest.mark.parametrize(
    "document",
    [
        {"module": {"network": {"source": "./network"}}},
        {"module": {"network": [{"source": "./network"}]}},
        {"module": [{"network": {"source": "./network"}}]},
    ],
)
def test_the_json_form_is_read_in_all_its_shapes(document):
    assert sources(json.dumps(document), "main.tf.json") == {"./network"}


def test_a_source_in_the_json_form_that_is_no_text_is_no_source():
    calls = {"network": {"source": "./network"}, "none": {}, "number": {"source": 7}}
    assert sources(json.dumps({"module": calls}), "main.tf.json") == {"./network"}


def test_a_backend_in_the_json_form_is_seen():
    text = json.dumps({"terraform": {"backend": {"s3": {}}}}).encode()
    assert read_module_file("main.tf.json", text).keeps_state


def endless(times):
    return (
        b"module " + b"[" * 2 * times,
        b'module "' + b"${" * times,
        b"module " + b"{" * 2 * times,
        b"/*" * times + b"module",
        b"".join(b"a%d = <<A%d\n" % (n, n) for n in range(times // 10)) + b"module",
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("main.tf", content) for content in endless(50)),
        ("main.tf", b'module "\xff\xfe" { source = "./\xff" }'),
        ("main.tf", b"module \x00"),
        ("main.tf", b'module "never ends'),
        ("main.tf.json", b'{"module":' * 100_000),
        ("main.tf.json", b'{"module": 7, "terraform": [null]}'),
        ("main.tf.json", b"module"),
    ],
    ids=lambda value: repr(value[:16]),
)
def test_hostile_content_is_read_without_failing(name, content):
    assert isinstance(read_module_file(name, content), ModuleFile)


@pytest.mark.large
@pytest.mark.parametrize("content", endless(100_000), ids=lambda value: repr(value[:16]))
def test_much_that_is_hostile_is_read_soon(content):
    began = time.process_time()
    assert isinstance(read_module_file("main.tf", content), ModuleFile)
    assert time.process_time() - began < 20


words = st.text(string.ascii_lowercase, min_size=1, max_size=5)
strings = st.text(string.ascii_letters + " {}[]()#/*=.-<'", max_size=12).map(lambda text: f'"{text}"')
numbers = st.integers(0, 99).map(str)
expressions = st.recursive(
    strings | numbers,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(words, inner, max_size=3).map(
            lambda items: "{ " + ", ".join(f"{key} = {value}" for key, value in items.items()) + " }"
        )
        | inner.map(lambda value: f'"a${{{value}}}b"')
        | words.map(lambda text: f'<<EOT\n{text} {{ "\nEOT\n')
    ),
    max_leaves=5,
)
arguments = st.dictionaries(words.filter(lambda word: word != "source"), expressions, max_size=3).map(
    lambda items: "".join(f"  {key} = {value}\n" for key, value in items.items())
)
blocks = st.one_of(
    st.tuples(words, arguments, words, arguments).map(
        lambda it: f'module "{it[0]}" {{\n{it[1]}  source = "./{it[2]}"\n{it[3]}}}\n'
    ),
    st.tuples(words, arguments).map(lambda it: f'resource "null" "{it[0]}" {{\n{it[1]}  source = "./NO"\n}}\n'),
    arguments.map(lambda text: f"locals {{\n{text}}}\n"),
    strings.map(lambda text: f"# module {text}\n"),
)


@given(st.lists(blocks, max_size=4).map("".join))
def test_the_sources_are_those_that_a_parser_of_the_language_finds(text):
    try:
        modules = pygohcl.loads(text).get("module", {})
    except (pygohcl.HCLParseError, pygohcl.HCLInternalError):
        return  # The judge itself fails on some legal text, such as a null key.
    values = modules.values() if isinstance(modules, dict) else [value for item in modules for value in item.values()]
    found = {call["source"] for value in values for call in (value if isinstance(value, list) else [value])}
    assert found <= sources(text)
    assert "./NO" not in sources(text)
