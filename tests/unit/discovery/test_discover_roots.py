"""Which roots a push changes, with tidegate.yaml and without."""

from __future__ import annotations

import pytest

from tests.unit.discovery.trees import BACKEND, BASE, USES_NETWORK, Trees, after, blob, discover
from tidegate.discovery.discover_roots import Discovery, Reading, discover_roots
from tidegate.roots.rules.root import Engine, EngineName, Root
from tidegate.rules.errors import InvalidConfiguration


def names(discovery: Discovery) -> list[str]:
    return [root.name for root in discovery.roots]


class TestWithoutFile:
    def test_a_changed_root_is_found_and_named_after_its_directory(self):
        assert discover(BASE, after(live__db__main_dot_tf="# changed")).roots == (Root("live/db", "live/db"),)

    def test_a_root_is_found_by_one_file_that_matters_among_files_that_do_not(self):
        changed = after(live__db__deny_dot_json="[]", live__db__notes_dot_md="new", live__db__prod_dot_tfvars="a = 2")
        assert names(discover(BASE, changed)) == ["live/db"]

    @pytest.mark.parametrize("module", ["modules__network__main_dot_tf", "modules__subnet__variables_dot_tf"])
    def test_a_changed_local_module_selects_the_roots_that_use_it_directly_or_not(self, module):
        assert names(discover(BASE, after(**{module: "# changed"}))) == ["live/app"]

    def test_a_root_module_of_json_or_opentofu_files_is_one(self):
        assert names(discover(BASE, {**BASE, "a/main.tf.json": "{}", "b/main.tofu": ""})) == ["a", "b"]

    def test_variable_files_and_lock_files_of_a_root_select_it(self):
        assert names(discover(BASE, after(live__db__prod_dot_tfvars="a = 2"))) == ["live/db"]
        assert names(discover(BASE, {**BASE, "live/db/.terraform.lock.hcl": "x"})) == ["live/db"]
        assert names(discover(BASE, {**BASE, "live/db/env/dev.tfvars": "x"})) == ["live/db"]

    def test_other_files_select_nothing_and_cost_no_request(self):
        trees = Trees(BASE, after(README_dot_md="bye", live__db__policies__deny_dot_json="[]"))
        found = discover_roots(trees, Reading("acme/infra"))
        assert (found.members, found.notes, found.refused) == ((), (), ())
        assert trees.requests == [set()]

    def test_module_files_are_fetched_in_one_request(self):
        trees = Trees(BASE, after(live__db__main_dot_tf="# changed"))
        discover_roots(trees, Reading("acme/infra"))
        assert len([request for request in trees.requests if request]) == 1

    def test_a_module_that_declares_where_its_state_lies_is_a_root_although_it_is_used(self):
        base = {**BASE, "modules/network/backend.tf": BACKEND}
        assert names(discover(base, {**base, "modules/subnet/main.tf": "# new"})) == ["live/app", "modules/network"]

    def test_a_renamed_file_concerns_its_old_and_its_new_directory(self):
        moved = after(live__db__main_dot_tf=None, live__app__db_dot_tf="# nothing used", live__db__x_dot_tf="")
        assert names(discover(BASE, moved)) == ["live/app", "live/db"]

    def test_a_nested_root_does_not_select_the_root_around_it(self):
        base = {"a/main.tf": "", "a/b/main.tf": ""}
        assert names(discover(base, {**base, "a/b/main.tf": "# new"})) == ["a/b"]

    def test_a_deleted_root_is_not_deployed_and_the_reason_is_told(self):
        discovery = discover(BASE, after(live__db__main_dot_tf=None))
        assert discovery.roots == ()
        assert "live/db" in discovery.notes[0]
        assert "Nothing is deployed or destroyed" in discovery.notes[0]

    def test_a_deleted_module_selects_the_roots_that_still_use_it(self):
        assert names(discover(BASE, after(modules__subnet__main_dot_tf=None))) == ["live/app"]

    def test_a_module_that_nobody_uses_any_more_is_not_deployed_by_that(self):
        assert names(discover(BASE, after(live__app__main_dot_tf="# nothing used"))) == ["live/app"]

    def test_without_a_known_commit_before_every_root_is_changed(self):
        assert names(discover({}, BASE, before_is_known=False)) == ["live/app", "live/db"]

    def test_the_root_at_the_top_has_the_repositorys_name(self):
        assert discover({}, {"main.tf": ""}).roots == (Root("infra", "."),)

    def test_a_directory_with_the_name_of_the_top_is_refused_and_the_top_is_not(self):
        discovery = discover({}, {"main.tf": "", "infra/main.tf": ""})
        assert discovery.roots == (Root("infra", "."),)
        assert "'infra'" in discovery.refused[0]

    @pytest.mark.parametrize(
        "hostile", ["a&&id", "$(x)", "-chdir=x", "a\nb", "🚀", "x" * 300, "\udcff", ".hidden", "a b", "a`b"]
    )
    def test_a_hostile_directory_is_refused_and_the_others_are_deployed(self, hostile):
        discovery = discover(BASE, {**after(live__db__main_dot_tf="# new"), f"{hostile}/main.tf": ""})
        assert names(discovery) == ["live/db"]
        assert len(discovery.refused) == 1
        assert "\n" not in discovery.refused[0]
        assert discovery.refused[0].encode()

    def test_a_hostile_directory_that_did_not_change_bothers_nobody(self):
        base = {**BASE, "$(x)/main.tf": ""}
        assert discover(base, {**base, "live/db/main.tf": "# new"}).refused == ()

    @pytest.mark.parametrize("broken", ["module {{{", "\x00", "a = [", 'module "x" {\n  source = '])
    def test_a_root_with_a_broken_file_is_a_root_whose_plan_will_tell(self, broken):
        assert names(discover(BASE, {**BASE, "live/db/main.tf": broken})) == ["live/db"]

    def test_what_an_engine_downloaded_is_no_root(self):
        assert names(discover(BASE, {**BASE, "live/db/.terraform/modules/x/main.tf": ""})) == ["live/db"]

    def test_modules_that_use_each_other_are_followed_once(self):
        ring = {f"m/{n}/main.tf": f'module "x" {{\n  source = "../{(n + 1) % 3}"\n}}\n' for n in range(3)}
        base = {**ring, "root/main.tf": 'module "x" {\n  source = "../m/0"\n}\n'}
        assert names(discover(base, {**base, "m/2/main.tf": "# new"})) == ["root"]

    def test_a_source_above_the_repository_is_nobodys_module(self):
        base = {"a/main.tf": 'module "x" {\n  source = "../../../etc"\n}\n'}
        assert names(discover(base, {**base, "a/b.tf": ""})) == ["a"]


