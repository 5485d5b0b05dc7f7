"""Plans as people see them: coloured as a diff, without what each of them says again."""

import pytest

from tidegate.deploys.texts.plan_text import as_diff

CHANGES = """Terraform will perform the following actions:

  # terraform_data.app will be created
  + resource "terraform_data" "app" {
      + id = (known after apply)
    }
"""
WRAPPED = """Terraform used the selected providers to generate the following execution
plan. Resource actions are indicated with the following symbols:
  + create
  ~ update in-place
-/+ destroy and then create replacement
 <= read (data resources)

"""
ONE_LINE = (
    "OpenTofu used the selected providers to generate the following execution plan. Resource actions are indicated "
    "with the following symbols:\n  - destroy\n\n"
)


@pytest.mark.parametrize("legend", ["", WRAPPED, ONE_LINE])
def test_a_plan_begins_with_its_changes(legend):
    assert as_diff(legend + CHANGES) == (
        "Terraform will perform the following actions:\n\n"
        "  # terraform_data.app will be created\n"
        '+   resource "terraform_data" "app" {\n'
        "+       id = (known after apply)\n"
        "    }\n"
    )


def test_what_changed_outside_is_told_before():
    outside = "Note: Objects have changed outside of Terraform\n\n  # terraform_data.app has been deleted\n\n"
    assert as_diff(outside + WRAPPED + CHANGES) == outside + as_diff(CHANGES)


def test_nothing_but_the_signs_is_left_out():
    spoken_of = '  ~ input = "Resource actions are indicated with the following symbols:"\n'
    assert as_diff(spoken_of) == "!   " + spoken_of.removeprefix("  ~ ")
    hidden = WRAPPED.replace("  + create\n", '  + resource "terraform_data" "hidden" {\n')
    assert '+   resource "terraform_data" "hidden" {' in as_diff(hidden + CHANGES)
