"""The report's templates, compiled once for every command of `command.run`."""

from ragen_bench.environments import reference_note
from ragen_bench.pages.rendering import page_environment

_TEMPLATES = page_environment("ragen_bench.pages.report", reference_note)
for _name in _TEMPLATES.list_templates():
    _TEMPLATES.get_template(_name)
