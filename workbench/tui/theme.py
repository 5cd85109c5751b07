"""The themes, and the colours that every theme must have: what tone looks like what.

Our own two themes name every colour. Any other theme, Textual's built-in ones included, gets the missing ones by
mixing its foreground into its background, so that each screen works under each theme.
"""

from __future__ import annotations

from rich.style import Style
from textual.app import App
from textual.color import Color, ColorParseError
from textual.theme import Theme

from workbench.tui.draw import Ground, Span, Tone
from workbench.tui.signs import UNICODE, Signs

DARK = Theme(
    name="workbench-dark",
    dark=True,
    primary="#86a8ff",
    accent="#86a8ff",
    secondary="#6480bd",
    success="#6fc79a",
    warning="#e3b45c",
    error="#f0797c",
    foreground="#dce1ea",
    background="#12151b",
    surface="#171b23",
    panel="#1f242e",
    variables={
        "text-muted": "#a2abbe",
        "text-disabled": "#76819a",
        "border": "#86a8ff",
        "border-blurred": "#394252",
        "primary-muted": "#242c3f",
        "success-muted": "#20312f",
        "warning-muted": "#332e25",
        "error-muted": "#35252a",
        "block-cursor-background": "#26334f",
        "block-cursor-foreground": "#dce1ea",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#20262f",
        "block-cursor-blurred-foreground": "#dce1ea",
        "footer-key-foreground": "#86a8ff",
        "scrollbar": "#394252",
        "scrollbar-background": "#12151b",
        "scrollbar-corner-color": "#12151b",
        "wb-muted": "#a2abbe",
        "wb-faint": "#76819a",
        "wb-rule": "#394252",
        "wb-data": "#6480bd",
        "wb-ok-fill": "#6fc79a",
        "wb-warn-fill": "#e3b45c",
        "wb-error-fill": "#f0797c",
    },
)

LIGHT = Theme(
    name="workbench-light",
    dark=False,
    primary="#3557c9",
    accent="#3557c9",
    secondary="#6f8ad0",
    success="#17713f",
    warning="#8a5a00",
    error="#b92b38",
    foreground="#22252b",
    background="#fbfaf7",
    surface="#f3f1ec",
    panel="#eeebe4",
    variables={
        "text-muted": "#53575f",
        "text-disabled": "#6f6e6b",
        "border": "#3557c9",
        "border-blurred": "#cdc9c0",
        "primary-muted": "#e3e6f1",
        "success-muted": "#dfe9e0",
        "warning-muted": "#ede6d9",
        "error-muted": "#f3e1e0",
        "block-cursor-background": "#dbe3fa",
        "block-cursor-foreground": "#22252b",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#ece9e2",
        "block-cursor-blurred-foreground": "#22252b",
        "footer-key-foreground": "#3557c9",
        "scrollbar": "#cdc9c0",
        "scrollbar-background": "#fbfaf7",
        "scrollbar-corner-color": "#fbfaf7",
        "wb-muted": "#53575f",
        "wb-faint": "#6f6e6b",
        "wb-rule": "#cdc9c0",
        "wb-data": "#6f8ad0",
        "wb-ok-fill": "#3f9a68",
        "wb-warn-fill": "#bd8118",
        "wb-error-fill": "#d4535d",
    },
)

THEMES = (DARK, LIGHT)

_TOKENS = {
    Tone.TEXT: "foreground",
    Tone.MUTED: "wb-muted",
    Tone.FAINT: "wb-faint",
    Tone.RULE: "wb-rule",
    Tone.ACCENT: "primary",
    Tone.DATA: "wb-data",
    Tone.OK: "success",
    Tone.WARN: "warning",
    Tone.ERROR: "error",
    Tone.OK_FILL: "wb-ok-fill",
    Tone.WARN_FILL: "wb-warn-fill",
    Tone.ERROR_FILL: "wb-error-fill",
    Tone.DATA_QUIET: "wb-data-quiet",
    Tone.ERROR_QUIET: "wb-error-quiet",
}

