"""What tests of looks measure: the background and the contrast of texts."""

BACKGROUND = "getComputedStyle(document.body).backgroundColor"
DARK, LIGHT = "rgb(21, 23, 27)", "rgb(255, 255, 255)"
_COLOURS = """(selector) => [...document.querySelectorAll(selector)]
    .filter(e => e.getClientRects().length)
    .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
    .map(e => {
      const rgb = c => c.match(/[\\d.]+/g).map(Number);
      let back = e, found;
      while ((found = rgb(getComputedStyle(back).backgroundColor))[3] === 0) {
        back = back.parentElement;
      }
      return [e.id || e.className || e.tagName, rgb(getComputedStyle(e).color), found];
    })"""


def check_contrast(page, selector, least):
    """Check at least so many texts for 4.5 to 1, as WCAG 2.2 (1.4.3) asks of small text."""
    colours = page.evaluate(_COLOURS, selector)
    assert len(colours) >= least
    assert [text for text in colours if _contrast(*text[1:]) < 4.5] == []


def _contrast(one, other):
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour):
    """The relative luminance of WCAG 2.2."""
    unit = [channel / 255 for channel in colour[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in unit]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
