"""Policies are stored for a pull request, its plans are held against them, and people are asked for only if needed."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256

import pytest

from tests.builders import any_artifact, any_layer, any_plan, any_pull_request, any_pull_request_record, any_root, sha
from tests.configuration import load
from tests.fakes import MemoryForge
from tests.fakes.policies import MemoryOrganizationPolicies, MemoryPolicyEngine
from tests.fakes.ports import changed, memory_ports
from tests.instants import utc
from tests.unit.discovery.trees import Trees, blob
from tidegate.changes.rules.change_set import Member
from tidegate.config.configured import ConfiguredRoot
from tidegate.deploys.rules.approval import SetState
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.texts.policies import render_policy
from tidegate.discovery.repository_source import Granted
from tidegate.discovery.root_index import Deployable
from tidegate.discovery.save_policies import save_policies_of_pull_request
from tidegate.messages import CheckPolicies
from tidegate.plans.rules.cost import PlanCost
from tidegate.policies.check_policies import check_policies
from tidegate.policies.rules.files import packed, unpacked
from tidegate.policies.rules.policy import PolicyFinding, PolicySetStatus, PolicyVerdict, RuleChanges, Severity
from tidegate.ports import Change
from tidegate.pull_requests.evaluate_policies import dismiss_outdated, evaluate_policies
from tidegate.pull_requests.pull_request_checks import show_pull_request
from tidegate.roots.rules.terms import tagged
from tidegate.rules.errors import AppLacksPermission, ForgeRefused
from tidegate.vcs.rules.authors import Authors, nobody_at
from tidegate.vcs.rules.pull_request import PullRequestReview, ReviewVerdict

FILES = {
    "policies/net/main.rego": "package main",
    "policies/net/data/limits.yaml": "a: 1",
    "policies/net/main_test.rego": "package main_test",
    "policies/net/testdata/plan.json": "{}",
    "policies/network/other.rego": "package other",
    "main.tf": "",
}
DENIED = PolicyFinding(Severity.DENY, "main.deny", "no")


class Holding:
    """A default branch with files, and what it stores of its policies."""

    def __init__(self, configuration, files=FILES, **organization):
        self.trees, self.fetched = Trees({}, dict(files)), []
        self.ports = memory_ports(history=self, organization_policies=MemoryOrganizationPolicies(organization))
        self.granted = Granted(load(configuration), (any_root(),), main="main", commit=sha(9))

    @contextmanager
    def fetch(self, _url, _token, _before, after):
        self.fetched.append(after)
        yield self.trees

    def hold(self, *members):
        made = [
            Deployable(Member(root, stack, ""), ConfiguredRoot(root, tagged(root, tags), (), stack))
            for root, stack, tags in members
        ]
        return save_policies_of_pull_request(self.ports, any_pull_request(), self.granted, made)

    def files(self, held):
        content = self.ports.artifacts.objects[held.key]
        assert sha256(content).hexdigest() == held.sha256
        return unpacked(content)


def test_the_sets_that_hold_for_a_root_are_stored_as_the_default_branch_has_them():
    scenario = Holding(
        "policy_sets: {net: {paths: [policies/net], owners: ['team:sre'], approvals: 2, tag_query: prod}}"
    )
    held = scenario.hold((any_root(), "default", ("prod",)), (any_root(), "dev", ()))
    (policy_set,) = held["network", "default"]
    assert (policy_set.name, policy_set.owners, policy_set.approvals) == ("net", ("team:sre",), 2)
    assert dict(scenario.files(policy_set)) == {
        "policies/net/data/limits.yaml": b"a: 1",
        "policies/net/main.rego": b"package main",
    }
    assert held["network", "dev"] == ()
    assert scenario.fetched == [sha(9)]
    assert len(scenario.trees.requests) == 1


def test_without_a_set_that_holds_nothing_is_fetched():
    scenario = Holding("policy_sets: {net: {paths: [policies/net], tag_query: prod}}")
    assert scenario.hold((any_root(), "default", ())) == {("network", "default"): ()}
    assert scenario.fetched == []


def test_a_root_that_the_default_branch_does_not_have_is_held_against_every_set():
    scenario = Holding("policy_sets: {net: {paths: [policies/net], tag_query: prod}}")
    renamed = any_root(name="harmless")
    assert [each.name for each in scenario.hold((renamed, "default", ()))["harmless", "default"]] == ["net"]
    moved = any_root(dir="elsewhere")
    assert [each.name for each in scenario.hold((moved, "default", ()))["network", "default"]] == ["net"]


@pytest.mark.parametrize("query", ["not branch:hotfix", "prod and not branch:hotfix", "branch:hotfix"])
def test_a_branch_leaves_no_set_behind_by_its_name(query):
    sets = f"policy_sets: {{net: {{paths: [policies/net], tag_query: '{query}'}}}}"
    scenario = Holding(f"tags: {{branch: {{hotfix: '^hotfix'}}}}\n{sets}")
    held = scenario.hold((any_root(), "default", ("prod", "branch:hotfix")))
    assert [each.name for each in held["network", "default"]] == ["net"]


def test_an_organizations_set_is_read_from_where_operators_put_it():
    scenario = Holding(
        "policy_sets: {costs: {source: organization}}",
        costs={"a.rego": b"package main", "readme.md": b"", "a_test.rego": b""},
    )
    (policy_set,) = scenario.hold((any_root(), "default", ()))["network", "default"]
    assert dict(scenario.files(policy_set)) == {"configuration/policies/costs/a.rego": b"package main"}
    assert scenario.fetched == []


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        (
            "{net: {paths: [nowhere]}}",
            "no file name there ends in .rego. Tidegate reads its files from nowhere on the default branch",
        ),
        ("{net: {source: organization}}", "Operators store its files under configuration/policies/net/"),
        ("{costs: {source: organization}}", "configuration/policies/costs/big.rego is larger than 1 MiB"),
        ("{net: {paths: [broken]}}", "broken/a.rego is not UTF-8"),
        ("{net: {paths: [large]}}", "large/a.rego is larger than 1 MiB"),
    ],
)
def test_a_set_without_usable_files_has_a_problem(configuration, words):
    files = {"broken/a.rego": "broken", "large/a.rego": "large"}
    scenario = Holding(f"policy_sets: {configuration}", files, costs={"big.rego": None})
    scenario.trees.read = lambda ids: {each: b"\xff" if each == blob("broken") else b"" for each in ids}
    (policy_set,) = scenario.hold((any_root(), "default", ()))["network", "default"]
    assert words in policy_set.problem
    assert scenario.ports.artifacts.objects == {}


def test_a_file_without_a_byte_is_no_problem():
    scenario = Holding("policy_sets: {net: {paths: [p]}}", {"p/a.rego": "package main", "p/empty.yaml": ""})
    empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    files = {"p/a.rego": blob("package main"), "p/empty.yaml": empty}
    scenario.trees = type(
        "Given",
        (),
        {"files": files, "read": lambda _, ids: {each: b"" if each == empty else b"package main" for each in ids}},
    )()
    (policy_set,) = scenario.hold((any_root(), "default", ()))["network", "default"]
    assert scenario.files(policy_set)["p/empty.yaml"] == b""


class Checking:
    """A layer with a plan and two policy sets."""

    def __init__(self):
        self.engine = MemoryPolicyEngine()
        self.ports = memory_ports(policy_engine=self.engine)
        self.artifacts, self.layers = self.ports.artifacts, self.ports.speculative_plans
        plan_json = b'{"resource_changes": []}'
        self.artifacts.put("plans/x/plan.json", plan_json)
        plan = any_plan(json=any_artifact(key="plans/x/plan.json", sha256=sha256(plan_json).hexdigest()))
        held = tuple(self.held(name) for name in ("costs", "net"))
        self.layer = any_layer(state=LayerState.PLANNED, plan=plan, policy_sets=held)
        self.layers.create([self.layer])

    def held(self, name):
        key, content = packed({f"{name}.rego": b"package main"})
        self.artifacts.put(key, content)
        return PolicySetStatus(name, key, sha256(content).hexdigest(), namespaces=("main", name))

    def change(self, **fields):
        self.layers.save(replace(self.layers.get(self.layer.id), **fields))

    def check(self):
        return check_policies(self.ports, CheckPolicies(layer=self.layer.id)).failed

    def asking(self, check):
        """Let the engine answer so."""
        self.ports = changed(self.ports, policy_engine=type("Engine", (), {"check": staticmethod(check)})())

    @property
    def announced(self):
        return [each.id for each in self.ports.event_publisher.layers]

    @property
    def verdicts(self):
        return self.layers.get(self.layer.id).verdicts


@pytest.fixture
def checking():
    return Checking()


def test_every_set_is_asked_about_the_plan_and_its_verdict_is_stored(checking):
    refusing = PolicyVerdict("net", (DENIED,))
    checking.engine.verdicts["net"] = refusing
    assert checking.check() == ("net",)
    assert checking.verdicts == (PolicyVerdict("costs"), refusing)
    asked = checking.engine.asked[1]
    assert asked == ("net", {"net.rego": b"package main"}, ("main", "net"), b'{"resource_changes": []}', 90)
    assert checking.announced == [checking.layer.id]


def test_policies_get_the_cost_of_the_plan_and_approvals_of_it_are_for_this_cost(checking):
    digests = set()
    for cost in (None, PlanCost("USD", 34510, 1230), PlanCost("USD", 34510, 1231)):
        checking.change(plan=replace(checking.layer.plan, cost=cost))
        checking.check()
        digests.add(checking.layers.get(checking.layer.id).digest)
    assert len(digests) == 3
    *_, plan, _ = checking.engine.asked[-1]
    assert json.loads(plan)["cost"]["difference"] == 12.31


def test_checking_once_more_changes_nothing_and_tells_again(checking):
    checking.check()
    version = checking.layers.get(checking.layer.id).version
    assert checking.check() == ()
    assert checking.layers.get(checking.layer.id).version == version
    assert len(checking.announced) == 2


def test_many_sets_share_the_time(checking):
    checking.change(policy_sets=tuple(checking.held(f"set{number}") for number in range(20)))
    checking.check()
    assert {seconds for *_, seconds in checking.engine.asked} == {13}


def test_a_set_with_a_problem_or_with_other_files_fails_without_being_asked(checking):
    broken = PolicySetStatus("broken", problem="There are no policies.")
    gone = PolicySetStatus("gone", "policies/gone.json", "ab")
    other = replace(checking.held("net"), sha256="ab")
    checking.change(policy_sets=(broken, gone, other))
    assert checking.check() == ("broken", "gone", "net")
    assert checking.engine.asked == []
    assert checking.verdicts[0].error == "There are no policies."
    assert "The policy set changed" in checking.verdicts[1].error


def test_another_plan_than_the_recorded_one_is_held_against_nothing(checking):
    checking.artifacts.put("plans/x/plan.json", b"{}")
    assert checking.check() == ("costs", "net")
    assert checking.engine.asked == []
    assert "The plan changed" in checking.verdicts[0].error


def test_a_layer_that_is_gone_or_has_no_plan_or_no_sets_has_nothing_to_check(checking):
    assert check_policies(checking.ports, CheckPolicies(layer="gone")).failed == ()
    checking.change(policy_sets=())
    assert checking.check() == ()
    checking.change(policy_sets=checking.layer.policy_sets, plan=None)
    assert checking.check() == ()
    assert checking.announced == []


def test_a_layer_that_is_planned_anew_meanwhile_keeps_no_verdict_of_the_old_plan(checking):
    ask = checking.engine.check

    def planned_anew(*arguments):
        checking.change(plan=any_plan())
        return ask(*arguments)

    checking.asking(planned_anew)
    checking.check()
    assert checking.verdicts == ()
    assert checking.announced == []


def test_a_layer_that_is_removed_meanwhile_stays_so(checking):
    def removed(name, *_):
        checking.layers.remove([checking.layer.id])
        return PolicyVerdict(name)

    checking.asking(removed)
    assert checking.check() == ()
    assert checking.announced == []


RECORD = any_pull_request_record()


def layer_with(*findings, owners=("team:sre",), **fields):
    held = PolicySetStatus("net", owners=owners)
    verdict = PolicyVerdict("net", findings)
    return any_layer(plan=any_plan(), state=LayerState.PLANNED, policy_sets=(held,), verdicts=(verdict,), **fields)


def reviewed(*logins):
    reviews = [PullRequestReview(login, ReviewVerdict.APPROVED, sha(3), utc("2026-03-02")) for login in logins]
    forge = MemoryForge(readers={"ann", "bob"}, teams={"acme/sre": {"ann", "stranger"}})
    forge.reviewed[5] = reviews
    forge.changes[RECORD.spec.base_sha, RECORD.spec.head_sha] = Change(sha(1), Authors(("writer",)))
    return forge


def state(forge, *layers):
    (found,) = evaluate_policies(memory_ports(forge=forge), RECORD.spec, layers)
    return found.state


def test_an_owner_who_approves_the_head_lets_the_set_pass():
    assert state(reviewed("ann"), layer_with(DENIED)) is SetState.APPROVED
    assert state(reviewed("bob"), layer_with(DENIED)) is SetState.FAILED


def test_an_owner_who_made_a_commit_of_it_lets_nothing_pass():
    forge = reviewed("ann")
    forge.changes.clear()
    assert state(forge, layer_with(DENIED)) is SetState.FAILED
    forge.changes[RECORD.spec.base_sha, RECORD.spec.head_sha] = Change(sha(1), Authors(), Authors(("Ann",)))
    (found,) = evaluate_policies(memory_ports(forge=forge), RECORD.spec, [layer_with(DENIED)])
    assert found.state is SetState.FAILED
    assert [each.reason for each in found.disregarded] == ["made or pushed one of the commits"]


def test_before_anybody_approves_it_is_told_how_many_must_and_whom_the_forge_does_not_know():
    forge = reviewed()
    stranger = nobody_at("dev@corp.example", sha(7))
    forge.changes[RECORD.spec.base_sha, RECORD.spec.head_sha] = Change(sha(1), stranger)
    (found,) = evaluate_policies(memory_ports(forge=forge), RECORD.spec, [layer_with(DENIED, owners=("user:ann",))])
    text = render_policy(found, "key").summary
    assert found.needed == 2
    assert f"the owner of the address `dev@corp.example` (commit `{sha(7)[:7]}`)" in text
    assert "2 people must approve, but only 1 can" in text


OTHER_RULES = RuleChanges(("workflows",), (PolicySetStatus("net", owners=("team:sre",)),))


@pytest.mark.parametrize("layers", [(), (layer_with(),)], ids=["no plan", "a plan that passes"])
def test_owners_approve_other_rules_whatever_the_plans_are(layers):
    for by, found in (("bob", SetState.FAILED), ("ann", SetState.APPROVED)):
        (standing,) = evaluate_policies(memory_ports(forge=reviewed(by)), RECORD.spec, layers, OTHER_RULES)
        assert (standing.state, standing.rules) == (found, ("workflows",))


def test_a_plan_without_verdict_is_not_approved_with_other_rules():
    layer = replace(layer_with(), verdicts=(), state=LayerState.FAILED, plan=None)
    (standing,) = evaluate_policies(memory_ports(forge=reviewed("ann")), RECORD.spec, [layer], OTHER_RULES)
    assert standing.state is SetState.UNKNOWN


def test_a_root_is_held_against_the_sets_of_its_tags_on_the_default_branch_as_well():
    sets = "{a: {paths: [policies/net], tag_query: tier}, b: {paths: [policies/net], tag_query: never}}"
    holding = Holding(f"policy_sets: {sets}")
    member = any_root(), "default", ()
    assert holding.hold(member) == {("network", "default"): ()}
    holding.granted.tagged["network", "default"] = (tagged(any_root(), ("tier",)),)
    assert [each.name for each in holding.hold(member)["network", "default"]] == ["a"]


def test_who_cannot_read_the_repository_is_no_owner_and_is_not_looked_for_in_teams():
    forge = reviewed("stranger")
    assert state(forge, layer_with(DENIED)) is SetState.FAILED
    assert forge.teams_asked == []


def test_the_forge_is_asked_for_nothing_where_nobody_can_approve():
    forge = reviewed("ann")
    forge.failures.append(AssertionError("asked"))
    assert state(forge, layer_with()) is SetState.PASSED
    assert state(forge, layer_with(DENIED, owners=())) is SetState.FAILED
    assert forge.people_asked == []


class ForgeWithoutMembers(MemoryForge):
    def is_team_member(self, *_):
        raise AppLacksPermission(403, ("members: read",))


def test_nobody_is_in_a_team_that_the_app_may_not_look_into():
    forge = ForgeWithoutMembers(readers={"ann"}, reviewed=reviewed("ann").reviewed)
    assert state(forge, layer_with(DENIED)) is SetState.FAILED


def test_each_set_has_a_check_run_of_its_own_for_each_execution():
    forge = reviewed()
    show_pull_request(memory_ports(forge=forge), replace(RECORD, discovered=RECORD.spec.revision), [layer_with(DENIED)])
    _, check = forge.check_runs.values()
    assert (check.name, check.sha) == ("tidegate/policy: net", RECORD.spec.head_sha)
    assert check.external_id == f"{RECORD.execution}/policy/net"


def dismissed(forge, *layers):
    ports = memory_ports(forge=forge)
    dismiss_outdated(ports, RECORD.spec, evaluate_policies(ports, RECORD.spec, layers))
    return forge.dismissed


def of_earlier_commit(by, number=7):
    return PullRequestReview(by, ReviewVerdict.APPROVED, "a" * 40, utc("2026-03-02T08:00"), number)


def test_approvals_of_earlier_commits_by_owners_are_dismissed_with_the_reason():
    forge = reviewed()
    forge.reviewed[RECORD.spec.number] = [of_earlier_commit("ann"), of_earlier_commit("bob", 8)]
    ((number, review, reason),) = dismissed(forge, layer_with(DENIED))
    assert (number, review) == (RECORD.spec.number, 7)
    assert "approved aaaaaaa, and the head is" in reason
    assert dismissed(forge, layer_with(DENIED)) == [(number, review, reason)]


def test_nothing_is_dismissed_where_no_set_waits_for_an_owner():
    forge = reviewed()
    forge.reviewed[RECORD.spec.number] = [of_earlier_commit("ann")]
    assert dismissed(forge, layer_with()) == []


def test_what_the_forge_does_not_let_be_dismissed_stays_and_does_not_count():
    forge = reviewed()
    forge.reviewed[RECORD.spec.number] = [of_earlier_commit("ann"), of_earlier_commit("ann", 0)]
    forge.undismissable = ForgeRefused(403, "no")
    assert dismissed(forge, layer_with(DENIED)) == []
    forge.reviewed[RECORD.spec.number] = [of_earlier_commit("ann", 0)]
    forge.undismissable = None
    assert dismissed(forge, layer_with(DENIED)) == []
