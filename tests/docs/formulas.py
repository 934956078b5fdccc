"""Formulas of the pages as MathML, which browsers show without a script.

A page has them in fences of the kind ``math``, in the LaTeX that hosts of code show, too.
"""

from __future__ import annotations

from latex2mathml.converter import convert


def fence(source, language, css_class, options, md, **attributes):
    """Return the MathML of a fence; the arguments are those of `pymdownx.superfences`."""
    return f'<div class="{css_class}">{convert(source.strip(), display="block")}</div>'
