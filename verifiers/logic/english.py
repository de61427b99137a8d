"""Controlled English: the facts and rules of ProntoQA and ProofWriter as formulas.

`Max is a cat.`, `The dog does not see the cat.`, `Every cat is kind.`, `Cats are not dogs.`, `All
red, kind things are cold.`, `If someone is big and they see the dog then they are not cold.`, `No
cat is a dog.`, `Some cats are kind.` Every word counts: a sentence is read whole or refused, and
what could mean two things is refused (`it` of two, `wolves`, `a red cat`, `either … or`).
`things` and `people` are all individuals, as both data sets mean it.

ProntoQA: Saparov and He, 2023. ProofWriter: Tafjord et al., 2021.
"""

import re
from collections.abc import Callable

from stepmill.verifiers.logic.english_words import RESERVED, base_verb, is_plural, singular
from stepmill.verifiers.logic.reading import ParseError, check_length
from stepmill.verifiers.logic.syntax import (
    Atom,
    Const,
    Exists,
    ForAll,
    Formula,
    Implies,
    Not,
    Or,
    Term,
    Var,
    conjunction,
)

_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*|[,.]|\S")
_OPENING = re.compile(
    r"(?:(?:so|therefore|thus|hence|then|consequently|finally|next)\b\s*,?\s*)+", re.IGNORECASE
)
_ANYONE = frozenset({"something", "someone", "anything", "anyone", "somebody", "anybody"})
_PRONOUNS = frozenset({"it", "they", "he", "she"})
_ALL_THINGS = frozenset({"things", "people"})
_ONE_THING = frozenset({"thing", "person"})
_ALWAYS = frozenset({"all", "every", "each", "any"})
_COPULAS = frozenset({"is", "are"})
_NEGATED = {"isn't": "is", "isn’t": "is", "aren't": "are", "aren’t": "are"}
_DO = frozenset({"does", "do"})
_DO_NOT = frozenset({"doesn't", "doesn’t", "don't", "don’t"})
_X = Var("x")


def parse_english(text: str) -> Formula:
    """Read one sentence; a last full stop and a first `therefore` or `so` do not count.

    Raises:
        ParseError: the sentence is not in the controlled English, or can be read in two ways.
    """
    check_length(text)
    stripped = text.strip()
    opening = _OPENING.match(stripped)
    if opening:
        stripped = stripped[opening.end() :]
        stripped = stripped[:1].upper() + stripped[1:]
    words = _WORD.findall(stripped.removesuffix("."))
    if not words:
        raise ParseError("no words")
    first = words[0].lower()
    if first == "if":
        return _conditional(words[1:])
    if first == "no":
        return _general(words[1:], lambda who, what: ForAll("x", Implies(who, Not(what))))
    if first == "some":
        return _general(words[1:], lambda who, what: Exists("x", conjunction([who, what])))
    if first in _ALWAYS:
        return _general(words[1:], _always)
    if _is_general(words):
        return _general(words, _always)
    return conjunction(_Clauses(None).read(words))


def _always(who: Formula, what: Formula) -> Formula:
    return ForAll("x", Implies(who, what))


def _conditional(words: list[str]) -> Formula:
    """`<conditions> then <conclusion>`, or with a comma in the place of `then`."""
    lowered = [word.lower() for word in words]
    if lowered.count("then") == 1:
        at = lowered.index("then")
        left, right = words[:at], words[at + 1 :]
        if left and left[-1] == ",":
            left = left[:-1]
    elif lowered.count(",") == 1 and "then" not in lowered:
        at = lowered.index(",")
        left, right = words[:at], words[at + 1 :]
    else:
        raise ParseError("`if` without one `then`")
    anyone = next((w for w in left if w.lower() in _ANYONE or w in ("X", "Y", "Z")), None)
    clauses = _Clauses(anyone)
    conditions = clauses.read(left)
    conclusions = clauses.read(right)
    rule = Implies(conjunction(conditions), conjunction(conclusions))
    return ForAll("x", rule) if anyone else rule


