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
    Tone.ACCENT: "wb-accent",
    Tone.DATA: "wb-data",
    Tone.OK: "wb-ok",
    Tone.WARN: "wb-warn",
    Tone.ERROR: "wb-error",
    Tone.OK_FILL: "wb-ok-fill",
    Tone.WARN_FILL: "wb-warn-fill",
    Tone.ERROR_FILL: "wb-error-fill",
    Tone.DATA_QUIET: "wb-data-quiet",
    Tone.ERROR_QUIET: "wb-error-quiet",
    Tone.HATCH: "wb-error-fill",
}

_BEHIND = {Tone.HATCH: "wb-error-quiet"}
"""Tones that bring their own ground, except under an ansi theme, where it would be as loud as they are."""

_GROUNDS = {
    Ground.CURSOR: "wb-cursor",
    Ground.CURSOR_BLURRED: "wb-cursor-blurred",
    Ground.BAD: "wb-bad-ground",
    Ground.WARN: "wb-warn-ground",
    Ground.GOOD: "wb-good-ground",
    Ground.LOST: "wb-bad-ground",
    Ground.ACTION: "wb-action-ground",
}


_SEMANTIC = {"wb-accent": "primary", "wb-ok": "success", "wb-warn": "warning", "wb-error": "error"}
_LEGIBLE = 4.5
"""The least contrast of coloured text on the background."""


def own_variables(theme: Theme, variables: dict[str, str]) -> dict[str, str]:
    """Give the ``wb-`` variables under any theme, from what the theme and its colour system generate."""
    if theme in THEMES:
        derived = _of_our_own(variables)
    elif theme.ansi:
        derived = _of_ansi(variables)
    else:
        derived = _of_foreign(variables)
    own = {**derived, **{name: value for name, value in theme.variables.items() if name.startswith("wb-")}}
    for name, loud in (("wb-data-quiet", "wb-data"), ("wb-error-quiet", "wb-error-fill")):
        own[name] = own[loud] if theme.ansi else _mix(variables["background"], own[loud], 0.5)
    return own


def _of_our_own(variables: dict[str, str]) -> dict[str, str]:
    """Our themes name every colour; these are the same ones under the names that tones and grounds have."""
    named = {name: variables[token] for name, token in _SEMANTIC.items()}
    return named | {
        "wb-cursor": variables["block-cursor-background"],
        "wb-cursor-blurred": variables["block-cursor-blurred-background"],
        "wb-bad-ground": variables["error-muted"],
        "wb-warn-ground": variables["warning-muted"],
        "wb-good-ground": variables["success-muted"],
        "wb-action-ground": variables["primary-muted"],
    }


def _of_ansi(variables: dict[str, str]) -> dict[str, str]:
    """Take the sixteen colours of the terminal; its grounds are not used, see Palette."""
    named = {name: variables[token] for name, token in _SEMANTIC.items()}
    grounds = dict.fromkeys(_GROUNDS.values(), "ansi_default")
    return (
        named
        | grounds
        | {
            "wb-muted": "ansi_default",
            "wb-faint": "ansi_bright_black",
            "wb-rule": "ansi_bright_black",
            "wb-data": "ansi_blue",
            "wb-ok-fill": variables["success"],
            "wb-warn-fill": variables["warning"],
            "wb-error-fill": variables["error"],
        }
    )


def _of_foreign(variables: dict[str, str]) -> dict[str, str]:
    """Greys mixed from its foreground, tints from its colours, and its colours made legible as text."""
    background, foreground = variables["background"], variables["foreground"]
    named = {name: _legible(variables[token], background, foreground) for name, token in _SEMANTIC.items()}
    return named | {
        "wb-muted": _mix(background, foreground, 0.7),
        "wb-faint": _mix(background, foreground, 0.5),
        "wb-rule": _mix(background, foreground, 0.2),
        "wb-data": variables["secondary"],
        "wb-ok-fill": variables["success"],
        "wb-warn-fill": variables["warning"],
        "wb-error-fill": variables["error"],
        "wb-cursor": _mix(background, variables["primary"], 0.2),
        "wb-cursor-blurred": _mix(background, foreground, 0.08),
        "wb-bad-ground": _mix(background, variables["error"], 0.15),
        "wb-warn-ground": _mix(background, variables["warning"], 0.15),
        "wb-good-ground": _mix(background, variables["success"], 0.15),
        "wb-action-ground": _mix(background, variables["primary"], 0.12),
    }


def _mix(under: str, over: str, share: float) -> str:
    return _colour(under).blend(_colour(over), share, 1).hex


def _legible(colour: str, background: str, foreground: str) -> str:
    """Move a colour towards the foreground until it can be read as text."""
    mixed = colour
    for step in range(1, 10):
        if _contrast(_colour(mixed), _colour(background)) >= _LEGIBLE:
            break
        mixed = _mix(colour, foreground, step / 10)
    return mixed


def _contrast(one: Color, other: Color) -> float:
    """Give the contrast ratio of WCAG 2."""
    lights = sorted(_luminance(colour) for colour in (one, other))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _luminance(colour: Color) -> float:
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


class Palette:
    """Rich styles for tones and grounds under one theme, made once for each theme."""

    def __init__(self, variables: dict[str, str], *, ansi: bool) -> None:
        self._colours = {tone: _colour(variables[token]) for tone, token in _TOKENS.items()}
        # An ansi theme has no quiet backgrounds: signs, bold and the gutter carry the meaning there.
        self._grounds = {} if ansi else {ground: _colour(variables[token]) for ground, token in _GROUNDS.items()}
        self._behind = {} if ansi else {tone: _colour(variables[token]) for tone, token in _BEHIND.items()}
        self._styles: dict[tuple[Tone, bool, bool, bool, bool, Ground], Style] = {}

    def style(self, span: Span, ground: Ground) -> Style:
        """Give the style of one span on its ground; faint text on the cursor row is lifted to muted to stay legible."""
        tone = Tone.MUTED if span.tone is Tone.FAINT and ground is Ground.CURSOR else span.tone
        key = (tone, span.bold, span.italic, span.solid, span.plain, ground)
        style = self._styles.get(key)
        if style is None:
            colour = self._colours[tone]
            own = colour if span.solid else self._behind.get(tone)
            behind = own if own is not None else None if span.plain else self._grounds.get(ground)
            # Where there are no grounds, lost text is told apart by its weight, besides its gutter.
            heavy = ground is Ground.LOST and not self._grounds and not span.plain
            style = Style(
                color=colour.rich_color,
                bgcolor=behind.rich_color if behind is not None else None,
                bold=span.bold or heavy or None,
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
