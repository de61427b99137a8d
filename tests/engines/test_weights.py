import pytest

from stepmill.engines.weights import model_identity
from stepmill.errors import UserError

MIB = 1 << 20


@pytest.fixture
def folder(tmp_path):
    """A model folder with one small and one large weight file."""
    path = tmp_path / "model"
    path.mkdir()
    (path / "config.json").write_text("{}")
    (path / "a.safetensors").write_bytes(b"a" * 1000)
    (path / "b.safetensors").write_bytes(b"b" * (9 * MIB))
    return path


def test_a_copied_model_is_the_same_model(folder, tmp_path):
    copy = tmp_path / "elsewhere" / "model"
    copy.mkdir(parents=True)
    for file in folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    (copy / "README.md").write_text("notes do not count")
    assert model_identity(str(copy), None) == model_identity(str(folder), None)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", b'{"rope_theta": 1}'),
        ("a.safetensors", b"a" * 999 + b"x"),
        ("b.safetensors", b"c" * (9 * MIB)),
        ("b.safetensors", b"b" * (9 * MIB) + b"b"),
        ("chat_template.jinja", b"{{ messages }}"),
    ],
)
def test_other_weights_configuration_or_template_make_another_model(folder, file, content):
    before = model_identity(str(folder), None)
    (folder / file).write_bytes(content)
    after = model_identity(str(folder), None)
    assert after["model"] == before["model"]
    assert after["weights"] != before["weights"]


def test_a_name_on_the_hub_is_known_by_its_revision():
    assert model_identity("nobody/nothing", "v2") == {"model": "nobody/nothing", "revision": "v2"}
    assert model_identity("nobody/nothing", None)["revision"] == "main"


def test_a_name_in_the_cache_is_known_by_its_commit(monkeypatch):
    import huggingface_hub

    def cached(model, file, revision):
        return f"/cache/models--{model}/snapshots/0123abc/{file}"

    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", cached)
    assert model_identity("nobody/nothing", None)["revision"] == "0123abc"


@pytest.mark.parametrize("path", ["./missing", "/missing", "~/missing", "a/b/missing"])
def test_a_path_without_a_model_is_refused(path):
    with pytest.raises(UserError, match="there is no model folder"):
        model_identity(path, None)


def test_a_folder_without_a_configuration_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"no config\.json"):
        model_identity(str(tmp_path), None)
