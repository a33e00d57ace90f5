"""Words that only the held-out episodes use: no form of `training.wordings.SEEN` is among them."""

from __future__ import annotations

from training.held_out_situations import ARM_SITUATIONS_HELD_OUT, ROVER_SITUATIONS_HELD_OUT
from training.wordings import ArmWords, FrameWords, Job, RoverWords, Wordings

ROVER_HELD_OUT = RoverWords(
    water=Job(
        ("pump {amount} onto {plant}", "moisten {plant} with {amount}",
         "see to it that {plant} gets {amount}"),
        ("{plant} is short of water, by {amount}", "{amount} are what {plant} has to get"),
        ("{plant} has drunk {amount}",),
    ),
    spray=Job(
        ("fight the pests of {plant} with {amount}", "mist {plant} with {amount}"),
        ("the pests of {plant} call for {amount}", "{amount} are due on {plant}"),
        ("{plant} has received {amount}",),
    ),
    harvest=Job(
        ("reap {plant}", "clear {plant} of its fruit", "relieve {plant} of what is ripe"),
        ("the time to harvest {plant} has come", "the fruit that {plant} carries should come in"),
        ("nothing ripe is left on {plant}",),
    ),
    dump=Job(
        ("tip the fruit out at the collection_bin", "clear the hopper at the collection_bin"),
        ("the collection_bin is waiting for the fruit",),
        ("the hopper has been cleared",),
    ),
    refill_water=Job(
        ("replenish the water", "fetch water from the water_station"),
        ("the tank is low and wants water from the water_station",),
        ("the water has been replenished",),
    ),
    refill_pesticide=Job(
        ("replenish the pesticide", "fetch pesticide from the pesticide_refill"),
        ("the pesticide runs low and wants replenishing",),
        ("the pesticide has been replenished",),
    ),
    recharge=Job(
        ("load the battery at the charging_pad", "take on power at the charging_pad"),
        ("power is low and has to be taken on at the charging_pad",),
        ("power has been taken on",),
    ),
    home=Job(
        ("make your way back to the base", "bring yourself home"),
        ("the day ends at the base",),
        ("the rover stands at the base",),
    ),
    visit_plant=Job(("make for {plant}", "bring the rover up to {plant}"), ("{plant} is where I need you",)),
    visit_station=Job(("make for the {station}",), ("the {station} is where I need you",)),
    visit_point=Job(("make for x {x} / y {y}",), ("the spot ({x}, {y}) is where I need you",)),
    inspect=Job(("take a close look at {plant}",), ("how does {plant} look",)),
    water_if_dry=Job(
        ("find out if {plant} is dry, in which case {amount} go there",),
        ("only with dry soil is {plant} to have {amount}",),
    ),
    spray_if_pests=Job(
        ("find out if {plant} has pests, in which case {amount} go there",),
        ("only with pests is {plant} to have {amount}",),
    ),
    harvest_if_ripe=Job(
        ("find out if {plant} is ripe, in which case it is to be harvested",),
        ("only when ripe is {plant} to be harvested",),
    ),
    inspect_all=Job(("examine {plants}, giving {water} to the dry and {spray} to the infested ones",)),
    dump_if_full=Job(("find out if there is space in the hopper, and make some if not",)),
    recharge_if_low=Job(("find out if the charge is under {charge}, in which case you recharge",)),
    read_battery=Job(("look up the charge of the battery",), ("what charge is left",)),
    read_hopper=Job(("look into the hopper",), ("what is in the hopper",)),
    read_pose=Job(("look up your position",), ("which position are you at",)),
    read_plants=Job(("name all plants",), ("what plants do you know",)),
)  # fmt: skip

ARM_HELD_OUT = ArmWords(
    move_object=Job(
        ("tidy {thing} away to {bin}", "have {thing} end up in {bin}", "lift {thing} over into {bin}"),
        ("{thing} has its home in {bin}", "in {bin} there should be {thing}"),
        ("{thing} rests in {bin}",),
    ),
    put_at=Job(("shift {thing} to x {x} / y {y} / z {z}",), ("({x}, {y}, {z}) is the spot for {thing}",)),
    pick=Job(("lift {thing}", "seize {thing}")),
    place=Job(("leave it in {bin}", "let go of it in {bin}")),
    home=Job(
        ("let the arm rest", "withdraw to the rest pose"), ("home is where the arm ends",),
         ("the arm is back",)
    ),
    point=Job(("steer the gripper to ({x}, {y}, {z})",), ("({x}, {y}, {z}) is where the gripper is needed",)),
    open=Job(("make the gripper let go",)),
    close=Job(("make the gripper shut",)),
    read_gripper=Job(("look up the state of the gripper",), ("what does the gripper hold",)),
    read_objects=Job(("name all objects",), ("what objects do you know",)),
    read_object=Job(("look up the position of {thing}",), ("at what pose is {thing}",)),
)  # fmt: skip

FRAME_HELD_OUT = FrameWords(
    unlock=("disengage the safety", "free the machine by unlocking"),
    lock=("secure the machine again by locking", "re-lock the safety"),
    with_unlocked=("given an unlocked safety, ", "in the unlocked state "),
    lock_at_end=("Make sure that it is locked in the end.", "What remains is to lock the safety."),
    both=("Keep the safety unlocked no longer than needed.",
          "Before all this comes the unlocking, behind it the locking.",
          "Unlocking is the first thing and locking the last one."),
    polite=("it would be nice of you to ", "here is what you do: ", "do me the favour and "),
    thanks=("Much obliged.", "Cheers."),
    asides=("The sky is grey.", "My colleague asked for this.", "There is no hurry at all."),
    first=("for a start ", "number one: "),
    next=("following that, ", "subsequently "),
    last=("to finish, ", "as the last step "),
    before=("prior to the moment when you {later}, {earlier}", "{earlier} so that you can {later}"),
    after=("{done}? {later}", "the moment {done}, {later}"),
    named=("{name}", "the {kind} that is known as {name}", "{kind} {name}"),
)  # fmt: skip

HELD_OUT_WORDS = Wordings(
    ROVER_HELD_OUT, ARM_HELD_OUT, FRAME_HELD_OUT, ROVER_SITUATIONS_HELD_OUT, ARM_SITUATIONS_HELD_OUT
)