FILE = """
version: 1
roots:
  - name: app
    dir: live/app
    when_modified: ["**/*.tf*", "../../modules/**", "!**/skip.tf"]
  - dir: live/db
    engine: {name: tofu, version: 1.10.0}
"""
CONFIGURED = {**BASE, "tidegate.yaml": FILE}


class TestWithFile:
    def test_only_declared_roots_are_deployed(self):
        new = {**CONFIGURED, "live/db/main.tf": "# new", "live/other/main.tf": ""}
        engine = Engine(EngineName.TOFU, "1.10.0")
        assert discover(CONFIGURED, new).roots == (Root("live/db", "live/db", engine=engine),)

    def test_patterns_decide_also_outside_of_the_directory_and_exceptions_hold(self):
        assert names(discover(CONFIGURED, {**CONFIGURED, "modules/subnet/x.txt": ""})) == ["app"]
        assert names(discover(CONFIGURED, {**CONFIGURED, "live/app/skip.tf": ""})) == []

    def test_one_small_request_reads_the_file_and_modules_are_read_only_where_they_matter(self):
        new = {**CONFIGURED, "live/db/main.tf": "# new"}
        trees = Trees(CONFIGURED, new)
        discover_roots(trees, Reading("acme/infra"))
        assert [len(request) for request in trees.requests] == [1, 4]
        alone = FILE + "engine: {version: 1.11.4}\nwhen_modified: {follow_modules: false}\n"
        trees = Trees({**CONFIGURED, "tidegate.yaml": alone}, {**new, "tidegate.yaml": alone})
        assert names(discover_roots(trees, Reading("acme/infra"))) == ["live/db"]
        assert trees.requests == [{blob(alone)}]

    @pytest.mark.parametrize(
        "text",
        [
            "roots:\n  - {dir: live/app}\n",
            "roots:\n  - {dir: live/app, when_modified: ['*.json', '!**/*.tf']}\n",
            "dirs: {live/app: {}}\n",
            "dirs: {live/app: {workspaces: {default: {}}}}\n",
            "dirs: {live/*: {}}\n",
            "dirs: {live/*: {when_modified: {file_patterns: ['*.json']}}}\n",
            "engine: tofu\n",
        ],
    )
    @pytest.mark.parametrize("place", ["network", "subnet"])
    def test_whatever_names_a_root_it_follows_its_local_modules(self, text, place):
        base = {**BASE, "tidegate.yaml": text}
        assert names(discover(base, {**base, f"modules/{place}/main.tf": "# new"})) == ["live/app"]
        assert names(discover(base, {**base, f"modules/{place}/new.tf": ""})) == ["live/app"]
        assert names(discover(base, {**base, f"modules/{place}/README.md": "new"})) == []

    @pytest.mark.parametrize(
        "text",
        [
            "when_modified: {follow_modules: false}\nroots:\n  - {dir: live/app}\n",
            "dirs: {live/app: {when_modified: {follow_modules: false}}}\n",
            "dirs: {live/*: {when_modified: {follow_modules: false}}}\n",
            "when_modified: {follow_modules: false}\n",
        ],
    )
    def test_a_root_that_follows_no_modules_is_touched_by_its_own_files_alone(self, text):
        base = {**BASE, "tidegate.yaml": text}
        assert names(discover(base, {**base, "modules/network/main.tf": "# new"})) == []
        assert names(discover(base, {**base, "live/app/main.tf": USES_NETWORK + "# new"})) == ["live/app"]

    def test_the_nearest_section_says_whether_modules_are_followed(self):
        text = "when_modified: {follow_modules: false}\ndirs: {live/app: {when_modified: {follow_modules: true}}}\n"
        base = {**BASE, "tidegate.yaml": text}
        assert names(discover(base, {**base, "modules/network/main.tf": "# new"})) == ["live/app"]

    def test_patterns_of_the_whole_file_that_lead_out_are_none_of_a_module_s(self):
        text = "when_modified: ['**/*.tf', '../../shared/**']\nroots: [{dir: live/app}]\n"
        base = {**BASE, "tidegate.yaml": text, "m.tf": ""}
        assert names(discover(base, {**base, "modules/network/main.tf": "# new"})) == ["live/app"]
        assert names(discover(base, {**base, "m.tf": "# new"})) == []

    def test_a_module_that_is_a_root_as_well_changes_both(self):
        text = "roots:\n  - {dir: live/app}\n  - {dir: modules/network}\n"
        base = {**BASE, "tidegate.yaml": text}
        assert names(discover(base, {**base, "modules/network/main.tf": "# new"})) == ["live/app", "modules/network"]

    def test_a_root_that_the_push_configures_anew_is_deployed(self):
        new = {**CONFIGURED, "tidegate.yaml": FILE.replace("1.10.0", "1.10.1")}
        assert names(discover(CONFIGURED, new)) == ["live/db"]

    def test_a_change_of_the_file_that_concerns_no_root_deploys_nothing(self):
        assert discover(CONFIGURED, {**CONFIGURED, "tidegate.yaml": FILE + "# a comment\n"}).roots == ()

    def test_a_file_that_says_what_was_so_without_it_deploys_nothing(self):
        new = {**BASE, "tidegate.yaml": "version: 1\nroots:\n  - dir: live/app\n  - dir: live/db\n"}
        assert discover(BASE, new).roots == ()
        assert discover(new, BASE).roots == ()

    def test_after_a_file_that_could_not_be_used_every_root_is_deployed(self):
        broken = {**BASE, "tidegate.yaml": "version: 1\nrots: []\n"}
        assert names(discover(broken, CONFIGURED)) == ["app", "live/db"]
        assert names(discover(broken, BASE)) == ["live/app", "live/db"]

    def test_a_file_that_cannot_be_used_is_refused_with_its_place(self):
        with pytest.raises(InvalidConfiguration) as refusal:
            discover(BASE, {**BASE, "tidegate.yaml": "version: 1\nrots: []\n"})
        assert (refusal.value.line, refusal.value.column) == (2, 1)

    def test_a_declared_root_whose_directory_is_gone_is_told_and_not_destroyed(self):
        new = {path: text for path, text in CONFIGURED.items() if not path.startswith("live/db/")}
        discovery = discover(CONFIGURED, new)
        assert discovery.roots == ()
        assert "Nothing is deployed or destroyed" in discovery.notes[0]

    def test_a_file_without_roots_sets_the_engine_of_the_discovered_ones(self):
        base = {**BASE, "tidegate.yaml": "version: 1\nengine: tofu\n"}
        discovery = discover(base, {**base, "live/db/main.tf": "# new"})
        assert discovery.roots == (Root("live/db", "live/db", engine=Engine(EngineName.TOFU)),)

    def test_a_file_that_declares_no_roots_at_all_deploys_none(self):
        base = {**BASE, "tidegate.yaml": "version: 1\nroots: []\n"}
        assert discover(base, {**base, "live/db/main.tf": "# new"}).roots == ()

    def test_several_workspaces_of_one_directory_are_several_roots(self):
        text = "version: 1\ndirs:\n  live/db:\n    workspaces:\n      dev:\n      prod:\n        name: database\n"
        base = {**BASE, "tidegate.yaml": text}
        discovery = discover(base, {**base, "live/db/main.tf": "# new"})
        assert discovery.roots == (Root("database", "live/db", "prod"), Root("live/db/dev", "live/db", "dev"))