def _is_general(words: list[str]) -> bool:
    """Whether a sentence without `all` speaks of all of a kind: `Red things are cold`."""
    lowered = [word.lower() for word in words]
    if "are" not in lowered and "aren't" not in lowered and not _ALL_THINGS & set(lowered):
        return False
    return lowered[0] not in ("the", *_PRONOUNS)


def _general(words: list[str], joined: Callable[[Formula, Formula], Formula]) -> Formula:
    """`<kind> is|are <what>`, or `<adjectives> things|people <verb> <whom>`, of every x."""
    for at, word in enumerate(words):
        if word.lower() in _COPULAS or word.lower() in _NEGATED:
            kind, rest = words[:at], words[at:]
            break
        if word.lower() in _ALL_THINGS | _ONE_THING:
            kind, rest = words[: at + 1], words[at + 1 :]
            break
    else:
        raise ParseError("no `is` or `are` after the kind of thing")
    plural = rest[:1] != [] and _NEGATED.get(rest[0].lower(), rest[0].lower()) != "is"
    who = _kind([word.lower() for word in kind], plural)
    return joined(who, conjunction(_Clauses(None).about(_X, _split(rest, "and"), plural)))


def _kind(words: list[str], plural: bool) -> Formula:
    """`red, kind things`, `cats`, `cat`: who a general sentence is about."""
    if not words:
        raise ParseError("no kind of thing")
    *before, noun = words
    if noun in _ALL_THINGS | _ONE_THING:
        adjectives = [word for word in before if word not in (",", "and")]
        separators = before[1::2]
        if not adjectives or before[::2] != adjectives or not set(separators) <= {",", "and"}:
            raise ParseError(f"{' '.join(words)!r} is not `adjective, adjective {noun}`")
        return conjunction([_of(_plain(word), _X) for word in adjectives])
    if before:
        raise ParseError(f"{' '.join(words)!r} can be read as one kind or as two")
    if plural and not is_plural(noun):
        raise ParseError(f"{noun!r} is not understood as a plural")
    return _of(_plain(singular(noun) if plural else noun), _X)


