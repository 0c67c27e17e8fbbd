"""Messages as data: a message marks its parts that name parameters, their values, columns or rows.

As a string, a message has the wording for Python users. Another interface can reword the marked
parts (`Message.worded`) and leaves the rest unchanged. User data is therefore never reworded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

Kind = Literal["parameter", "setting", "remedy", "phrase", "column", "row", "sample", "class label"]


class Part(str):
    """A part of a message that another interface may reword.

    As a string, the part has the wording for Python users.

    Attributes
    ----------
    kind : str
        What the part names: a parameter, the value given for it ("setting"), a value to use
        instead ("remedy"), a column, row or sample by its number, a class by its label, or any
        other "phrase".
    name : str
        The name of the parameter.
    value : object
        The value of the parameter, the number of the column, row or sample, or the label of the
        class; ``...`` if there is none.
    """

    kind: Kind
    name: str
    value: Any

    def __new__(cls, text: str, kind: Kind, name: str = "", value: Any = ...) -> Part:
        part = super().__new__(cls, text)
        part.kind, part.name, part.value = kind, name, value
        return part

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only simple values, because other objects may not work in another process."""
        fit = isinstance(self.value, bool | int | float | str | None)
        return Part, (str(self), self.kind, self.name, self.value if fit else ...)


class Message(str):
    """A sentence together with its parts.

    Examples
    --------
    >>> from graphsieve._base.messages import Message, parameter
    >>> message = Message(parameter("n_jobs", 0), " must not be 0.")
    >>> print(message)
    n_jobs must not be 0.
    >>> print(message.worded(lambda part: f"--{part.name.removeprefix('n_')}"))
    --jobs must not be 0.
    """

    parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> Message:
        flat = tuple(
            one for part in parts for one in (part.parts if isinstance(part, Message) else (part,))
        )
        message = super().__new__(cls, "".join(flat))
        message.parts = flat
        return message

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, self.parts

    def worded(self, wording: Callable[[Part], str]) -> Message:
        """Return the message with every marked part reworded."""
        return Message(*(wording(part) if isinstance(part, Part) else part for part in self.parts))

    def changed(self, change: Callable[[str], str]) -> Message:
        """Return the message with its unmarked parts changed."""
        return Message(*(part if isinstance(part, Part) else change(part) for part in self.parts))

    def without_end(self) -> Message:
        """Return the message without its full stop, so that it can be continued."""
        return Message(*self.parts[:-1], *(part.removesuffix(".") for part in self.parts[-1:]))


def parameter(name: str, value: Any = ...) -> Part:
    """Mark the name of a parameter. Pass `value` if the value of the parameter is invalid."""
    return Part(name, "parameter", name, value)


def keyword(name: str) -> Part:
    """Mark a parameter to pass, such as ``supervision=``."""
    return Part(f"{name}=", "remedy", name)


def phrase(text: str) -> Part:
    """Mark words that apply to Python users only, such as ``pass y with some of them``.

    Another interface looks up its own wording by this text.
    """
    return Part(text, "phrase")


def numbered(kind: Kind, number: int) -> Part:
    """Mark a column, row or sample by its number."""
    return Part(f"{kind} {number}", kind, value=int(number))


def separated_by(separator: str, parts: Iterable[str]) -> list[str]:
    """Return the parts with a separator between them, like ``str.join`` for strings."""
    return [one for part in parts for one in (separator, part)][1:]


def message_of(error: BaseException | str) -> Message:
    """Return the message of an error or a warning, with its parts if it has any."""
    said = error.args[0] if isinstance(error, BaseException) and error.args else error
    return said if isinstance(said, Message) else Message(str(error))
