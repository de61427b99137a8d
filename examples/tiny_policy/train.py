"""Train the tiny policy: a Llama of 0.9 million parameters that solves word problems, on a CPU.

    python examples/tiny_policy/train.py OUT --minutes 30

It learns from right solutions of `stepmill.wordproblems` only, so its mistakes are its own. Every
few minutes the success rate is measured and a checkpoint is written as a Hugging Face folder,
OUT/minute-03 and so on, the last one as OUT/final; earlier ones are weaker policies. The models
that come with Stepmill, src/stepmill/engines/models, are such folders with a card.

Two processes with one thread each share a batch and average their gradients. One process with two
threads is half as fast on a busy machine, since each of its many small operations waits for both.
The learning rate follows the clock, not a number of steps: the run ends when it should, but two
runs with one seed differ a little.
"""

import argparse
import json
import math
import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.distributed as dist
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from stepmill.wordproblems import WordProblem, stream

MUON_LR, ADAM_LR = 2e-2, 3e-3  # at their peak
WARM_UP_STEPS = 50
FLOOR = 0.03  # of the peak, at the end
BATCH_TOKENS = 2500  # per process and step
EOS, PAD = 0, 1
PROMPT = "Question: {question}\nAnswer:\n"
CHAT_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'user' %}"
    "Question: {{ message['content'] }}\nAnswer:\n"
    "{% elif message['role'] == 'assistant' %}{{ message['content'] }}{% endif %}{% endfor %}"
)


def train_tokenizer(corpus: list[str]) -> PreTrainedTokenizerFast:
    """Byte-level BPE in which a digit, with the space before it, and a line break stand alone.

    Every text survives encoding and decoding, and a solution cut at the end of a line, or after any
    word, is encoded as the policy wrote it.
    """
    pieces = Regex(r" ?[0-9]|\n| ?[A-Za-z]+| ?[^\sA-Za-z0-9]+|\s")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(pieces, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=["<eos>", "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<eos>",
        pad_token="<pad>",
        model_max_length=512,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    for text in corpus:
        if fast.decode(fast.encode(text)) != text:
            raise RuntimeError(f"the tokenizer does not give back {text!r}")
    return fast


def new_model(vocabulary: int) -> LlamaForCausalLM:
    """The untrained policy."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=128,
            intermediate_size=384,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=512,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=EOS,
            pad_token_id=PAD,
        )
    )


def new_optimizers(model: LlamaForCausalLM) -> list[tuple[torch.optim.Optimizer, float]]:
    """Optimizers with their peak learning rates: Muon for the layers' matrices, AdamW for the rest.

    With AdamW alone the loss was three times as high after 550 steps.
    """
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "layers" in n]
    others = [p for n, p in model.named_parameters() if p.ndim != 2 or "layers" not in n]
    return [
        (torch.optim.Muon(matrices, lr=MUON_LR, weight_decay=0.05), MUON_LR),
        (torch.optim.AdamW(others, lr=ADAM_LR, betas=(0.9, 0.98), weight_decay=0.0), ADAM_LR),
    ]


Row = tuple[list[int], list[int]]
"""Tokens of a prompt and of its solution."""
Batch = tuple[torch.Tensor, torch.Tensor]
"""Token ids and targets, both (rows, length); a target of -100 is not learnt."""


class Data:
    """Endless batches of about BATCH_TOKENS tokens; rows of one batch have similar lengths."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, seed: int) -> None:
        self.tokenizer = tokenizer
        self.rng = random.Random(seed)
        self.ready: list[Batch] = []

    def next(self, done: float) -> Batch:
        """A batch for the moment when the share `done` of the training is over, in [0, 1].

        Short problems come first: the policy must find where it stands in the question before it
        can learn to add, and a short question shows that sooner.
        """
        if not self.ready:
            longest = min(12, 3 + round(9 * done / 0.3))
            problems = stream(self.rng, 1 if longest < 12 else 3, longest)
            self.ready = list(self._batches([next(problems) for _ in range(512)]))
            self.rng.shuffle(self.ready)
        return self.ready.pop()

    def _batches(self, problems: list[WordProblem]) -> Iterator[Batch]:
        encode = self.tokenizer.encode
        rows = [
            (encode(PROMPT.format(question=p.question)), [*encode(p.solution), EOS])
            for p in problems
        ]
        rows.sort(key=_length)
        batch: list[Row] = []
        for row in rows:  # the longest of a batch comes last and decides its width
            if batch and _length(row) * (len(batch) + 1) > BATCH_TOKENS:
                yield _pad(batch)
                batch = []
            batch.append(row)
        yield _pad(batch)


def _length(row: Row) -> int:
    return len(row[0]) + len(row[1])


def _pad(rows: list[Row]) -> Batch:
    length = max(map(_length, rows))
    ids = torch.full((len(rows), length), PAD)
    targets = torch.full((len(rows), length), -100)
    for i, (prompt, answer) in enumerate(rows):
        end = len(prompt) + len(answer)
        ids[i, :end] = torch.tensor(prompt + answer)
        targets[i, len(prompt) - 1 : end - 1] = torch.tensor(answer)  # each token's successor
    return ids, targets


def train(rank: int, args: argparse.Namespace, meeting: str) -> None:
    """One of the processes that train together, the first of which writes.

    Args:
        rank: number of this process, from 0.
        args: the command line's.
        meeting: path of a file that does not exist yet, through which the processes find together.
    """
    minutes, processes = args.minutes, args.processes
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=processes
    )
    torch.manual_seed(args.seed)  # the same first weights everywhere
    corpus_rng = random.Random(args.seed)
    corpus = [
        PROMPT.format(question=p.question) + p.solution
        for p, _ in zip(stream(corpus_rng, 3, 12), range(5000), strict=False)
    ]
    tokenizer = train_tokenizer(corpus)
    model = new_model(len(tokenizer))
    data = Data(tokenizer, args.seed * 1000 + rank)
    optimizers = new_optimizers(model)
    if rank == 0:
        print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(tokenizer)} tokens")

    begin, step, seen, next_check, elapsed = time.time(), 0, 0, args.every, 0.0
    while elapsed < minutes:
        done = elapsed / minutes
        cosine = FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * done))
        for optimizer, peak in optimizers:
            rate = peak * min(1, (step + 1) / WARM_UP_STEPS) * cosine
            optimizer.param_groups[0]["lr"] = rate
        ids, targets = data.next(done)
        hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
        learnt = targets != -100
        loss = torch.nn.functional.cross_entropy(model.lm_head(hidden[learnt]), targets[learnt])
        model.zero_grad()
        loss.backward()
        elapsed, mean_loss = average(model, loss, (time.time() - begin) / 60)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, _ in optimizers:
            optimizer.step()
        step, seen = step + 1, seen + ids.numel() * processes
        if step % 50 == 0 and rank == 0:
            print(
                f"step {step}, minute {elapsed:.1f}, loss {mean_loss:.4f}, "
                f"{seen / (time.time() - begin):.0f} tokens/s",
                flush=True,
            )
        if elapsed >= min(next_check, minutes):
            check(model, tokenizer, rank, args, checkpoint_name(elapsed, minutes), step)
            next_check += args.every
    dist.destroy_process_group()


