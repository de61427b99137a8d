"""Word forms of controlled English: one name for a noun or verb in all of its forms.

Only regular forms and a few listed ones are joined. A form that could belong to two words is
refused: `wolves` read as another noun than `wolf` would make a right step look wrong.
"""

import re

from stepmill.verifiers.logic.reading import ParseError

_PLURALS = {
    "children": "child",
    "feet": "foot",
    "geese": "goose",
    "men": "man",
    "mice": "mouse",
    "people": "person",
    "teeth": "tooth",
    "women": "woman",
}
_ADJECTIVE_ENDINGS = ("ous", "ss", "us", "is")
_UNSURE_ENDINGS = ("ves", "ics", "oes", "zzes", "ies")


_RESERVED = """
a an the is are was were not and or if then all every each any no some either neither nor but
that who which there this these those only unless when because since while than same both does
do did has have had can cannot could must may might will would should never always of in on at
to from with by for as about more most less least very too also what where why how whether true
false i you we he she it they him her them his its their something someone anything anyone
somebody anybody everything everyone nothing nobody thing things people person
"""
RESERVED = frozenset(_RESERVED.split())
"""Words that name nothing: one in the place of a name or a property means another construction."""


def is_plural(word: str) -> bool:
    """Whether a word after `are` is a noun in the plural, and not an adjective."""
    return word in _PLURALS or (word.endswith("s") and not word.endswith(_ADJECTIVE_ENDINGS))


def singular(word: str) -> str:
    """The singular of a plural noun.

    Raises:
        ParseError: the plural may come from two singulars.
    """
    if word in _PLURALS:
        return _PLURALS[word]
    if word.endswith(_UNSURE_ENDINGS):
        raise ParseError(f"the singular of {word!r} is not certain")
    if word.endswith("uses") and len(word) > 5:
        return word[:-2]
    if re.search(r"(ch|sh|ss|x)es$", word):
        return word[:-2]
    return word[:-1]


def base_verb(word: str) -> str:
    """The base form of a verb in the third person: `sees` gives `see`.

    Raises:
        ParseError: the word is no such form, or may come from two verbs.
    """
    if not word.endswith("s") or word.endswith(("ss", "ies", "oes")):
        raise ParseError(f"{word!r} is not understood as a verb after a single subject")
    return word[:-2] if re.search(r"(ch|sh|ss|x|zz)es$", word) else word[:-1]
