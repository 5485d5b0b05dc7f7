"""Where Terraform finds providers on this machine."""

from __future__ import annotations

from tidegate_local import mirror


def make_mirror(root):
    (root / "registry.terraform.io" / "hashicorp" / "aws").mkdir(parents=True)
    return root


def test_the_mirror_that_a_person_names_is_used_for_what_it_has(tmp_path):
    named = make_mirror(tmp_path / "named")
    found = mirror.environment(tmp_path, {"TIDEGATE_PROVIDER_MIRROR": str(named), "HOME": str(tmp_path)})
    text = (tmp_path / "terraform.rc").read_text()
    assert found == {"TF_CLI_CONFIG_FILE": str(tmp_path / "terraform.rc")}
    assert f'path = "{named}"' in text
    assert 'exclude = ["registry.terraform.io/hashicorp/aws"]' in text


def test_terraforms_implied_mirror_is_found(tmp_path):
    implied = make_mirror(tmp_path / ".terraform.d" / "plugins")
    assert mirror.find({"HOME": str(tmp_path)}) == implied


def test_a_persons_own_configuration_is_left_alone(tmp_path):
    own = tmp_path / "own.rc"
    own.touch()
    assert mirror.environment(tmp_path, {"TF_CLI_CONFIG_FILE": str(own)}) == {"TF_CLI_CONFIG_FILE": str(own)}


def test_a_configuration_that_does_not_exist_is_not_handed_on(tmp_path):
    named = make_mirror(tmp_path / "named")
    own = {"TF_CLI_CONFIG_FILE": str(tmp_path / "gone.rc"), "TIDEGATE_PROVIDER_MIRROR": str(named)}
    assert mirror.environment(tmp_path, own)["TF_CLI_CONFIG_FILE"] == str(tmp_path / "terraform.rc")
