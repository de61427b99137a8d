"""The script that trains the tiny policy still runs; how good its models are is on their cards."""

import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer

SCRIPT = Path(__file__).parents[1] / "examples" / "tiny_policy" / "train.py"


@pytest.mark.slow
def test_a_few_steps_of_training_write_a_model_folder(tmp_path: Path):
    pytest.importorskip("transformers")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path), "--minutes", "0.05", "--checked", "4"],
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    assert "CHECK final" in done.stdout
    folder = tmp_path / "final"
    assert (folder / "model.safetensors").stat().st_size < 4_000_000
    assert (folder / "config.json").is_file()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.decode(tokenizer.encode("12 + 5 = 17.\n").ids) == "12 + 5 = 17.\n"
