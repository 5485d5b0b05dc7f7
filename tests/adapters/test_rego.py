import json
import time

import pytest

from tidegate.policies.rego.engine import RegoEngine
from tidegate.policies.rules.policy import Severity

PLAN = json.dumps(
    {
        "resource_changes": [
            {"address": "aws_s3_bucket.logs", "type": "aws_s3_bucket", "change": {"after": {"acl": "public-read"}}},
            {"address": 'module.a["x"].aws_iam_role.b', "type": "aws_iam_role", "change": {"after": {}}},
        ]
    }
).encode()


@pytest.fixture(scope="module")
def engine():
    return RegoEngine()


def check(engine, source, *, namespaces=("main",), plan=PLAN, **files):
    given = {"policy/main.rego": source, **{path.replace("__", "/"): text for path, text in files.items()}}
    return engine.check("ours", {path: text.encode() for path, text in given.items()}, namespaces, plan, 60)


def told(verdict):
    assert verdict.error == ""
    return [(each.severity, each.rule, each.message, each.address) for each in verdict.findings]


NEW = "package main\nimport rego.v1\n"
PUBLIC = (Severity.DENY, "main.deny", "aws_s3_bucket.logs is public", "aws_s3_bucket.logs")
PUBLIC_IN_NEW = """
deny contains msg if {
  some each in input.resource_changes
  each.change.after.acl == "public-read"
  msg := sprintf("%s is public", [each.address])
}
"""
PUBLIC_IN_OLD = """
package main
import input as tfplan
deny[msg] {
  each := tfplan.resource_changes[_]
  each.change.after.acl == "public-read"
  msg = sprintf("%s is public", [each.address])
}
"""
CONVENTIONS = {
    "new syntax": (
        NEW + PUBLIC_IN_NEW,
        [PUBLIC],
    ),
    "new syntax without its import": (
        NEW.replace("import rego.v1\n", "") + PUBLIC_IN_NEW,
        [PUBLIC],
    ),
    "old syntax": (
        PUBLIC_IN_OLD,
        [PUBLIC],
    ),
    "objects in old syntax": (
        'package main\nviolation[{"msg": msg, "details": {"address": "aws_iam_role.b"}}] { msg := "no" }\n',
        [(Severity.VIOLATION, "main.violation", "no", "aws_iam_role.b")],
    ),
    "objects with their resource": (
        NEW + 'deny contains {"msg": "m", "resource": "a.b"}\n',
        [(Severity.DENY, "main.deny", "m", "a.b")],
    ),
    "objects without a message": (
        NEW + 'deny contains {"why": "m"}\n',
        [(Severity.DENY, "main.deny", '{"why": "m"}', "")],
    ),
    "names with something after them": (
        NEW + 'warn_size contains "w"\nviolation_x_y contains "v"\ndenying contains "no rule"\n',
        [(Severity.VIOLATION, "main.violation_x_y", "v", ""), (Severity.WARN, "main.warn_size", "w", "")],
    ),
    "several bodies": (
        NEW + 'deny contains "a"\ndeny contains "b" if input.resource_changes\ndeny contains "c" if input.nothing\n',
        [(Severity.DENY, "main.deny", "a", ""), (Severity.DENY, "main.deny", "b", "")],
    ),
    "a list": (NEW + 'deny := ["a"] if true\n', [(Severity.DENY, "main.deny", "a", "")]),
    "one text": (NEW + 'deny := "a" if true\n', [(Severity.DENY, "main.deny", "a", "")]),
    "false": (NEW + "default deny := false\n", []),
    "numbers": (NEW + "deny contains 3\n", [(Severity.DENY, "main.deny", "3", "")]),
    "an address with an index": (
        NEW + 'deny contains "see module.a[\\"x\\"].aws_iam_role.b.name."\n',
        [
            (
                Severity.DENY,
                "main.deny",
                'see module.a["x"].aws_iam_role.b.name.',
                'module.a["x"].aws_iam_role.b',
            )
        ],
    ),
    "nothing": (NEW + 'deny contains "x" if input.nothing\n', []),
}


@pytest.mark.parametrize("name", CONVENTIONS)
def test_conventions_are_those_of_conftest(engine, name):
    source, expected = CONVENTIONS[name]
    assert told(check(engine, source)) == expected


