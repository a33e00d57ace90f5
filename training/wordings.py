"""The words of the made-up prompts: what a job, the lock and the order of jobs are called.

`SEEN` is what the shipped models are trained on. `training.held_out_wordings` has words for the same things
that only the held-out episodes use. No wording of six words or more stands in a shipped task
(`tests/training/test_held_out.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from training.situation_wordings import ARM_SITUATIONS, ROVER_SITUATIONS, ArmSituations, RoverSituations


@dataclass(frozen=True, slots=True)
class Job:
    """A job in several forms; names and amounts stand in braces.

    Attributes:
        orders: what one is told to do: "water {plant}". It can follow "you".
        statements: a whole clause: "{plant} needs {amount}".
        done: a clause that says it is over, after "once" or "when": "{plant} is watered".
    """

    orders: tuple[str, ...]
    statements: tuple[str, ...] = ()
    done: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoverWords:
    """The jobs of the rover."""

    water: Job
    spray: Job
    harvest: Job
    dump: Job
    refill_water: Job
    refill_pesticide: Job
    recharge: Job
    home: Job
    visit_plant: Job
    visit_station: Job
    visit_point: Job
    inspect: Job
    water_if_dry: Job
    spray_if_pests: Job
    harvest_if_ripe: Job
    inspect_all: Job
    dump_if_full: Job
    recharge_if_low: Job
    read_battery: Job
    read_hopper: Job
    read_pose: Job
    read_plants: Job


@dataclass(frozen=True, slots=True)
class ArmWords:
    """The jobs of the arm."""

    move_object: Job
    put_at: Job
    pick: Job
    place: Job
    home: Job
    point: Job
    open: Job
    close: Job
    read_gripper: Job
    read_objects: Job
    read_object: Job


@dataclass(frozen=True, slots=True)
class FrameWords:
    """What holds the jobs of a prompt together.

    Attributes:
        unlock, lock: orders.
        with_unlocked: what stands before an order and says that the safety is off.
        lock_at_end: sentences at the end of a prompt.
        both: sentences about both ends, before or after the jobs; alternatives stand in brackets.
        polite: what stands before an order; it goes on in lower case.
        thanks: last words that ask for nothing.
        asides: sentences that ask for nothing.
        first, next, last: what a sentence or a clause of a sequence begins with.
        before: a later job and an earlier one, in that order of the words: "before you {later}, {earlier}".
        after: an earlier job and a later one: "once {done}, {later}".
        named: how a name is introduced; `{name}` alone is the plainest.
    """

    unlock: tuple[str, ...]
    lock: tuple[str, ...]
    with_unlocked: tuple[str, ...]
    lock_at_end: tuple[str, ...]
    both: tuple[str, ...]
    polite: tuple[str, ...]
    thanks: tuple[str, ...]
    asides: tuple[str, ...]
    first: tuple[str, ...]
    next: tuple[str, ...]
    last: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    named: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wordings:
    """All words of a set of prompts."""

    rover: RoverWords
    arm: ArmWords
    frame: FrameWords
    rover_situations: RoverSituations
    arm_situations: ArmSituations


ROVER_SEEN = RoverWords(
    water=Job(
        ("water {plant} with {amount}", "give {plant} {amount}", "irrigate {plant} with {amount}",
         "drive to {plant}, where {amount} are needed", "drive over to {plant} and give it {amount}",
         "pour {amount} on {plant}", "put {amount} on {plant}", "let {plant} have {amount}",
         "supply {plant} with {amount}", "bring {amount} to {plant}", "water {plant} ({amount})",
         "apply {amount} to {plant}"),
        ("{plant} needs {amount}", "{plant} gets {amount}", "{plant} must get {amount}",
         "{plant} is to be watered with {amount}", "{plant} should have {amount}",
         "{plant} is thirsty: {amount}", "{amount} for {plant}", "{amount} should go to {plant}",
         "{amount} must be given to {plant}", "{plant} wants {amount}", "{plant} has to be given {amount}",
         "I want {plant} watered, {amount}", "{plant}: {amount}", "{plant} receives {amount}"),
        ("{plant} has its {amount}", "{plant} has been watered with {amount}", "{plant} got {amount}",
         "{plant} is watered ({amount})"),
    ),
    spray=Job(
        ("spray {plant} with {amount}", "spray {amount} on {plant}", "treat {plant} with {amount}",
         "go to {plant} and spray it with {amount}", "put {amount} on {plant} against the pests",
         "use {amount} on {plant}", "apply {amount} to {plant}", "dose {plant} with {amount}",
         "give {plant} {amount}"),
        ("{plant} needs {amount}", "{plant} must be sprayed with {amount}", "{plant} gets {amount}",
         "{plant} is to be treated with {amount}", "{amount} should go on {plant}",
         "there are bugs on {plant}, so use {amount} there", "{amount} for {plant}",
         "{plant} has pests and needs {amount}", "I want {amount} sprayed on {plant}"),
        ("{plant} has had {amount}", "{plant} has been sprayed with {amount}", "{amount} are on {plant}"),
    ),
    harvest=Job(
        ("harvest {plant}", "harvest the fruit of {plant}", "go to {plant} and harvest it",
         "pick the fruit from {plant}", "pick {plant}", "gather the fruit of {plant}",
         "collect what is ripe on {plant}", "take the fruit off {plant}", "bring in the fruit of {plant}"),
        ("{plant} is ripe and has to be harvested", "{plant} is to be harvested", "{plant} must be picked",
         "the fruit of {plant} has to come off", "{plant} is ready for harvest",
         "I want the fruit of {plant}", "{plant} should be picked now",
         "the fruit on {plant} should be gathered"),
        ("{plant} is harvested", "{plant} has been picked", "the fruit of {plant} is in the hopper"),
    ),
    dump=Job(
        ("dump the hopper", "dump the hopper in the collection_bin", "empty the hopper",
         "empty the hopper into the collection_bin",
         "bring the fruit to the collection_bin", "drive to the collection_bin and dump the hopper",
         "dump the fruit", "unload at the collection_bin", "carry the fruit to the collection_bin",
         "drop the load at the collection_bin", "dump it at the collection_bin",
         "take the harvest to the collection_bin"),
        ("the hopper is to be emptied", "the fruit must go to the collection_bin",
         "the harvest has to end up in the collection_bin", "the hopper should be dumped",
         "the hopper must be unloaded at the collection_bin", "everything goes into the collection_bin"),
        ("the hopper is empty", "the fruit is in the collection_bin", "the hopper has been dumped"),
    ),
    refill_water=Job(
        ("refill the water tank", "fill the water tank at the water_station", "top up the water",
         "go to the water_station and refill the tank", "fill the tank with water", "get new water",
         "refill with water at the water_station", "take on water"),
        ("the water tank needs a refill", "the water tank has to be filled",
         "more water is needed in the tank",
         "the tank must be full of water again"),
        ("the water tank is full", "the tank has been refilled with water"),
    ),
    refill_pesticide=Job(
        ("refill the pesticide", "refill the pesticide tank", "top up the pesticide",
         "go to the pesticide_refill and fill the tank", "fill up with pesticide",
         "fill the pesticide tank at the pesticide_refill", "get new pesticide"),
        ("the pesticide tank needs a refill", "the pesticide must be topped up",
         "the pesticide tank has to be full again"),
        ("the pesticide tank is full", "the pesticide has been refilled"),
    ),
    recharge=Job(
        ("recharge", "charge the battery", "recharge the battery", "drive to the charging_pad and charge up",
         "charge at the charging_pad", "go charge", "fill the battery at the charging_pad",
         "top up the battery"),
        ("the battery has to be charged", "the rover needs a charge", "the battery must be full again",
         "a charge at the charging_pad is due"),
        ("the battery is full", "the rover is charged"),
    ),
    home=Job(
        ("drive home", "go home", "return to the base", "move home", "come back home", "go back to base",
         "drive back to the base", "park at the base", "head home", "end up at the base"),
        ("the rover should be at the base", "the rover is to drive home",
         "the rover belongs at the base then",
         "the rover returns to its base"),
        ("the rover is home", "you are back at the base"),
    ),
    visit_plant=Job(
        ("drive to {plant}", "go to {plant}", "move to {plant}", "head for {plant}", "drive up to {plant}",
         "visit {plant}", "stop at {plant}"),
        ("the rover should go to {plant}", "I need the rover at {plant}"),
        ("you are at {plant}",),
    ),
    visit_station=Job(
        ("drive to the {station}", "go to the {station}", "move to the {station}", "head for the {station}",
         "stop at the {station}"),
        ("the rover should go to the {station}", "I need the rover at the {station}"),
        ("you are at the {station}",),
    ),
    visit_point=Job(
        ("drive to x {x}, y {y}", "drive to x {x} y {y}", "move to ({x}, {y})", "drive to the point {x}, {y}",
         "drive to x={x}, y={y}", "move to x {x} and y {y}"),
        ("the rover should stand at ({x}, {y})", "I need the rover at x {x}, y {y}"),
        ("you are at ({x}, {y})",),
    ),
    inspect=Job(
        ("inspect {plant}", "scan {plant}", "look at {plant}", "have a look at {plant}", "examine {plant}",
         "check on {plant}"),
        ("{plant} is to be scanned", "I want to know how {plant} is doing", "{plant} needs a look"),
        ("{plant} has been scanned",),
    ),
    water_if_dry=Job(
        ("water {plant} with {amount} if it is dry", "scan {plant}, and if it is dry, water it with {amount}",
         "look at {plant} and give it {amount} only when the soil is dry",
         "check the soil of {plant} and pour {amount} if it is dry",
         "inspect {plant}; in case it is dry it gets {amount}",
         "if {plant} is dry, give it {amount}", "scan {plant} and water it ({amount}) unless it is wet"),
        ("{plant} gets {amount} if it is dry", "should {plant} be dry, it needs {amount}",
         "{plant} may have {amount}, but only with dry soil"),
    ),
    spray_if_pests=Job(
        ("spray {plant} with {amount} if it has pests",
         "scan {plant}, and if it has pests, spray it with {amount}",
         "look at {plant} and use {amount} only when there are pests",
         "if {plant} has pests, treat it with {amount}",
         "check {plant} for pests and spray {amount} if there are any"),
        ("{plant} gets {amount} if it has pests", "should {plant} have pests, it needs {amount}"),
    ),
    harvest_if_ripe=Job(
        ("harvest {plant} if it is ripe", "scan {plant}, and if it is ripe, harvest it",
         "look at {plant} and pick it only when it is ripe", "if {plant} is ripe, pick its fruit",
         "see whether {plant} is ripe and harvest it if so"),
        ("{plant} is to be picked if it is ripe", "should {plant} be ripe, it has to be harvested"),
    ),
    inspect_all=Job(
        ("scan {plants}, water each dry one with {water} and spray each one with pests with {spray}",
         "look at {plants}; those that are dry get {water}, those with pests {spray}",
         "check {plants} one after the other: {water} where it is dry, {spray} where there are pests"),
    ),
    dump_if_full=Job(
        ("sense the hopper and dump it if it is full",
         "check the hopper; if it is full, empty it at the collection_bin",
         "with a full hopper, dump first", "look whether the hopper is full; empty it if so"),
        ("should the hopper be full, it has to be emptied",),
    ),
    recharge_if_low=Job(
        ("sense the battery and recharge below {charge}",
         "check the battery; under {charge} it has to be charged",
         "with less charge than {charge}, recharge",
         "read the battery, and recharge if it is under {charge}"),
        ("with a charge below {charge} the rover must recharge",),
    ),
    read_battery=Job(
        ("check the battery", "read the battery charge", "sense the battery", "see how full the battery is",
         "tell me the charge"),
        ("I want to know the charge", "how is the battery"),
    ),
    read_hopper=Job(
        ("check the hopper", "see how much fruit is in the hopper", "sense the hopper", "read the hopper"),
        ("I want to know what the hopper holds", "how full is the hopper"),
    ),
    read_pose=Job(
        ("read the pose", "sense the pose", "check where you are", "tell me where the rover is"),
        ("where is the rover", "I want to know where the rover stands"),
    ),
    read_plants=Job(
        ("list the plants", "read the names of the plants", "tell me which plants there are"),
        ("which plants are there", "I need the list of plants"),
    ),
)  # fmt: skip

ARM_SEEN = ArmWords(
    move_object=Job(
        ("put {thing} into {bin}", "move {thing} to {bin}", "place {thing} in {bin}",
         "pick {thing}, then place it in {bin}", "pick {thing} up and get it into {bin}",
         "bring {thing} to {bin}", "carry {thing} over to {bin}", "drop {thing} into {bin}",
         "take {thing} and lay it in {bin}", "get {thing} into {bin}", "sort {thing} into {bin}",
         "transfer {thing} to {bin}", "clear {thing} away into {bin}", "store {thing} in {bin}",
         "fill {bin} with {thing}"),
        ("{thing} goes into {bin}", "{thing} should be in {bin}", "{thing} must go to {bin}",
         "{thing} is to be moved to {bin}", "{bin} is the place for {thing}", "I want {thing} in {bin}",
         "{bin} should hold {thing}", "{thing} has to be put in {bin}", "{thing} -> {bin}",
         "the right place for {thing} is {bin}", "{bin} receives {thing}", "{thing} to {bin}"),
        ("{thing} is in {bin}", "{thing} has been put into {bin}", "{bin} has {thing}"),
    ),
    put_at=Job(
        ("put {thing} at x {x}, y {y}, z {z}", "place {thing} at ({x}, {y}, {z})",
         "pick {thing} and set it at x {x} y {y} z {z}", "move {thing} to ({x}, {y}, {z})",
         "set {thing} down at x={x}, y={y}, z={z}", "lay {thing} at ({x}, {y}, {z})",
         "carry {thing} to ({x}, {y}, {z}) and put it down"),
        ("{thing} should stand at ({x}, {y}, {z})", "{thing} must go to x {x}, y {y}, z {z}",
         "{thing} belongs at ({x}, {y}, {z})", "the new place of {thing} is ({x}, {y}, {z})",
         "I want {thing} at x {x}, y {y}, z {z}"),
        ("{thing} is at ({x}, {y}, {z})",),
    ),
    pick=Job(("pick {thing}", "pick up {thing}", "take {thing}", "grab {thing}", "grip {thing}")),
    place=Job(("place it in {bin}", "put it into {bin}", "set it down in {bin}", "drop it in {bin}")),
    home=Job(
        ("move home", "go home", "go to the rest pose", "return home", "move the arm home",
         "bring the arm to rest", "take up the rest pose", "park the arm", "move back to the rest pose"),
        ("the arm should rest", "the arm has to be at home", "the arm returns to its rest pose",
         "the rest pose is where the arm ends"),
        ("the arm is home", "the arm rests"),
    ),
    point=Job(
        ("move to x {x}, y {y}, z {z}", "move the gripper to ({x}, {y}, {z})", "go to ({x}, {y}, {z})",
         "move to x={x}, y={y}, z={z}", "bring the gripper to x {x} y {y} z {z}"),
        ("the gripper should be at ({x}, {y}, {z})",),
        ("the gripper is at ({x}, {y}, {z})",),
    ),
    open=Job(("open the gripper", "open the fingers", "spread the gripper"), ("the gripper should be open",)),
    close=Job(("close the gripper", "close the fingers", "shut the gripper"),
               ("the gripper should be closed",)),
    read_gripper=Job(
        ("check the gripper", "sense the gripper", "see whether the gripper holds something"),
        ("is the gripper open", "I want to know the state of the gripper"),
    ),
    read_objects=Job(
        ("list the objects", "read the names of the objects", "tell me what is there",
         "see which objects there are", "read the list of objects"),
        ("which objects are there", "I need to know what there is"),
    ),
    read_object=Job(
        ("read the pose of {thing}", "inspect {thing}", "check where {thing} is", "look where {thing} is",
         "find {thing}", "get the pose of {thing}", "locate {thing}"),
        ("where is {thing}", "I want to know where {thing} is", "tell me the pose of {thing}"),
    ),
)  # fmt: skip

FRAME_SEEN = FrameWords(
    unlock=("unlock the safety", "unlock the safety mode", "unlock", "release the safety",
            "take the safety off",
            "open the safety lock"),
    lock=("lock the safety", "lock the safety again", "lock it again", "lock", "put the safety back on",
          "lock up", "lock everything again", "engage the safety"),
    with_unlocked=("while the safety is off, ", "after unlocking, ", "having unlocked the safety, ",
                   "with the safety off, ", "as soon as the safety is off, ", "once unlocked, ",
                   "when you have unlocked, "),
    lock_at_end=("Lock the safety when done.", "Lock at the end.",
                 "When everything is done, lock the safety.",
                 "The safety must be locked in the end.", "Then lock.", "Do not forget to lock.",
                 "Leave the safety locked.", "After that the safety goes on again.", "And lock it.",
                 "Lock it after that."),
    both=("Unlock the safety for this and lock it afterwards.", "Unlock at the start, lock when finished.",
          "Unlock the safety beforehand and lock it when you are through.",
          "The safety must be off for this; put it on again when done.", "Remember to unlock, and to lock.",
          "First comes unlocking, last comes locking.",
          "The safety must be off meanwhile: unlock it, then lock it.",
          "The safety is locked now: unlock it, and lock it in the end.",
          "Take the safety off for the work and put it on again.",
          "Unlocking comes before, locking after.", "You will have to unlock; lock again at the end.",
          "Safety: unlock, then work, then lock.",
          "Unlock before[,| and] lock after[wards|].",
          "Unlock [first|at first][,| and] lock [last|at last|at the end].",
          "[Unlock|Unlock the safety] [for it|for this|for the work|before that], [and |][lock|lock it] "
          "[when done|then|at the end].",
          "[The|For this the] safety is [unlocked|off] [before|at the start] and [locked|on] [again "
          "after|at the end].",
          "The safety: [unlocked|off] [for the work|meanwhile], [locked|on] [after|at the end].",
          "[Begin|Start] [with unlocking|by unlocking][,| and] [end|finish] [with locking|by locking].",
          "Unlock to [start|begin with], lock to [finish|end with].",
          "[The safety has to be|The safety must be|Keep the safety] unlocked [for all that|while you "
          "work][,| and] [lock it|it is to be locked] [afterwards|at the end].",
          "[It takes|This takes|That needs] an unlocked safety; [lock|lock it] [in the end|when you are "
          "done].",
          "Lock the safety [only |]when all [this |]is done; [begin|start] [with unlocking it|by "
          "unlocking it]."),
    polite=("please ", "could you ", "kindly ", "I would like you to ", "can you ", "you should ",
            "I need you to ",
            "your job: ", "would you ", "be so good and ", "now ", "next you will "),
    thanks=("Thanks.", "Thank you.", "That is all.", "Please."),
    asides=("It is a fine day.", "Be careful.", "Take your time.", "There was no rain this week.",
            "Nobody else is here.", "We have guests later.", "This is for tomorrow.", "It has been warm.",
            "I checked the machine.", "Work as usual.", "The rest can wait.", "Leave all else as it is."),
    first=("first ", "to begin with, ", "at first ", "start: ", "initially "),
    next=("then ", "after that ", "next ", "afterwards ", "and then ", "thereafter ", "second, "),
    last=("finally ", "at last ", "in the end ", "lastly ", "last of all "),
    before=("before you {later}, {earlier}", "{later}, but {earlier} first", "{later} after you {earlier}",
            "do not {later} until you {earlier}", "you may {later} only after you {earlier}"),
    after=("once {done}, {later}", "when {done}, {later}", "as soon as {done}, {later}",
           "{later} when {done}", "{later} as soon as {done}"),
    named=("{name}", "the {kind} {name}", "the {kind} called {name}", "{name} (a {kind})",
           "the {kind} named {name}"),
)  # fmt: skip

SEEN = Wordings(ROVER_SEEN, ARM_SEEN, FRAME_SEEN, ROVER_SITUATIONS, ARM_SITUATIONS)
