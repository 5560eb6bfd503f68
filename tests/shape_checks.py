"""The checker that tests put around every function of the package.

It checks the first calls of each function in each test: a loop of thousands of steps repeats what they show.
"""

import functools
from collections.abc import Callable
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype

CALLS = 100  # of each function, in each test

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))  # an int serves where a float is asked for
_always = jaxtyping.jaxtyped
_counts: list[list[int]] = []


def forget_calls() -> None:
    """Count calls from zero, and check the first ones again."""
    for count in _counts:
        count[0] = 0


def _at_first(*, typechecker: Callable[..., Any]) -> Callable[[Any], Any]:
    """`jaxtyping.jaxtyped`, whose functions call what they wrap directly once they were called often."""

    def decorate(function: Any) -> Any:
        wrapped = _always(typechecker=typechecker)(function)
        if isinstance(function, (type, property, classmethod, staticmethod)):
            return wrapped
        count = [0]
        _counts.append(count)

        @functools.wraps(function)
        def call(*arguments: Any, **settings: Any) -> Any:
            count[0] += 1
            return (wrapped if count[0] <= CALLS else function)(*arguments, **settings)

        return call

    return decorate


jaxtyping.jaxtyped = _at_first