def test_rules_of_other_packages_are_helpers(engine):
    source = NEW + 'import data.lib.names\ndeny contains "bad" if names.bad["aws_iam_role"]\n'
    lib = 'package lib.names\nimport rego.v1\nbad contains "aws_iam_role"\ndeny contains "not asked"\n'
    assert [each.message for each in check(engine, source, lib__names=lib, **{"lib__n.rego": lib}).findings] == ["bad"]


def test_namespaces_say_which_packages_count(engine):
    other = 'package teams["net-work"]\nimport rego.v1\ndeny contains "from network"\n'
    verdict = check(engine, NEW + 'deny contains "m"\n', namespaces=("teams.net-work", "main"), **{"net.rego": other})
    assert {each.message for each in verdict.findings} == {"m", "from network"}


def test_data_files_are_merged_at_the_top(engine):
    source = NEW + 'deny contains sprintf("%s %s", [data.allowed.a[0], data.allowed.b]) if true\n'
    verdict = check(
        engine,
        source,
        **{"data__one.yaml": "allowed:\n  a: [x]\n", "two.json": '{"allowed": {"b": "y"}}', "readme.md": "# No"},
    )
    assert [each.message for each in verdict.findings] == ["x y"]


EXCEPTIONS = {
    "of a name": ('exception contains ["foo", "bar"]\n', {"main.deny_foo"}),
    "of rules without more": ('exception contains [""]\n', {"main.deny"}),
    "that does not hold": ('exception contains ["foo"] if input.nothing\n', set()),
}


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_exceptions_let_pass(engine, name):
    text, exempt = EXCEPTIONS[name]
    verdict = check(engine, NEW + 'deny_foo contains "a"\ndeny contains "b"\n' + text)
    assert {each.rule for each in verdict.findings if each.exempted_by == "main.exception"} == exempt
    assert {each.rule for each in verdict.findings} == {"main.deny_foo", "main.deny"}
    assert verdict.failed


