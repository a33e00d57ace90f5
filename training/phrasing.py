"""How the prompts of the made-up episodes are worded. A task in these words is in the model's reach.

A prompt is a list of jobs, in the order in which they are to be done, put together by one of the `FRAMES`.
"""

from __future__ import annotations

from random import Random

WATER = (
    "water {plant} with {amount} liters",
    "water {plant} with {amount} liters of water",
    "give {plant} {amount} liters of water",
    "go to {plant} and water it with {amount} liters",
    "drive to {plant} and give it {amount} liters of water",
    "irrigate {plant} with {amount} liters",
)
SPRAY = (
    "spray {plant} with {amount} ml of pesticide",
    "spray {plant} with {amount} ml",
    "spray {amount} ml of pesticide on {plant}",
    "go to {plant} and spray it with {amount} ml of pesticide",
    "treat {plant} with {amount} ml of pesticide",
)
HARVEST = (
    "harvest {plant}",
    "harvest the fruit of {plant}",
    "go to {plant} and harvest its fruit",
    "pick the fruit of {plant}",
)
DUMP = (
    "dump the hopper at the collection_bin",
    "empty the hopper at the collection_bin",
    "bring the fruit to the collection_bin",
    "go to the collection_bin and dump the hopper",
    "dump the fruit",
)
REFILL_WATER = (
    "refill the water tank",
    "fill the water tank at the water_station",
    "go to the water_station and refill the water tank",
)
REFILL_PESTICIDE = (
    "refill the pesticide",
    "refill the pesticide tank at the pesticide_refill",
    "go to the pesticide_refill and fill the pesticide tank",
)
RECHARGE = (
    "recharge",
    "recharge the battery at the charging_pad",
    "go to the charging_pad and recharge",
    "charge the battery",
)
HOME = ("drive home", "go home", "return to the base", "move home", "drive back to the base")
VISIT_PLANT = ("drive to {plant}", "go to {plant}", "move to {plant}")
VISIT_STATION = ("drive to the {station}", "go to the {station}", "move to the {station}")
VISIT_POINT = ("drive to x {x}, y {y}", "go to x {x} y {y}", "move to ({x}, {y})")
INSPECT = ("inspect {plant}", "scan {plant}", "look at {plant}")
INSPECT_WATER = (
    "water {plant} with {amount} liters if it is dry",
    "inspect {plant} and water it with {amount} liters if its soil is dry",
    "scan {plant} and, if it is dry, give it {amount} liters of water",
)
INSPECT_SPRAY = (
    "spray {plant} with {amount} ml if it has pests",
    "inspect {plant} and spray it with {amount} ml of pesticide if it has pests",
    "scan {plant} and, if it has pests, spray it with {amount} ml",
)
INSPECT_HARVEST = (
    "harvest {plant} if it is ripe",
    "inspect {plant} and harvest it if it is ripe",
    "scan {plant} and, if it is ripe, harvest its fruit",
)
INSPECT_ALL = (
    "inspect {plants}, water each dry one with {liters} liters and spray each one with pests with {ml} ml",
    "scan {plants}; water those that are dry with {liters} liters and spray those with pests with {ml} ml",
)
READ_BATTERY = ("check the battery", "read the battery charge", "sense the battery")
READ_HOPPER = ("check the hopper", "see how much fruit is in the hopper", "sense the hopper")
READ_POSE = ("read the pose", "sense the pose", "check where you are")
READ_PLANTS = ("list the plants", "read the names of the plants")

MOVE_OBJECT = (
    "put {thing} into {bin}",
    "move {thing} to {bin}",
    "place {thing} in {bin}",
    "pick {thing} and place it in {bin}",
    "pick up {thing} and put it into {bin}",
)
PUT_AT = (
    "put {thing} at x {x}, y {y}, z {z}",
    "place {thing} at ({x}, {y}, {z})",
    "pick {thing} and place it at x {x} y {y} z {z}",
)
PICK = ("pick {thing}", "pick up {thing}", "take {thing}")
ARM_HOME = ("move home", "go home", "go to the rest pose", "return home", "move the arm home")
ARM_POINT = ("move to x {x}, y {y}, z {z}", "move the gripper to ({x}, {y}, {z})")
OPEN = ("open the gripper",)
CLOSE = ("close the gripper",)
READ_GRIPPER = ("check the gripper", "sense the gripper")
READ_OBJECTS = ("list the objects", "read the names of the objects")
READ_OBJECT = ("read the pose of {thing}", "inspect {thing}", "check where {thing} is")

UNLOCK = ("unlock the safety", "unlock the safety mode", "unlock")
LOCK = ("lock the safety", "lock the safety again", "lock it again", "lock the safety at the end")


def joined(names: list[str]) -> str:
    """Join words as "A, B and C"."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def say(rng: Random, wordings: tuple[str, ...], **parts: object) -> str:
    """Return one of the wordings; the first, plainest ones more often."""
    index = min(rng.randrange(len(wordings)), rng.randrange(len(wordings)))
    return wordings[index].format(**parts)


def prompt(rng: Random, jobs: list[str], *, locks: bool) -> str:
    """Return the jobs in one of the frames; `locks` says whether the safety is unlocked before and locked
    after.
    """
    if not locks:
        return _plain(rng, jobs)
    style = rng.random()
    unlock, lock = say(rng, UNLOCK), say(rng, LOCK)
    if style < 0.35:
        return _sentence(", ".join([unlock, *jobs])) + f", then {lock}."
    if style < 0.5:
        return _sentence(f"first {unlock}, then " + ", then ".join(jobs)) + f", and finally {lock}."
    if style < 0.65:
        return " ".join(_sentence(job) + "." for job in [unlock, *jobs, lock])
    if style < 0.72:
        return " ".join(f"{k}. {_sentence(job)}." for k, job in enumerate([unlock, *jobs, lock], start=1))
    if style < 0.84:
        return _plain(rng, jobs) + f" {_sentence(lock)} when done."
    return _plain(rng, jobs)


def _plain(rng: Random, jobs: list[str]) -> str:
    style = rng.randrange(3)
    if style == 0:
        return _sentence(jobs[0] if len(jobs) == 1 else ", ".join(jobs[:-1]) + ", then " + jobs[-1]) + "."
    if style == 1:
        return _sentence(jobs[0] if len(jobs) == 1 else ", ".join(jobs[:-1]) + " and " + jobs[-1]) + "."
    return " ".join(_sentence(job) + "." for job in jobs)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
