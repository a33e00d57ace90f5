"""The chip's own watchdog, and what reset it."""

import machine

CAUSES = {"PWRON_RESET": "power", "WDT_RESET": "watchdog", "HARD_RESET": "external"}


def reset_cause():
    """What started the chip, or None where it says nothing that the wire has a word for."""
    cause = machine.reset_cause()
    for name, word in CAUSES.items():
        if getattr(machine, name, None) == cause:
            return word
    return None


def watchdog(milliseconds):
    """The function to call within every so many milliseconds; otherwise the chip is reset, its pins off."""
    return machine.WDT(timeout=milliseconds).feed