BROKEN = {
    "syntax": (NEW + 'deny contains msg if { input.a == ; msg := "x" }\n', "expecting expression", 3),
    "a function that nobody wrote": (NEW + "deny contains msg if { msg := foo(1) }\n", "foo", 3),
    "values that contradict": (
        NEW + 'a := 1\na := 2\ndeny contains "x" if a == 1\n',
        "conflicts with rule at policy/main.rego:3",
        4,
    ),
    "recursion": (NEW + "f(x) := f(x + 1)\ndeny contains f(1)\n", "recursive", 0),
    "a negated variable without a value": (NEW + "deny contains x if not input.a[x]\n", "variable x", 3),
    "unbound variable": (
        NEW + 'deny contains "x" if { input.none; x = count(y); y = [x] }\n',
        "unbound variable",
        0,
    ),
    "a variable in a comprehension that has no value": (
        NEW + 'deny contains "x" if { input.none; count([x | x := y]) == 0 }\n',
        "unbound variable",
        0,
    ),
    "no package": ('import rego.v1\ndeny contains "x"\n', "", 1),
    "no rule": (NEW + "allow := true\n", "package main has no rule deny, violation or warn", 0),
    "a rule that is no set": (NEW + "allow := true\ndeny if true\n", "main.deny has the type boolean", 4),
    "a request to the network": (NEW + 'deny contains "x" if http.send({"url": "u"}).body\n', "http.send", 3),
    "a name's address": (NEW + 'deny contains "x" if net.lookup_ip_addr("localhost")\n', "net.lookup_ip_addr", 3),
    "the environment": (NEW + 'deny contains sprintf("%v", [opa.runtime().env])\n', "opa.runtime", 3),
    "a request in a helper": (NEW + 'deny contains "x"\nhelp := http.send({"url": "u"})\n', "http.send", 4),
    "a file of this machine": (NEW + 'deny contains parse_config_file("/etc/passwd")\n', "parse_config_file", 3),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_evaluated_fails_with_its_place(engine, name):
    source, told_of, line = BROKEN[name]
    verdict = check(engine, source)
    assert verdict.failed
    assert verdict.findings == ()
    assert told_of in verdict.error
    if line:
        assert (verdict.file, verdict.line) == ("policy/main.rego", line)


DATA = {
    "JSON": ("a.json", '{\n"a": }', 2),
    "YAML": ("a.yaml", "a: 1\nb: [", 3),
    "a list": ("a.yaml", "- 1", 1),
    "nested deeply": ("a.json", "[" * 100_000, 0),
    "a day that no month has": ("a.yaml", "a: 2001-99-99", 0),
    "a number of thousands of digits": ("a.json", f'{{"a": {"1" * 5000}}}', 0),
}


@pytest.mark.parametrize("name", DATA)
def test_data_that_cannot_be_read_fails(engine, name):
    file, text, line = DATA[name]
    verdict = check(engine, NEW + 'deny contains "x"\n', **{file: text})
    assert verdict.failed
    assert verdict.file == file
    assert verdict.line in {line, line - 1}


def test_two_files_of_data_must_not_contradict_each_other(engine):
    verdict = check(engine, NEW + 'deny contains "x"\n', **{"a.json": '{"a": {"b": 1}}', "b.json": '{"a": {"b": 2}}'})
    assert "a.b" in verdict.error


HIDING = {
    "a rule": "main: {deny: []}",
    "a rule, with nothing": "main: {deny: null}",
    "a helper": "helpers: {open: false}",
}


@pytest.mark.parametrize("name", HIDING)
def test_data_must_not_hide_rules(engine, name):
    helper = "package helpers\nimport rego.v1\nopen := true\n"
    source = NEW + 'deny contains "x" if data.helpers.open\n'
    verdict = check(engine, source, **{"helpers.rego": helper, "a.yaml": HIDING[name]})
    assert verdict.failed
    assert "has the name of the rule" in verdict.error


def test_data_may_stand_beside_rules(engine):
    source = NEW + "deny contains data.main.word\n"
    assert [each.message for each in check(engine, source, **{"a.yaml": "main: {word: x}"}).findings] == ["x"]


#: What would end the text that a result was read from, and put another result in its place.
ENDING = '"]]]], "expressions":[[["set",[],[]]]],"a":[[["x",["'
HOSTILE = [
    ENDING,
    'aws_s3_bucket.x["a"]',
    "a\\",
    '\\"',
    '"',
    '"x"',
    "\n\x1b\0\x85\u2028",
    "é😀",
    "\\u0022",
    "%s ${a} `",
]
SAYING = {
    "a message": "deny contains msg if { some each in input.resource_changes; msg := each.name }",
    "an object": 'deny contains {"msg": each.name, "details": each} if { some each in input.resource_changes }',
    "a message in old syntax": "deny[msg] { msg := input.resource_changes[_].name }",
    "an object in old syntax": 'deny[{"msg": msg, "of": each}] { each := input.resource_changes[_]; msg := each.name }',
    "data": "deny contains each.name if { some each in input.resource_changes; each.name == data.names[_] }",
    "a document in a text": (
        "deny contains found.name if { some each in input.resource_changes; found := json.unmarshal(each.document) }"
    ),
}


@pytest.mark.parametrize("rule", SAYING)
def test_texts_of_a_plan_stay_what_they_are(engine, rule):
    documents = [json.dumps({"name": text}, ensure_ascii=False) for text in HOSTILE]
    changes = [
        {"address": "a.b", "name": text, "document": each} for text, each in zip(HOSTILE, documents, strict=True)
    ]
    plan = json.dumps({"resource_changes": changes}).encode()
    head = "package main\n" if "old" in rule else NEW
    verdict = check(engine, head + SAYING[rule] + "\n", plan=plan, **{"a.json": json.dumps({"names": HOSTILE})})
    assert verdict.failed
    assert sorted(each.message for each in verdict.findings) == sorted(HOSTILE)


def test_policies_tell_nothing_that_the_plan_marks_sensitive(engine):
    change = {"after": {"name": "hunter2!"}, "after_sensitive": {"name": True}}
    plan = json.dumps({"resource_changes": [{"address": "a.b", "change": change}]}).encode()
    said = '{"msg": sprintf("%v", [each]), "address": each.change.after.name}'
    rule = f"deny contains {said} if {{ some each in input.resource_changes }}\n"
    (finding,) = check(engine, NEW + rule, plan=plan).findings
    assert "(masked)" in finding.message
    assert "hunter2!" not in f"{finding}"


def test_files_that_are_not_utf8_and_sets_without_policies_fail(engine):
    assert engine.check("ours", {"a.rego": b"\xff"}, ("main",), PLAN, 60).error
    assert "There are no policies" in engine.check("ours", {"a.txt": b""}, ("main",), PLAN, 60).error


@pytest.mark.parametrize("plan", [b"no", b"", b'[{"resource_changes": []}]', b"null", b"5", b"[" * 5000 + b"]" * 5000])
def test_what_is_no_plan_passes_no_set(engine, plan):
    verdict = check(engine, NEW + 'deny contains "x" if input.resource_changes\n', plan=plan)
    assert verdict.error == "The plan's JSON cannot be read"


def test_tests_of_policies_are_no_part_of_a_check(engine):
    verdict = check(engine, NEW + 'deny contains "x"\n', **{"main_test.rego": NEW + 'deny contains "of a test"\n'})
    assert [each.message for each in verdict.findings] == ["x"]


DOUBLED = (
    NEW
    + 'a0 := "xxxxxxxxxx"\n'
    + "".join(f'a{number + 1} := concat("", [{", ".join([f"a{number}"] * 10)}])\n' for number in range(12))
)
WITHOUT_END = {
    "a product of everything": NEW + "x := numbers.range(1, 100000)\n"
    'deny contains "x" if { some a in x; some b in x; some c in x; a + b + c == 1 }\n',
    "a number without end": NEW
    + "a0 := 99999999999\n"
    + "".join(f"a{number + 1} := a{number} * a{number}\n" for number in range(40))
    + 'deny contains sprintf("%d", [a39])\n',
    "a text that doubles": DOUBLED + "deny contains a12\n",
    "nested brackets": NEW + f"deny contains {'[' * 20_000}{']' * 20_000}\n",
    "a huge number of messages": NEW
    + 'deny contains sprintf("%d", [each]) if some each in numbers.range(1, 3000000)\n',
}


@pytest.mark.parametrize("name", WITHOUT_END)
def test_hostile_policies_fail_within_their_limits(name):
    began = time.monotonic()
    verdict = RegoEngine(memory=700 << 20).check("ours", {"main.rego": WITHOUT_END[name].encode()}, ("main",), PLAN, 5)
    assert verdict.failed
    assert time.monotonic() - began < 30


def test_yaml_that_doubles_itself_fails_within_its_limits():
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{number + 1}: &a{number + 1} [{', '.join([f'*a{number}'] * 9)}]\n" for number in range(12)
    )
    files = {"main.rego": (NEW + 'deny contains "x"\n').encode(), "a.yaml": bomb.encode()}
    assert RegoEngine(memory=700 << 20).check("ours", files, ("main",), PLAN, 5).failed


