"""Logs what a person is asked, before he is asked, and what he answers."""

from __future__ import annotations

from dataclasses import replace

from core_eval.log import EpisodeLog
from firmware_bridge.approval import Approver, Question, Reply


class LoggedQuestions(Approver):
    """Asks another approver; each question is a row of the episode's log.

    Args:
        approver: asked, with the row's number in the question.
        episode: gets the rows.
    """

    def __init__(self, approver: Approver, episode: EpisodeLog) -> None:
        self.seconds = approver.seconds
        self._approver = approver
        self._episode = episode

    def ask(self, question: Question) -> Reply:
        """Ask; whatever ends the waiting, the row is answered."""
        number = self._episode.ask(question.text, question.reason, self.seconds)
        reply = Reply("refuse", "the end of the run")
        try:
            reply = self._approver.ask(replace(question, number=number))
        finally:
            self._episode.answer(number, reply.answer, reply.by)
        return reply
