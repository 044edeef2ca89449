"""What the reader of docstrings cannot know by itself."""

import re
from typing import Any

import griffe

_CONFIGURATION = ("AbstractMethod", "AbstractPhase")


class Docstrings(griffe.Extension):
    """Show ``Example:`` as code, and give methods and phases the signature that
    Equinox writes for them.
    """

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = re.sub(
                r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE
            )

    def on_class_members(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        if "__init__" in cls.members or not any(
            str(base).endswith(_CONFIGURATION) for base in cls.bases
        ):
            return
        named = griffe.ParameterKind.positional_or_keyword
        fields = [
            a
            for a in cls.attributes.values()
            if a.annotation is not None and "instance-attribute" in a.labels
        ]
        parameters = [
            griffe.Parameter("self", kind=named),
            *(
                griffe.Parameter(a.name, annotation=a.annotation, kind=named, default=a.value)
                for a in fields
            ),
        ]
        cls.set_member(
            "__init__",
            griffe.Function(
                "__init__", parameters=griffe.Parameters(*parameters), lineno=cls.lineno
            ),
        )
