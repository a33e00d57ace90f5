"""Prompts out of jobs: each job in one of its forms, in one of several orders of words, with the lock around.

The jobs are to be done in the order in which they are given here, whatever order the prompt names them in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from training.alternatives import drawn
from training.wordings import FrameWords, Job

NAME_NOUN = re.compile(r"([A-Za-z]+)(?:_(\w+))?")
QUESTIONS = ("could", "can", "would", "how", "where", "which", "what", "is")
DESCRIBED = 0.15
ASIDE = 0.08


@dataclass(frozen=True, slots=True)
class Said:
    """A job in words.

    Attributes:
        order: what one is told to do.
        statement: a whole clause, or "".
        done: a clause that says it is over, or "".
    """

    order: str
    statement: str = ""
    done: str = ""


Act = Callable[[], None]
Work = tuple[Said, Act]
"""A job: its words, and what does it."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """Draws words; all draws are the generator's."""

    rng: Random
    frame: FrameWords

    def job(self, job: Job, /, **slots: object) -> Said:
        """Return a job in one of its forms each."""
        return Said(*(self._one(forms, slots) for forms in (job.orders, job.statements, job.done)))

    def name(self, name: str) -> str:
        """Return a name, sometimes with what it is: "the plant plant_A"."""
        if self.rng.random() >= DESCRIBED:
            return name
        found = NAME_NOUN.match(name)
        kind, more = (found[1], found[2]) if found else (name, None)
        if more is None:
            return f"the {name}"
        if more.isalpha() and len(more) > 2 and self.rng.random() < 0.6:
            described = f"the {more} {kind}"
            return self.rng.choice((f"{described} ({name})", f"{described}, {name}", described))
        return self.rng.choice(self.frame.named).format(name=name, kind=kind)

    def prompt(self, jobs: Sequence[Said], *, locks: bool) -> str:
        """Return the prompt of jobs; `locks` says whether the safety is unlocked before and locked after."""
        rng, frame = self.rng, self.frame
        style = 0.9 * rng.random() if locks else 1.0
        unlock, lock = Said(rng.choice(frame.unlock)), Said(rng.choice(frame.lock))
        if style < 0.3:
            text = self._sequence([unlock, *jobs, lock])
        elif style < 0.42:
            text = _sentence(rng.choice(frame.with_unlocked) + self._clauses([*jobs, lock]))
        elif style < 0.54:
            text = _sentence(rng.choice(frame.with_unlocked) + self._clauses(jobs))
            text += " " + rng.choice(frame.lock_at_end)
        elif style < 0.66:
            text = f"{drawn(rng, rng.choice(frame.both))} {self._sequence(jobs)}"
        elif style < 0.8:
            text = f"{self._sequence(jobs)} {drawn(rng, rng.choice(frame.both))}"
        elif style < 0.9:
            text = f"{_sentence(unlock.order)} {self._sequence(jobs)} {rng.choice(frame.lock_at_end)}"
        else:
            text = self._sequence(jobs)
        text = self._with_aside(text)
        if rng.random() < 0.06:
            text += f" {rng.choice(frame.thanks)}"
        return self._careless(text)

    def told(
        self, jobs: Sequence[Work], look: Work | None, *, locks: bool, apart: float
    ) -> tuple[str, list[Act], list[Act]]:
        """Return the prompt of jobs, what is done before the safety is unlocked, and what after it.

        Args:
            jobs: in their order.
            look: a reading before them.
            locks: as in `prompt`.
            apart: how often the look has a sentence of its own, and is made before unlocking.
        """
        acts = [act for _, act in jobs]
        said = [words for words, _ in jobs]
        if look is None:
            return self.prompt(said, locks=locks), [], acts
        if self.rng.random() < apart:
            first = self.prompt([look[0]], locks=False)
            return f"{first} {self.prompt(said, locks=locks)}", [look[1]], acts
        return self.prompt([look[0], *said], locks=locks), [], [look[1], *acts]

    def plain(self, jobs: Sequence[Said]) -> str:
        """Return the prompt of jobs, with no word of the safety."""
        return self._careless(self._sequence(jobs))

    def situation(self, texts: Sequence[str], **slots: str) -> str:
        """Return one of the texts, its alternatives drawn and its slots filled; slots in capitals too."""
        capitals = {name.capitalize(): first_upper(text) for name, text in slots.items() if text}
        return drawn(self.rng, self.rng.choice(texts)).format(**slots, **capitals)

    def locked(self, text: str) -> str:
        """Return the text with words about the safety round it: unlocked before, locked after."""
        rng, frame, style = self.rng, self.frame, self.rng.random()
        if style < 0.5:
            text = f"{text} {drawn(rng, rng.choice(frame.both))}"
        elif style < 0.7:
            text = f"{drawn(rng, rng.choice(frame.both))} {text}"
        elif style < 0.85:
            text = f"{_sentence(rng.choice(frame.unlock))} {text} {rng.choice(frame.lock_at_end)}"
        else:
            rest = text if text.startswith("I ") else first_lower(text)
            text = f"{_sentence(rng.choice(frame.with_unlocked) + rest)[:-1]} {rng.choice(frame.lock_at_end)}"
        return self._careless(self._with_aside(text))

    def _sequence(self, jobs: Sequence[Said]) -> str:
        rng, style = self.rng, self.rng.random()
        if len(jobs) > 1 and style < 0.12:
            mark = rng.choice(("{k}. ", "{k}) ", "- "))
            end, gap = rng.choice(((".", " "), ("", "\n"), (";", " ")))
            return gap.join(
                mark.format(k=k) + first_upper(self._plain(job)) + end for k, job in enumerate(jobs, start=1)
            )
        if len(jobs) > 1 and style < 0.28:
            return self._turned(jobs)
        if len(jobs) > 1 and style < 0.55:
            return self._sentences(jobs)
        if len(jobs) == 1 and style < 0.5 and jobs[0].statement:
            return _sentence(jobs[0].statement)
        return _sentence(self._polite() + self._clauses(jobs))

    def _clauses(self, jobs: Sequence[Said]) -> str:
        """Return orders in one clause."""
        rng, orders = self.rng, [job.order for job in jobs]
        if len(orders) == 1:
            return orders[0]
        between = rng.choice((", ", ", ", "; ", " and ", ", then ", ", and then ", " - then "))
        end = rng.choice(
            (", then ", " and ", ", and ", "; then ", ", and finally ", "; ", ", ", " and then ")
        )
        start = "first " if rng.random() < 0.2 else ""
        return start + between.join(orders[:-1]) + end + orders[-1]

    def _sentences(self, jobs: Sequence[Said]) -> str:
        rng, frame = self.rng, self.frame
        said, marked = [], rng.random() < 0.5
        for k, job in enumerate(jobs):
            words = frame.first if k == 0 else frame.last if k == len(jobs) - 1 else frame.next
            lead = rng.choice(words) if marked and rng.random() < 0.8 else ""
            if lead or rng.random() < 0.55 or not job.statement:
                text = (lead or self._polite()) + job.order
            else:
                text = job.statement
            said.append(_sentence(text))
        return " ".join(said)

    def _turned(self, jobs: Sequence[Said]) -> str:
        """Return jobs of which two are tied by "before" or "after", so that the later may be named first."""
        rng = self.rng
        at = rng.randrange(len(jobs) - 1)
        earlier, later = jobs[at], jobs[at + 1]
        if earlier.done and rng.random() < 0.4:
            tied = rng.choice(self.frame.after).format(done=earlier.done, later=later.order)
        else:
            tied = rng.choice(self.frame.before).format(earlier=earlier.order, later=later.order)
        parts = [self._sentences(jobs[:at])] if at else []
        parts.append(_sentence(tied))
        if rest := jobs[at + 2 :]:
            parts.append(_sentence(rng.choice(self.frame.next) + self._clauses(rest)))
        return " ".join(parts)

    def _plain(self, job: Said) -> str:
        return job.statement if job.statement and self.rng.random() < 0.3 else job.order

    def _polite(self) -> str:
        return self.rng.choice(self.frame.polite) if self.rng.random() < 0.2 else ""

    def _one(self, forms: tuple[str, ...], slots: dict[str, object]) -> str:
        return self.rng.choice(forms).format(**slots) if forms else ""

    def _with_aside(self, text: str) -> str:
        """Return the text, sometimes with a sentence that asks for nothing."""
        if self.rng.random() >= ASIDE:
            return text
        aside = self.rng.choice(self.frame.asides)
        return f"{aside} {text}" if self.rng.random() < 0.5 else f"{text} {aside}"

    def _careless(self, text: str) -> str:
        """Return the prompt, sometimes without capitals at its start or a stop at its end."""
        style = self.rng.random()
        if style < 0.05:
            return text[0].lower() + text[1:]
        return text.rstrip(".") if style < 0.1 else text


def joined(names: Sequence[str]) -> str:
    """Join words as "A, B and C"."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _sentence(text: str) -> str:
    return first_upper(text) + ("?" if text.split(" ", 1)[0] in QUESTIONS else ".")


def first_upper(text: str) -> str:
    """Return the text with a capital at its start."""
    return text[0].upper() + text[1:]


def first_lower(text: str) -> str:
    """Return the text without a capital at its start."""
    return text[0].lower() + text[1:]
