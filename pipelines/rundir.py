"""The run directory: where things lie, who may write, and which configuration it belongs to.

    run.yaml              the resolved configuration, versions, fingerprint
    policy.json           the models behind it, noted when they are first loaded
    journal/00000.jsonl   work in progress, one file per shard (pipelines/journal.py)
    problems/ solutions/ evidence/ rollouts/   part-00000.parquet …, one part per shard
    manifest/00000.json   a finished shard: its problems, row counts, figures
    data/                 the labelled data set
    README.md metrics.json

A shard is finished when its manifest is there: the manifest is written last, after the four parts,
and the journal is removed after it. A kill between any two of these leaves a shard that is either
finished or continued from its journal.
"""

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from stepmill.errors import UserError

TABLES = ("problems", "solutions", "evidence", "rollouts")


class RunDir:
    """Paths and atomic writes under one run directory.

    Args:
        root: the directory; it need not exist yet.
    """

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)

    @property
    def config_file(self) -> Path:
        """The resolved configuration."""
        return self.root / "run.yaml"

    @property
    def policy_file(self) -> Path:
        """Who draws: fingerprints and identities of the policies, version of the checker."""
        return self.root / "policy.json"

    @property
    def data(self) -> Path:
        """Folder of the labelled data set."""
        return self.root / "data"

    def journal(self, shard: int) -> Path:
        """Journal of one shard."""
        return self.root / "journal" / f"{shard:05d}.jsonl"

    def manifest(self, shard: int) -> Path:
        """Manifest of one shard."""
        return self.root / "manifest" / f"{shard:05d}.json"

    def part(self, table: str, shard: int) -> Path:
        """Part of one of `TABLES`."""
        return self.root / table / f"part-{shard:05d}.parquet"

    def create(self) -> None:
        """Make the folders.

        Raises:
            UserError: the path cannot be written.
        """
        try:
            for folder in ("journal", "manifest", *TABLES):
                (self.root / folder).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise UserError(
                f"run directory {self.root}: a file is in the way; choose another --out"
            ) from None
        except OSError as error:
            raise UserError(
                f"run directory {self.root} cannot be written ({error.strerror});"
                " choose another --out"
            ) from None

    def write_text(self, path: Path, text: str) -> None:
        """Write a small file whole or not at all.

        Lone surrogates, which UTF-8 cannot hold, become escapes that JSON and YAML read back.
        """
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def write_json(self, path: Path, value: object) -> None:
        """Write `value` as indented JSON, whole or not at all."""
        self.write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")

    def read_manifest(self, shard: int) -> dict[str, Any] | None:
        """Manifest of a finished shard; None when it is not finished."""
        path = self.manifest(shard)
        if not path.exists():
            return None
        return read_json(path)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the directory against a second writer; the kernel frees it when we die.

        Raises:
            UserError: another process holds it.
        """
        with (self.root / ".lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise UserError(
                    f"another run (process {file.read().strip() or 'unknown'}) is writing"
                    f" {self.root}; wait for it, stop it, or choose another --out"
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def claim(self, fingerprint: str, resolved: dict[str, Any]) -> None:
        """Tie the directory to one configuration, or check that it is tied to this one.

        Args:
            fingerprint: hash over what decides the evidence.
            resolved: the configuration with versions, written to run.yaml; its `gather` key holds
                the part that the fingerprint covers.

        Raises:
            UserError: the directory belongs to another configuration; says which keys differ.
        """
        if self.config_file.exists():
            stored = read_run_yaml(self.root)
            if stored.get("fingerprint") != fingerprint:
                keys = differing_keys(stored.get("gather", {}), resolved["gather"])
                raise UserError(
                    f"{self.root} holds a run of another configuration (it differs in"
                    f" {', '.join(keys) or 'its version'}); choose another --out, and add"
                    f" --reuse {self.root} to pay nothing twice where the policy is the same"
                )
            resolved = {**resolved, "created": stored["created"]}
        self.write_text(
            self.config_file,
            yaml.safe_dump(
                {"fingerprint": fingerprint, **resolved}, sort_keys=False, allow_unicode=True
            ),
        )

    def claim_policy(self, facts: dict[str, Any]) -> None:
        """Note who draws, or check that it is still the same.

        Args:
            facts: `policies` by role with fingerprint and identity, `checker`, `simulated`.

        Raises:
            UserError: the model behind the same configuration has changed.
        """
        stored = self.read_policy()
        if stored is None:
            self.write_json(self.policy_file, facts)
            return
        keys = differing_keys(stored, json.loads(json.dumps(facts)))  # tuples are lists there
        if keys:
            raise UserError(
                f"{self.root} was begun with another model or checker ({', '.join(keys)} changed);"
                " mixing them would spoil its counts: choose another --out"
            )

    def read_policy(self) -> dict[str, Any] | None:
        """What `claim_policy` noted; None before an engine was loaded."""
        if not self.policy_file.exists():
            return None
        return read_json(self.policy_file)


def read_run_yaml(root: Path | str) -> dict[str, Any]:
    """What run.yaml of a run directory says.

    Raises:
        UserError: there is no run, or the file is damaged.
    """
    path = Path(root) / "run.yaml"
    if not path.exists():
        raise UserError(f"{root} is not a run directory (no run.yaml in it)")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError):
        content = None
    return _sound(content, path)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object that a run wrote.

    Raises:
        UserError: the file is damaged.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        content = None
    return _sound(content, path)


def _sound(content: object, path: Path) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise UserError(f"{path} is damaged: restore it, or choose another --out")
    return content


def differing_keys(a: object, b: object, path: str = "") -> list[str]:
    """Dotted paths at which two nested mappings differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        return [
            key
            for name in sorted(a.keys() | b.keys())
            for key in differing_keys(a.get(name), b.get(name), f"{path}.{name}".lstrip("."))
        ]
    return [] if a == b else [path or "everything"]


def disk_full(error: OSError, root: Path) -> UserError | None:
    """The message for a full disk or quota; None for any other error."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return None
    return UserError(
        f"the disk under {root} is full; what was produced is kept: free some space and run the"
        " same command again"
    )
