"""The configuration as a person writes it: what is wrong is said in one line, whatever it is."""

import copy

import pytest
import yaml

from stepmill.errors import UserError
from stepmill.pipelines.config import Config, check_config, load_config

SMALL = {
    "problems": {"kind": "generated"},
    "policy": {"engine": {"kind": "simulated"}},
}


def refused(*changes, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(SMALL))
    with pytest.raises(UserError) as caught:
        load_config(path, list(changes))
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("text", ["name: " + "[" * 5000, "name: a\0", "a: [b"])
def test_a_text_that_yaml_cannot_read_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"not valid YAML: \w") as caught:
        load_config(path)
    assert "\n" not in str(caught.value)


def test_a_changed_value_that_yaml_cannot_read_is_refused(tmp_path):
    assert "not valid YAML" in refused("name=[", tmp_path=tmp_path)


def test_a_date_is_a_text(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(SMALL))
    assert load_config(path, ["name=2026-12-01"]).name == "2026-12-01"


@pytest.mark.parametrize("value", ["3", "[a]", "{a: 1}", "null"])
@pytest.mark.parametrize("key", ["policy.engine.kind", "problems.kind", "label.rule"])
def test_a_name_that_is_no_text_is_refused_with_the_names_there_are(tmp_path, key, value):
    message = refused(f"{key}={value}", tmp_path=tmp_path)
    assert any(name in message for name in ("simulated", "generated", "hard"))


def test_a_part_without_its_kind_comes_with_the_kinds_there_are(tmp_path):
    assert refused("problems={path: x}", tmp_path=tmp_path).endswith(
        "problems.kind is missing; use one of: file, huggingface, generated, sample"
    )


def test_a_kind_that_is_nearly_right_comes_with_the_nearest(tmp_path):
    message = refused("problems.kind=fil", tmp_path=tmp_path)
    assert message.endswith("Did you mean 'file'?")


def test_a_mapping_needs_a_column_for_the_question(tmp_path):
    message = refused("problems={kind: file, path: x, fields: {question: []}}", tmp_path=tmp_path)
    assert "problems.fields.question" in message


@pytest.mark.parametrize("role", ["policy", "completer", "judge"])
def test_where_the_servers_are_is_no_part_of_the_fingerprint(role):
    def fingerprint(address):
        content = copy.deepcopy(SMALL)
        content[role] = {"engine": {"kind": "server", "urls": [address]}}
        return check_config(content, "test").fingerprint

    assert fingerprint("http://a:8000") == fingerprint("http://b:8000")
    assert Config.model_validate(SMALL).fingerprint != fingerprint("http://a:8000")