_GROUNDS = {
    Ground.CURSOR: "block-cursor-background",
    Ground.CURSOR_BLURRED: "block-cursor-blurred-background",
    Ground.BAD: "error-muted",
    Ground.WARN: "warning-muted",
    Ground.ACTION: "primary-muted",
}


def own_variables(theme: Theme, variables: dict[str, str]) -> dict[str, str]:
    """Give the ``wb-`` variables under any theme, given what the theme and its colour system generate."""
    foreground, background = _colour(variables["foreground"]), _colour(variables["background"])
    if theme.ansi:
        derived = {
            "wb-muted": "ansi_default",
            "wb-faint": "ansi_bright_black",
            "wb-rule": "ansi_bright_black",
            "wb-data": "ansi_blue",
        }
    else:
        derived = {
            "wb-muted": background.blend(foreground, 0.7, 1).hex,
            "wb-faint": background.blend(foreground, 0.5, 1).hex,
            "wb-rule": background.blend(foreground, 0.2, 1).hex,
            "wb-data": variables["secondary"],
        }
    fills = {
        "wb-ok-fill": variables["success"],
        "wb-warn-fill": variables["warning"],
        "wb-error-fill": variables["error"],
    }
    own = {**derived, **fills, **{name: value for name, value in theme.variables.items() if name.startswith("wb-")}}
    for name, loud in (("wb-data-quiet", "wb-data"), ("wb-error-quiet", "wb-error-fill")):
        own[name] = own[loud] if theme.ansi else background.blend(Color.parse(own[loud]), 0.5, 1).hex
    return own


class Palette:
    """Rich styles for tones and grounds under one theme, made once for each theme."""

    def __init__(self, variables: dict[str, str], *, ansi: bool) -> None:
        self._colours = {tone: _colour(variables[token]) for tone, token in _TOKENS.items()}
        # An ansi theme has no quiet backgrounds: signs, bold and the gutter carry the meaning there.
        self._grounds = {} if ansi else {ground: _colour(variables[token]) for ground, token in _GROUNDS.items()}
        self._styles: dict[tuple[Tone, bool, bool, bool, Ground], Style] = {}

    def style(self, span: Span, ground: Ground) -> Style:
        """Give the style of one span on its ground; faint text on the cursor row is lifted to muted to stay legible."""
        tone = Tone.MUTED if span.tone is Tone.FAINT and ground is Ground.CURSOR else span.tone
        key = (tone, span.bold, span.italic, span.solid, ground)
        style = self._styles.get(key)
        if style is None:
            colour = self._colours[tone]
            behind = colour if span.solid else self._grounds.get(ground)
            style = Style(
                color=colour.rich_color,
                bgcolor=behind.rich_color if behind is not None else None,
                bold=span.bold or None,
                italic=span.italic or None,
            )
            self._styles[key] = style
        return style

    def ground(self, ground: Ground) -> Style:
        """Give the style of the blank rest of a line."""
        behind = self._grounds.get(ground)
        return Style(bgcolor=behind.rich_color) if behind is not None else Style()


class ThemedApp(App[int]):
    """An app whose widgets find their styles and signs: every widget of ours can stand in any app of this kind."""

    signs: Signs = UNICODE
    _palette: tuple[str, Palette] | None = None

    def get_css_variables(self) -> dict[str, str]:
        """Give the theme's variables and ours, which exist under every theme."""
        variables = super().get_css_variables()
        variables |= own_variables(self.current_theme, variables)
        self.theme_variables = variables
        return variables

    @property
    def palette(self) -> Palette:
        """The styles of the current theme."""
        name = self.theme
        if self._palette is None or self._palette[0] != name:
            self._palette = (name, Palette(self.get_css_variables(), ansi=self.current_theme.ansi))
        return self._palette[1]


def _colour(value: str) -> Color:
    """Give a theme value as a colour; forms that mean something over a background only count as unset."""
    try:
        return Color.parse(value)
    except ColorParseError:
        return Color.parse("ansi_default")