def checkpoint_name(elapsed: float, minutes: float) -> str:
    """Folder of a checkpoint."""
    return "final" if elapsed >= minutes else f"minute-{elapsed:02.0f}"


def average(model: LlamaForCausalLM, loss: torch.Tensor, elapsed: float) -> tuple[float, float]:
    """Average the gradients over the processes; returns the mean clock and the mean loss.

    The clock travels with them, since all must agree on the learning rate and on when to stop.
    """
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    flat = torch.cat([*(g.flatten() for g in grads), torch.tensor([elapsed, loss.item()])])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    at = 0
    for grad in grads:
        grad.copy_(flat[at : at + grad.numel()].view_as(grad))
        at += grad.numel()
    return flat[-2].item(), flat[-1].item()


def check(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    rank: int,
    args: argparse.Namespace,
    name: str,
    step: int,
) -> None:
    """Measure and write the policy as it will be shipped, with weights rounded to bfloat16."""
    rounded = new_model(len(tokenizer))
    rounded.load_state_dict({k: v.bfloat16().float() for k, v in model.state_dict().items()})
    right = torch.tensor([success(rounded, tokenizer, rank, args.checked)])
    dist.all_reduce(right)
    rate = right.item() / (args.checked * args.processes)
    if rank == 0:
        print(f"CHECK {name}, step {step}: {rate:.3f} solved", flush=True)
        save(rounded.bfloat16(), tokenizer, args.out / name)


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, out: Path) -> None:
    """Write a Hugging Face folder that transformers 4 and 5 and vLLM load."""
    model.generation_config.update(do_sample=True, temperature=0.7, top_k=0)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    path = out / "tokenizer_config.json"
    config = json.loads(path.read_text())
    config["tokenizer_class"] = "PreTrainedTokenizerFast"  # version 4 knows no newer name
    path.write_text(json.dumps(config, indent=2) + "\n")


@torch.no_grad()
def success(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, rank: int, n_problems: int
) -> int:
    """How many of `n_problems` mixed problems are solved at temperature 0.7."""
    model.eval()
    problems = stream(random.Random(f"check-{rank}"), 3, 12)
    batch = [next(problems) for _ in range(n_problems)]
    tokenizer.padding_side = "left"
    prompts = tokenizer(
        [PROMPT.format(question=p.question) for p in batch], padding=True, return_tensors="pt"
    )
    drawn = model.generate(
        input_ids=prompts["input_ids"],
        attention_mask=prompts["attention_mask"],
        max_new_tokens=200,
        do_sample=True,
        temperature=0.7,
        top_k=0,
    )
    texts = tokenizer.batch_decode(
        drawn[:, prompts["input_ids"].shape[1] :], skip_special_tokens=True
    )
    return sum(t.split("\n")[-1] == p.lines[-1] for t, p in zip(texts, batch, strict=True))


def main() -> None:
    """Read the command line and start the processes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path, help="folder for the checkpoints")
    parser.add_argument("--minutes", type=float, default=30, help="length of the training")
    parser.add_argument("--every", type=float, default=3, help="minutes between checkpoints")
    parser.add_argument("--checked", type=int, default=128, help="problems per check and process")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    os.environ |= {"GLOO_SOCKET_IFNAME": "lo", "TOKENIZERS_PARALLELISM": "false"}
    with tempfile.TemporaryDirectory() as meeting:
        torch.multiprocessing.spawn(train, (args, f"{meeting}/point"), nprocs=args.processes)


if __name__ == "__main__":
    main()
