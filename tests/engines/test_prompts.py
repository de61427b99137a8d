import pytest
from pydantic import TypeAdapter, ValidationError

from stepmill.engines.prompts import (
    ChatPrompt,
    Example,
    FewShotPrompt,
    JinjaPrompt,
    PlainPrompt,
    Prompt,
    PromptSettings,
    prompt_id,
)
from stepmill.errors import UserError

SETTINGS: TypeAdapter[PromptSettings] = TypeAdapter(PromptSettings)
TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>\n' }}{% endif %}"
    "{% if think %}{{ '<think>\n' }}{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer():
    """A tokenizer of Hugging Face's with a chat template that can be read with the naked eye."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models

    words = Tokenizer(models.WordLevel({"<s>": 0, "</s>": 1}, unk_token="</s>"))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<s>", eos_token="</s>", chat_template=TEMPLATE
    )


def test_a_chat_prompt_ends_where_the_assistant_begins(tokenizer):
    prompt = Prompt(ChatPrompt(system="Be brief.", user="{question}\nThink."), tokenizer)
    assert prompt.render("2+2?") == "<system>Be brief.</><user>2+2?\nThink.</><assistant>\n"
    assert not prompt.adds_special_tokens


def test_options_reach_the_chat_template(tokenizer):
    prompt = Prompt(ChatPrompt(options={"think": True}), tokenizer)
    assert prompt.render("2+2?").endswith("<assistant>\n<think>\n")


def test_a_plain_prompt_keeps_every_other_brace_and_all_white_space():
    prompt = Prompt(PlainPrompt(text=" {question}\nUse \\boxed{}.\n\n"))
    assert prompt.render("{question}?") == " {question}?\nUse \\boxed{}.\n\n"
    assert prompt.adds_special_tokens


def test_examples_stand_before_the_question_in_its_form():
    prompt = Prompt(
        FewShotPrompt(
            text="Q: {question}\nA:",
            examples=(Example(question="1+1?", answer=" 2"), Example(question="1+2?", answer=" 3")),
        )
    )
    assert prompt.render("2+2?") == "Q: 1+1?\nA: 2\n\nQ: 1+2?\nA: 3\n\nQ: 2+2?\nA:"


def test_a_jinja_text_writes_its_own_special_tokens_and_keeps_its_last_line_break(tokenizer):
    prompt = Prompt(JinjaPrompt(text="{{ bos_token }}{{ question }}\n"), tokenizer)
    assert prompt.render("2+2?") == "<s>2+2?\n"
    assert not prompt.adds_special_tokens


def test_a_prompt_is_rendered_once_per_question(tokenizer, monkeypatch):
    calls = []

    def counted(turns, **options):
        calls.append(turns)
        return turns[0]["content"]

    monkeypatch.setattr(tokenizer, "apply_chat_template", counted)
    prompt = Prompt(ChatPrompt(), tokenizer)
    assert [prompt.render(q) for q in ("a", "b", "a", "a")] == ["a", "b", "a", "a"]
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"template": "plain", "text": "Answer:"}, "{question}"),
        ({"template": "chat", "user": "Think."}, "{question}"),
        ({"template": "few-shot", "examples": []}, "at least 1"),
        ({"template": "jinja", "text": "{{ question }"}, "cannot be rendered"),
        ({"template": "jinja", "text": "{{ question }}{{ sytem }}"}, "sytem"),
        ({"template": "jinja", "text": "no question"}, "does not show the question"),
        ({"template": "chat", "text": "{question}"}, "Extra inputs"),
    ],
)
def test_a_prompt_that_cannot_work_is_refused_before_a_model_is_loaded(settings, complaint):
    with pytest.raises(ValidationError) as error:
        SETTINGS.validate_python(settings)
    assert complaint in str(error.value)


def test_a_jinja_text_cannot_reach_python(tokenizer):
    with pytest.raises(ValidationError, match="unsafe"):
        JinjaPrompt(text="{{ question.__class__.__mro__ }}{{ question }}")


def test_a_model_without_a_chat_template_is_the_users_to_mend(tokenizer, monkeypatch):
    monkeypatch.setattr(tokenizer, "chat_template", None)
    with pytest.raises(UserError, match="template: plain"):
        Prompt(ChatPrompt(), tokenizer)


def test_a_template_that_refuses_a_system_turn_is_the_users_to_mend(tokenizer, monkeypatch):
    refusal = "{{ raise_exception('System role not supported') }}"
    monkeypatch.setattr(tokenizer, "chat_template", refusal)
    with pytest.raises(UserError, match="System role not supported"):
        Prompt(ChatPrompt(system="Be brief."), tokenizer).render("2+2?")


def test_chat_needs_a_tokenizer():
    with pytest.raises(UserError, match="needs the model's tokenizer"):
        Prompt(ChatPrompt())


def test_the_id_of_a_prompt_changes_with_its_text_and_only_then():
    assert prompt_id(PlainPrompt()) == prompt_id(SETTINGS.validate_python({"template": "plain"}))
    ids = {
        prompt_id(PlainPrompt()),
        prompt_id(PlainPrompt(text="Q: {question}\nA:\n")),
        prompt_id(ChatPrompt()),
        prompt_id(ChatPrompt(system="")),
    }
    assert len(ids) == 4
