"""Plug-ins that misbehave, installed for a process by a folder on its PYTHONPATH."""

from pathlib import Path

METRICS = ("spin", "sleepy", "stuck_in_c", "suicidal", "greedy")
CODE = '''
import ctypes, os, signal, time
from dataclasses import dataclass
from typing import ClassVar
from evergold.model.run import Attempt, Measurement


class Misbehaving:
    version: ClassVar[str] = "1"

    def measure(self, case, attempt):
        if case.id != "bad":
            return Measurement.of(1.0)
        self.misbehave()
        return Measurement.of(0.0)


@dataclass(frozen=True)
class Spin(Misbehaving):
    def misbehave(self):
        while True:
            pass


@dataclass(frozen=True)
class Sleepy(Misbehaving):
    def misbehave(self):
        time.sleep(100_000)


@dataclass(frozen=True)
class StuckInC(Misbehaving):
    """A call that holds the interpreter and never returns: no signal handler of Python runs."""

    def misbehave(self):
        libc, lock = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
        libc.pthread_mutex_lock(lock)
        libc.pthread_mutex_lock(lock)


@dataclass(frozen=True)
class Suicidal(Misbehaving):
    def misbehave(self):
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Greedy(Misbehaving):
    def misbehave(self):
        # More than there may be, in one piece: touching it page by page takes long where the machine is busy.
        bytes(64 << 30)


class BlockingTarget:
    """Blocks the event loop of whoever calls it."""

    identity = "blocking"

    async def attempt(self, case, trial, seed):
        while True:
            pass


def make_blocking(address, params, settings):
    return BlockingTarget()


class DyingTarget:
    identity = "dying"

    async def attempt(self, case, trial, seed):
        os._exit(3)


def make_dying(address, params, settings):
    return DyingTarget()
'''
POINTS = """[evergold.metrics]
spin = misbehaving:Spin
sleepy = misbehaving:Sleepy
stuck_in_c = misbehaving:StuckInC
suicidal = misbehaving:Suicidal
greedy = misbehaving:Greedy

[evergold.targets]
blocking = misbehaving:make_blocking
dying = misbehaving:make_dying
"""


def install(folder: Path) -> Path:
    """Write the package and its metadata as an installer would; gives the folder for PYTHONPATH."""
    info = folder / "misbehaving-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "misbehaving.py").write_text(CODE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: misbehaving\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    return folder
