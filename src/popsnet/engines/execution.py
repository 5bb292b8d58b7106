"""A router or a scheduler on the machine: one slot after another, with observers and traces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from popsnet.base.errors import InputError
from popsnet.model.machine import Machine
from popsnet.model.slot import Slot
from popsnet.programs.register import exit_of
from popsnet.trace import Event, Observer, TraceWriter, records, wavelengths

ENDED = object()
"""What a program yields when it has ended."""


class Execution:
    """A program that runs on a machine.

    Parameters
    ----------
    kind : {"router", "scheduler"}
        What it is, for messages.
    name : str
        Its name.
    machine : Machine
        The machine.
    observers : sequence of Observer
        Get an event per slot. Those that write traces also get what was missed, kept and dropped.
    """

    def __init__(
        self, kind: str, name: str, machine: Machine, observers: Sequence[Observer] = ()
    ) -> None:
        self.kind, self.name, self.machine = kind, name, machine
        self.traces = [observer for observer in observers if isinstance(observer, TraceWriter)]
        self._observers = observers
        if self.traces:
            machine.memory.keep_journal()

    def start(self, running: Any) -> Any:
        """Start the generator of the program, and return what it yields first."""
        self._running = running
        return self.resume(None)

    def resume(self, value: Any) -> Any:
        """Send a value to the program, return what it yields or ``ENDED``, and mark exceptions."""
        try:
            return self._running.send(value)
        except StopIteration:
            return ENDED
        except SystemExit as error:
            raise InputError(exit_of(self.kind, self.name, error)) from error
        except Exception as error:
            error.add_note(f"This was raised while {self.kind} {self.name} ran.")
            raise

    def execute(self, slot: Slot) -> Any:
        """Execute a slot, resume the program with what was heard, and return what it yields."""
        machine = self.machine
        inbox = machine.execute(slot)
        if self._observers:
            done = machine.executed or slot
            tuned = partial(wavelengths, done) if machine.network.wavelengths > 1 else None
            number, waiting = machine.counters.slots, machine.memory.waiting
            seen = partial(records, done), tuned, done.total_control_bits
            event = Event(number, slot.phase, slot.step, waiting, *seen)
            for observe in self._observers:
                observe(event)
        for trace in self.traces:
            trace.miss(machine.medium.misses.tolist())
        yielded = self.resume(inbox)
        for trace in self.traces:
            trace.settle(*machine.memory.read_journal())
        return yielded

    def close(self) -> None:
        """End the program."""
        self._running.close()
