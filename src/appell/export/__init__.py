"""Export: equations and laws as C99, and as object code, for a controller."""

from appell.export.code import Exported, c
from appell.export.object_code import object_code as object  # noqa: A004  (its public name)
from appell.export.subject import usual_name
from appell.export.targets import TARGETS

__all__ = ["TARGETS", "Exported", "c", "object", "usual_name"]
