"""How a question becomes a prompt: the model's chat template, plain text, examples, or your own.

A prompt is rendered once per question, and a solution's beginning is appended to it verbatim, so
that every rollout continues exactly what the policy saw. The chat template's own way of continuing
a message (`continue_final_message`) strips white space from it and is never used. Nothing here
knows engines or sampling; a tokenizer is needed for chat templates only.
"""

from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, Field

from stepmill.errors import UserError
from stepmill.records import content_id
from stepmill.settings import Settings

if TYPE_CHECKING:
    from jinja2 import Template

_IN_USE = 4096
"""Prompts kept: more questions than a run has in work at one time."""


def _has_place(text: str) -> str:
    if "{question}" not in text:
        raise ValueError("needs `{question}` where the question goes")
    return text


WithPlace = Annotated[str, AfterValidator(_has_place)]
"""A text with `{question}` in it. Every other brace stands for itself: `\\boxed{}` is safe."""


class ChatPrompt(Settings):
    """The model's own chat template, with the question as the user's turn."""

    template: Literal["chat"] = "chat"
    system: str | None = None
    """Text of the system's turn; without it the template decides what stands there."""
    user: WithPlace = "{question}"
    """The user's turn, `{question}` standing for the question. Instructions on the form of the
    answer go here."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Variables for the chat template, such as `enable_thinking: false`."""


class PlainPrompt(Settings):
    """Text around the question, for models without a chat template."""

    template: Literal["plain"] = "plain"
    text: WithPlace = "Question: {question}\nAnswer:\n"
    """The prompt, `{question}` standing for the question. The solution follows its last
    character."""


class Example(Settings):
    """One solved question to show."""

    question: str
    """As the problems put it."""
    answer: str
    """A whole solution, in the form that the policy shall write."""


class FewShotPrompt(Settings):
    """Solved examples, then the question, all in one form."""

    template: Literal["few-shot"] = "few-shot"
    examples: tuple[Example, ...] = Field(min_length=1)
    """Solved questions, shown in this order."""
    text: WithPlace = "Question: {question}\nAnswer:\n"
    """Form of each example and of the question; an example's answer follows it."""
    between: str = "\n\n"
    """Text after each example."""


def _renders(text: str) -> str:
    from jinja2 import TemplateError

    probe = "What is 6 x 7?"
    try:
        rendered = _compiled(text).render(question=probe, bos_token="", eos_token="")
    except TemplateError as error:
        raise ValueError(f"the jinja text cannot be rendered: {error}") from None
    if probe not in rendered:
        raise ValueError("the jinja text does not show the question: write {{ question }}")
    return text


class JinjaPrompt(Settings):
    """Your own jinja text, with the variables `question`, `bos_token` and `eos_token`."""

    template: Literal["jinja"] = "jinja"
    text: Annotated[str, AfterValidator(_renders)]
    """The whole prompt. The tokenizer adds no special tokens: write `bos_token` where the model
    wants it. It runs in a sandbox, and an unknown variable is an error."""


PromptSettings = Annotated[
    ChatPrompt | PlainPrompt | FewShotPrompt | JinjaPrompt, Field(discriminator="template")
]


class ChatTokenizer(Protocol):
    """What a prompt wants of a tokenizer; those of Hugging Face have it."""

    bos_token: str | None
    eos_token: str | None
    chat_template: object
    """None, or empty, for a model without one."""

    def apply_chat_template(
        self,
        conversation: list[dict[str, str]],
        *,
        tokenize: bool,
        add_generation_prompt: bool,
        **options: object,
    ) -> object:
        """Text of a conversation, up to where the assistant begins."""
        ...


@cache
def _compiled(text: str) -> "Template":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # The last line break of a prompt belongs to it.
    jinja = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    return jinja.from_string(text)


def prompt_id(settings: PromptSettings) -> str:
    """Hash of all that a configuration says of the prompt; the chat template is the model's."""
    return content_id("prompt", settings.model_dump(mode="json"))


def chat_turns(settings: ChatPrompt, question: str) -> list[dict[str, str]]:
    """The conversation that a chat template renders."""
    turns = [{"role": "user", "content": _fill(settings.user, question)}]
    if settings.system is not None:
        turns.insert(0, {"role": "system", "content": settings.system})
    return turns


class Prompt:
    """Renders questions.

    Args:
        settings: the form.
        tokenizer: of the policy; may be None for `plain` and `few-shot`.

    Raises:
        UserError: a chat or jinja prompt without a tokenizer, or a model without a chat template.
    """

    def __init__(self, settings: PromptSettings, tokenizer: ChatTokenizer | None = None) -> None:
        self.render = lru_cache(maxsize=_IN_USE)(_renderer(settings, tokenizer))
        """Prompt of a question. Raises UserError when the chat template refuses it."""
        self.adds_special_tokens = isinstance(settings, PlainPrompt | FewShotPrompt)
        """Whether the tokenizer has to add its special tokens (BOS) to the rendered text. Chat
        templates and jinja texts write their own."""


def _renderer(settings: PromptSettings, tokenizer: ChatTokenizer | None) -> Callable[[str], str]:
    if isinstance(settings, PlainPrompt):
        return partial(_fill, settings.text)
    if isinstance(settings, FewShotPrompt):
        shown = "".join(
            _fill(settings.text, e.question) + e.answer + settings.between
            for e in settings.examples
        )
        return lambda question: shown + _fill(settings.text, question)
    if tokenizer is None:
        raise UserError(
            f"a prompt with `template: {settings.template}` needs the model's tokenizer, and "
            "there is none here; use `plain` or `few-shot`"
        )
    if isinstance(settings, ChatPrompt):
        if not tokenizer.chat_template:
            raise UserError("the model has no chat template; use `prompt: {template: plain}`")
        return partial(_chat, settings, tokenizer)
    return partial(
        _own,
        _compiled(settings.text),
        bos_token=tokenizer.bos_token or "",
        eos_token=tokenizer.eos_token or "",
    )


def _fill(text: str, question: str) -> str:
    return text.replace("{question}", question)


def _own(template: "Template", question: str, bos_token: str, eos_token: str) -> str:
    return template.render(question=question, bos_token=bos_token, eos_token=eos_token)


def _chat(settings: ChatPrompt, tokenizer: ChatTokenizer, question: str) -> str:
    from jinja2 import TemplateError

    try:
        text = tokenizer.apply_chat_template(
            chat_turns(settings, question),
            tokenize=False,
            add_generation_prompt=True,
            **settings.options,
        )
    except TemplateError as error:
        raise UserError(
            f"the model's chat template cannot render the prompt: {error}. If it takes no system "
            "turn, put that text into `user`"
        ) from error
    return str(text)
