"""Label rules by name: pure functions from stored evidence to labels.

A label costs nothing, so any rule can be applied to any finished run. A rule's module holds its
settings and its function; here they are put together. To add one, write the function in a module
of its own, register it below, and add its settings to `LabelSettings`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import polars as pl
from pydantic import Discriminator

from stepmill.pipelines.changepoint_rule import ChangePointRule, change_point_labels
from stepmill.pipelines.consensus_rule import ConsensusRule, consensus_labels
from stepmill.pipelines.judge_rules import JudgeRule, OutcomeRule, judge_labels, outcome_labels
from stepmill.pipelines.rollout_rules import HardRule, SoftRule, hard_labels, soft_labels
from stepmill.pipelines.step_grid import Labels
from stepmill.records import LabelKind
from stepmill.registry import Registry
from stepmill.settings import Settings

__all__ = [
    "LABEL_RULES",
    "ConsensusRule",
    "HardRule",
    "JudgeRule",
    "LabelRule",
    "LabelSettings",
    "Labels",
    "OutcomeRule",
    "SoftRule",
    "label",
]

LabelSettings = Annotated[
    HardRule | SoftRule | ChangePointRule | JudgeRule | OutcomeRule | ConsensusRule,
    Discriminator("rule"),
]
"""Settings of any rule; `rule` decides."""


@dataclass(frozen=True, slots=True)
class LabelRule:
    """One entry of the registry.

    `label` takes solutions (`id`, `n_steps`, `verdict`), evidence (`EVIDENCE_SCHEMA`) and the
    settings. Equal evidence gives equal labels, whatever the order of its rows; what is unknown
    gets no label.
    """

    settings: type[Settings]
    kind: LabelKind
    label: Callable[[pl.DataFrame, pl.DataFrame, Any], Labels]


LABEL_RULES: Registry[LabelRule] = Registry("label rule")
"""Label rules by the `rule` of their settings."""

LABEL_RULES.register("hard")(LabelRule(HardRule, LabelKind.VALIDITY, hard_labels))
LABEL_RULES.register("soft")(LabelRule(SoftRule, LabelKind.VALUE, soft_labels))
LABEL_RULES.register("change-point")(
    LabelRule(ChangePointRule, LabelKind.VALIDITY, change_point_labels)
)
LABEL_RULES.register("judge")(LabelRule(JudgeRule, LabelKind.VALIDITY, judge_labels))
LABEL_RULES.register("outcome")(LabelRule(OutcomeRule, LabelKind.VALIDITY, outcome_labels))
LABEL_RULES.register("consensus")(LabelRule(ConsensusRule, LabelKind.VALIDITY, consensus_labels))


def label(solutions: pl.DataFrame, evidence: pl.DataFrame, settings: LabelSettings) -> Labels:
    """Apply a label rule.

    Args:
        solutions: `id` (unique), `n_steps`, `verdict`; further columns are passed over.
        evidence: columns as in `EVIDENCE_SCHEMA`; one row per (solution, step, channel, policy),
            rollouts of one policy only.
        settings: the rule.

    Raises:
        UserError: the evidence does not keep to this.
    """
    return LABEL_RULES[settings.rule].label(solutions, evidence, settings)