def test_many_and_long_messages_are_bounded(engine):
    source = NEW + 'deny contains sprintf("%d", [each]) if some each in numbers.range(1, 5000)\n'
    verdict = check(engine, source)
    assert len(verdict.findings) + verdict.omitted == 5000
    long = NEW + f'deny contains "{"x" * 50_000}"\nviolation contains {{"msg": "m", "much": "{"x" * 50_000}"}}\n'
    assert max(len(each.message) for each in check(engine, long).findings) <= 8000


OLD_EXCEPTION = """
package main
deny_foo[msg] { msg := "a" }
deny[msg] { msg := "b" }
exception[rules] { rules := ["foo"] }
"""


def test_exceptions_of_the_old_syntax_let_pass(engine):
    found = check(engine, OLD_EXCEPTION).findings
    assert {(each.rule, each.exempted_by) for each in found} == {("main.deny_foo", "main.exception"), ("main.deny", "")}


def test_files_of_both_versions_of_the_syntax_work_together(engine):
    old = "package lib\nbad[name] { name := input.resource_changes[_].address }\n"
    verdict = check(engine, NEW + "import data.lib\ndeny contains lib.bad[_]\n", **{"old.rego": old})
    assert {each.message for each in verdict.findings} == {"aws_s3_bucket.logs", 'module.a["x"].aws_iam_role.b'}


def test_a_crash_of_the_engine_fails_the_set(engine):
    verdict = check(engine, NEW + 'deny contains "x" if time.parse_ns("é", "é") == 1\n')
    assert verdict.failed
    assert "crashed" in verdict.error


def test_what_policies_print_does_not_disturb_the_answer(engine):
    assert [each.message for each in check(engine, NEW + 'deny contains "x" if print("{}")\n').findings] == ["x"]


def test_nothing_of_the_environment_reaches_policies(monkeypatch, engine):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    source = NEW + 'e := opa["runtime"]()\ndeny contains sprintf("%v", [e])\n'
    verdict = check(engine, source)
    assert verdict.failed
    assert "hidden" not in repr(verdict)