class _Clauses:
    """Reads clauses and remembers whom `it` and `they` mean.

    Args:
        anyone: the word that stands for the variable of a rule; None in a sentence without one.
    """

    def __init__(self, anyone: str | None) -> None:
        self._anyone = anyone
        self._introduced = False
        self._mentioned: set[Term] = set()

    def read(self, words: list[str]) -> list[Formula]:
        """Clauses joined by `and`; `something is red and not cold` has one subject for two."""
        found: list[Formula] = []
        parts = _split(words, "and")
        while parts:
            end = self._name_end(parts[0])
            if not end:
                raise ParseError(f"{' '.join(parts[0])!r} has no subject")
            same = 1
            while same < len(parts) and not self._name_end(parts[same]):
                same += 1
            subject = self._named(parts[0][:end])
            plural = parts[0][0].lower() == "they"
            found.extend(self.about(subject, [parts[0][end:], *parts[1:same]], plural))
            parts = parts[same:]
        return found

    def about(self, subject: Term, parts: list[list[str]], plural: bool) -> list[Formula]:
        """What is said of one subject: a verb, and after `is` and `are` more properties.

        Args:
            subject: of all parts.
            parts: the words between each `and`, without the subject.
            plural: whether verbs have the form after `they`.
        """
        (verb, *rest), *others = parts if parts[0] else [["nothing"]]
        verb = verb.lower()
        if verb in _NEGATED:
            verb, rest = _NEGATED[verb], ["not", *rest]
        if verb in _COPULAS:
            properties = [rest, *others]
            if rest[:1] == ["not"] and any(other[0] != "not" for other in others):
                raise ParseError("`not … and` can be read in two ways")
            return [_complement(subject, words, plural) for words in properties]
        if others:
            raise ParseError(f"{' '.join(others[0])!r} has no subject")
        if verb in _DO and rest[:1] == ["not"]:
            verb, rest = "don't", rest[1:]
        if verb in _DO_NOT and rest:
            return [Not(self._relation(subject, _plain(rest[0].lower()), rest[1:]))]
        return [self._relation(subject, _plain(verb) if plural else base_verb(_plain(verb)), rest)]

    def _relation(self, subject: Term, verb: str, words: list[str]) -> Formula:
        if not words or self._name_end(words) != len(words):
            raise ParseError(f"{' '.join(words)!r} is not one object of {verb!r}")
        return Atom(verb, (subject, self._named(words)))

    def _name_end(self, words: list[str]) -> int:
        """How many words at the start name an individual; 0 when none do."""
        first = words[0].lower()
        if first in _ANYONE or first in _PRONOUNS or words[0] == self._anyone:
            return 1
        if first != "the":
            return int(words[0][0].isupper() and first not in RESERVED)
        for at, word in enumerate(words[2:], 2):
            if word.lower() in _COPULAS | _DO | _DO_NOT or word.lower() in _NEGATED:
                return at
            if at > 2 and (word.lower() == "the" or word[0].isupper()):
                return at - 1  # the verb stands before its object
        return len(words)

    def _named(self, words: list[str]) -> Term:
        first = words[0].lower()
        if words[0] == self._anyone:
            if self._introduced and first in _ANYONE:
                raise ParseError(f"a second {first!r} may be another one")
            self._introduced = True
            return _X
        if first in _ANYONE or re.fullmatch("[A-Z]", words[0]):
            raise ParseError(f"{words[0]!r} is not the one that a rule is about")
        if first in _PRONOUNS:
            return self._meant(first)
        if first == "the" and len(words) == 1:
            raise ParseError("`the` without a noun")
        noun = (
            [_plain(word.lower()) for word in words[1:]] if first == "the" else [_plain(words[0])]
        )
        named = Const("_".join(noun))
        self._mentioned.add(named)
        return named

    def _meant(self, pronoun: str) -> Term:
        """In a rule about anyone the pronoun means that one, as ProofWriter writes it."""
        if self._anyone is not None:
            return _X
        if len(self._mentioned) == 1:
            return next(iter(self._mentioned))
        raise ParseError(f"{pronoun!r} has no one thing to mean")


def _complement(subject: Term, words: list[str], plural: bool) -> Formula:
    """`not a cat`, `red`, `cats`, `a cat or a dog`."""
    lowered = [word.lower() for word in words]
    if lowered[:1] == ["not"]:
        if "or" in lowered:
            raise ParseError("`not … or` can be read in two ways")
        return Not(_complement(subject, words[1:], plural))
    if "or" in lowered:
        parts = _split(words, "or")
        return Or(tuple(_complement(subject, part, plural) for part in parts))
    if lowered[:1] in (["a"], ["an"]) and len(lowered) == 2:
        return _of(_plain(lowered[1]), subject)
    if len(lowered) != 1:
        raise ParseError(f"{' '.join(words)!r} is not one property")
    word = _plain(lowered[0])
    return _of(singular(word) if plural and is_plural(word) else word, subject)


def _split(words: list[str], joint: str) -> list[list[str]]:
    """The parts between a word; none may be empty."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word.lower() == joint:
            parts.append([])
        else:
            parts[-1].append(word)
    if not all(parts):
        raise ParseError(f"nothing beside {joint!r}")
    return parts


def _of(predicate: str, subject: Term) -> Formula:
    return Atom(predicate, (subject,))


def _plain(word: str) -> str:
    """A word that may name a kind, a property, a verb or an individual."""
    if not word[0].isalpha() or word.lower() in RESERVED:
        raise ParseError(f"{word!r} where a name or a property should be")
    return word
