"""What is wrong with a page's layout, measured in a real browser: text too small, cut, or over other text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from real_browser import Tab

MEASURE = """(() => {
  for (const one of document.querySelectorAll("details")) one.open = true;
  const told = (one) => one.textContent.trim().replace(/\\s+/g, " ").slice(0, 60);
  const small = [], cut = [], over = [], wide = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !parent.getClientRects().length || parent.closest("svg, script"))
      continue;
    const size = parseFloat(getComputedStyle(parent).fontSize);
    if (size < 10) small.push([size, told(parent)]);
  }
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    if (!frame.width || svg.parentElement.closest("svg")) continue;
    const boxes = [];
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (!box.width) continue;
      const matrix = text.getScreenCTM();
      const size = parseFloat(getComputedStyle(text).fontSize) * Math.min(matrix.a, matrix.d);
      if (size < 10) small.push([size, told(text)]);
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 2 ||
          box.bottom > frame.bottom + 3) cut.push(told(text));
      for (const [other, words] of boxes) {
        const across = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const down = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        if (across > 2 && down > 4) over.push([words, told(text)]);
      }
      boxes.push([box, told(text)]);
    }
  }
  const view = document.documentElement.clientWidth;
  const scrolls = (one) =>
    one && (getComputedStyle(one).overflowX !== "visible" || scrolls(one.parentElement));
  for (const one of document.body.querySelectorAll("*")) {
    const box = one.getBoundingClientRect();
    if (box.width && box.right > view + 1 && !one.closest("svg svg, svg *") && !scrolls(one.parentElement))
      wide.push([Math.round(box.right), one.tagName, told(one)]);
  }
  return {small, cut, over, wide, page: document.documentElement.scrollWidth, view};
})()"""


@dataclass(frozen=True)
class Measures:
    """Findings by kind: text below 10 px, text cut off by its drawing, text over text, elements too wide."""

    small: list[Any]
    cut: list[Any]
    over: list[Any]
    wide: list[Any]
    page: int
    view: int

    @property
    def good(self) -> bool:
        """Whether nothing was found, and the page does not scroll sideways."""
        return not (self.small or self.cut or self.over or self.wide) and self.page <= self.view


def measured(tab: Tab, *, width: int, dark: bool = False) -> Measures:
    """The page at a width, with all details open."""
    tab.emulate(width=width, height=900, dark=dark)
    return Measures(**tab.run(MEASURE))
