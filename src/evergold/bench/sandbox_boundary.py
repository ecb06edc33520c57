"""Pass plain values between the process that runs the tests and the process that runs the answer.

This file runs inside both sandboxes, with the standard library alone. Tests use the answer's names as before; each stands
for an object in the other process. Plain values are copied and have an exact type. Anything else arrives as a `RemoteObject`,
which the tests use by its methods and attributes, but which never compares itself with a plain value: that would be the
answer's word. What else a test takes from the answer is decided by the text of the test (`_Uses`), never by the answer: its
names, and the operators of its classes (`Money(5) + 1`), which answer for objects that the test itself made.

The answer owns its side and may send anything. So the tests' side does no more for it than call, read and change objects
that a test passed over, without names that begin with an underscore, frames, code or modules, from which a verdict could be
reached. An assertion that fails in a callback fails the test even if the answer catches it.
"""

from __future__ import annotations

import ast
import builtins
import collections
import functools
import importlib
import io
import json
import math
import operator
import os
import re
import sys
import types

# Every process of a test loads this file, so it imports little: `typing` alone takes longer than all of it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

FIRST = 0  # the number of what the answer's process offers before anything else
MOST_BYTES = 32 * 2**20  # of one message
MOST_LINES = 5  # of the answer, where it raised
MOST_PRINTED = 8 * 2**20  # characters during one call
LONG_INTEGER = 10_000  # bits, over which Python writes no decimal digits
ANSWER_LEFT = 3  # exit code of a test whose answer ended first
BUILTIN_NAMES = frozenset(dir(builtins))


def _by_name(module: str, name: str) -> Callable[..., Any]:
    return lambda *parts: operator.attrgetter(name)(importlib.import_module(module))(*parts)


# Values of the standard library that are copied, by module and name: what they are made from, and how. Imported when needed.
STANDARD: dict[tuple[str, str], tuple[Callable[[Any], list[Any]], Callable[..., Any]]] = {
    ("builtins", "complex"): (lambda value: [value.real, value.imag], complex),
    ("builtins", "range"): (lambda value: [value.start, value.stop, value.step], range),
    ("builtins", "slice"): (lambda value: [value.start, value.stop, value.step], slice),
    ("builtins", "bytearray"): (lambda value: [bytes(value)], bytearray),
    ("collections", "deque"): (lambda value: [list(value), value.maxlen], collections.deque),
    ("collections", "Counter"): (lambda value: [dict(value)], collections.Counter),
    ("collections", "OrderedDict"): (lambda value: [list(value.items())], collections.OrderedDict),
    ("collections", "defaultdict"): (lambda value: [value.default_factory, dict(value)], collections.defaultdict),
    ("decimal", "Decimal"): (lambda value: [str(value)], _by_name("decimal", "Decimal")),
    ("fractions", "Fraction"): (lambda value: [str(value)], _by_name("fractions", "Fraction")),
    ("uuid", "UUID"): (lambda value: [str(value)], _by_name("uuid", "UUID")),
    ("pathlib", "PosixPath"): (lambda value: [str(value)], _by_name("pathlib", "PosixPath")),
    ("pathlib", "PurePosixPath"): (lambda value: [str(value)], _by_name("pathlib", "PurePosixPath")),
    ("datetime", "date"): (lambda value: [value.isoformat()], _by_name("datetime", "date.fromisoformat")),
    ("datetime", "time"): (lambda value: [value.isoformat()], _by_name("datetime", "time.fromisoformat")),
    ("datetime", "datetime"): (lambda value: [value.isoformat()], _by_name("datetime", "datetime.fromisoformat")),
    ("datetime", "timedelta"): (
        lambda value: [value.days, value.seconds, value.microseconds],
        _by_name("datetime", "timedelta"),
    ),
}
CONTAINERS: dict[str, Callable[..., Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}
# Plain types, and what an object of a derived class holds as one of them, whatever it says itself.
PLAIN: dict[type, Callable[[Any], Any]] = {
    str: lambda value: str.__getitem__(value, slice(None)),
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    list: lambda value: list(list.__iter__(value)),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
    int: int.__int__,
    float: float.__float__,
    dict: lambda value: dict(dict.items(value)),
}
MUTABLE = (
    list,
    dict,
    set,
    bytearray,
    *(getattr(collections, name) for _, name in STANDARD if hasattr(collections, name)),
)
HIDDEN = (types.FrameType, types.CodeType, types.ModuleType)
SHOWN_AS = {kind.__name__: kind for kind in (types.GeneratorType, types.FunctionType, types.MethodType)}
NO_EXCEPTIONS_OF = ("unittest", "bdb", "pdb", "doctest")  # theirs end or skip a test
# An answer's name for one of these would catch the failure of a test: there it is a class of its own.
CATCHING = {
    kind: type(kind.__name__, (kind,), {"__module__": "builtins"})
    for kind in (BaseException, Exception, AssertionError)
}
BY_MODULE = {"math": math, "operator": operator}


def words(text: str, form: str = "{}") -> frozenset[str]:
    return frozenset(map(form.format, text.split()))


# Operators that are given what a test expects, and could agree to it.
WEIGHED = words(
    "add sub mul truediv floordiv mod pow and or xor lshift rshift matmul divmod radd rsub rmul rtruediv rfloordiv rmod rpow "
    "rand ror rxor iadd isub imul ior iand ixor eq ne lt le gt ge contains",
    "__{}__",
)
OPERATORS = WEIGHED | words(
    "len getitem setitem delitem iter next reversed call bool str repr format int float index hash enter exit neg pos abs "
    "invert round aiter anext aenter aexit",
    "__{}__",
)
PREDICATES = frozenset(
    {"startswith", "endswith", *(name for kind in (str, set, float) for name in dir(kind) if name.startswith("is"))}
)  # methods of plain values that are given what a test expects
# Of these the answer's word counts where the test names the class, else where they are given no value that has them itself.
COMPARING = words(
    "count index find rfind rindex partition rpartition removeprefix removesuffix replace strip lstrip rstrip "
    "union intersection difference symmetric_difference compare compare_total quantize"
)
# Modules that an answer may give a test under another name: they only compute.
PURE = words(
    "bisect cmath collections copy dataclasses datetime decimal enum fractions functools heapq itertools json math "
    "numbers operator random re statistics string textwrap time typing"
)
# Functions that look into an object: they run where it is.
FORWARDED = {
    "copy": words("copy deepcopy"),
    "dataclasses": words("asdict astuple fields is_dataclass replace"),
    "inspect": words("getdoc isclass isfunction isgenerator isgeneratorfunction iscoroutinefunction signature"),
    "asyncio": words("iscoroutinefunction"),
    "typing": words("get_type_hints"),
}


class Output(io.StringIO):
    """What the answer prints during one call, for the tests; beyond a bound it goes to the process's own output."""

    def write(self, text: str) -> int:
        if self.tell() < MOST_PRINTED:
            return super().write(text)
        return os.write(1, text.encode("utf-8", "replace")) and len(text)


class ExitCode:
    """The exit code of an answer: a test compares it, but a script that it ends does not end well."""

    def __init__(self, code: Any) -> None:
        self._code = code

    def __eq__(self, other: object) -> bool:
        return bool(self._code == other)

    def __hash__(self) -> int:
        return hash(self._code)

    def __bool__(self) -> bool:
        return bool(self._code)


class BoundaryError(Exception):
    """The other process sent what is no message or no value."""


class Peer:
    """One end of the boundary. `trusted`: it runs the tests, and gives the other side only what that may have."""

    def __init__(self, link: int, *, trusted: bool, test: str = "") -> None:
        self.trusted = trusted
        self.words = frozenset(re.findall(r"[^\W\d]\w*", test))
        # Classes there that the tests name → what their objects may say themselves.
        self.permitted: dict[type, set[str]] = {}
        self.after_call: Callable[[], None] | None = None
        self.of_classes: frozenset[str] = frozenset()  # attributes that the test takes from a class by its name
        self.ends_scripts = False  # whether an exception that a test does not catch decides how a command ends
        self.printed = Output()
        self._reader, self._writer = open(link, "rb"), open(link, "wb", closefd=False)  # noqa: SIM115
        self.failed: BaseException | None = None
        # Number of an object → the length it said, and after how many calls.
        self.lengths: dict[int, tuple[int, int]] = {}
        self.calls = 0
        self.held: dict[int, Any] = {}  # objects that the other side has references to
        self._numbers: dict[int, int] = {}
        self._passed_classes: set[type] = set()  # themselves, not only objects of them
        self._theirs: dict[int, Any] = {}  # references and classes here, by their number there
        self._loop: Any = None

    # Messages

    def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        """Have the other side do something; raises what it raised."""
        self._send({"op": op, **fields})
        while True:
            message = self._receive()
            if message is None:
                # Nothing in a test can catch this: an answer that left early has failed.
                sys.stdout.flush()
                print("the answer's process ended before the test did", file=sys.stderr, flush=True)
                os._exit(ANSWER_LEFT)
            if "op" in message:
                self._answer(message)
                continue
            if text := message.get("out"):
                sys.stdout.write(str(text))
            if self.failed is not None:
                raise self.failed
            if "error" in message:
                problem = self._exception(message["error"])
                if self.trusted and fields.get("name") not in ("__next__", "__anext__"):
                    problem = self._tame(problem, loading=op == "call" and fields["id"] == FIRST)
                raise problem
            return message

    def _tame(self, problem: BaseException, *, loading: bool) -> BaseException:
        """Turn an exception that ends more than the call into an error, unless the test speaks of it."""
        harmless = RuntimeError(f"the answer raised {type(problem).__name__}: {problem}")
        if loading and isinstance(problem, ImportError):  # for which a test may skip itself
            return harmless
        if (
            isinstance(problem, StopIteration) and "StopIteration" not in self.words
        ):  # it would end a test's `map` early
            return harmless
        if isinstance(problem, SystemExit):  # it would end a script, and well
            if loading or (self.ends_scripts and "SystemExit" not in self.words):
                return harmless
            problem.code = ExitCode(problem.code) if self.ends_scripts else problem.code  # type: ignore[assignment]
        return problem

    def decides(self, problem: object) -> bool:
        """Whether an exception is a test's verdict, which no code of the answer may catch."""
        pytest = sys.modules.get("_pytest.outcomes")
        verdicts = [kind for kind in (AssertionError, SystemExit) if kind.__name__ not in self.words]
        return isinstance(problem, (*verdicts, *([pytest.Failed] if pytest else ())))

    def serve(self) -> None:
        """Answer the other side until it hangs up."""
        while (message := self._receive()) is not None:
            self._answer(message)

    def _answer(self, message: dict[str, Any]) -> None:
        reply: dict[str, Any] = {}
        try:
            reply = self._do(message)
        except BaseException as problem:  # also SystemExit: the other side decides what it means
            if self.trusted and self.decides(problem):
                self.failed = problem
            try:
                reply = {"error": self._describe(problem)}
            except BaseException:
                reply = {"error": {"c": {"t": "type", "v": "RuntimeError"}, "args": [type(problem).__name__]}}
        if not self.trusted and (text := self.printed.getvalue()):
            reply["out"] = text
            self.printed.seek(0)
            self.printed.truncate()
        try:
            self._send(reply)
        except ValueError as problem:
            self._send({"error": self._describe(problem)})

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message, separators=(",", ":")).encode()
        if len(data) > MOST_BYTES:
            raise ValueError(f"a value of over {MOST_BYTES >> 20} MB was passed")
        try:
            self._writer.write(data + b"\n")
            self._writer.flush()
        except OSError:
            return  # whoever waits for the reply finds out

    def _receive(self) -> dict[str, Any] | None:
        try:
            line = self._reader.readline(MOST_BYTES + 2)
        except OSError:
            return None
        if not line.endswith(b"\n"):
            return None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as problem:
            raise BoundaryError("the other process sent what is no message") from problem
        if type(message) is not dict:
            raise BoundaryError("the other process sent what is no message")
        return message

    # What is asked

    def _do(self, message: dict[str, Any]) -> dict[str, Any]:
        op = message["op"]
        if op == "forward" and not self.trusted:
            function = getattr(importlib.import_module(message["module"]), message["name"])
            named = {key: self.decode(one) for key, one in message["named"].items()}
            return {"value": self.encode(function(*(self.decode(one) for one in message["args"]), **named))}
        target = self.held[message["id"]]
        if op == "call":
            if (
                self.trusted
                and isinstance(target, type)
                and target not in self._passed_classes
                and target.__module__.partition(".")[0] in (*sys.stdlib_module_names, "pytest", "_pytest")
            ):
                raise TypeError(f"the class {target.__name__} was not passed")
            given = message["args"]
            args = {key: self.decode(one) for key, one in given.items()}
            positional = [one for key, one in args.items() if key.isdigit()]
            value = target(*positional, **{key: one for key, one in args.items() if not key.isdigit()})
            mutable = {key: one for key, one in args.items() if type(one) in MUTABLE}
            changed = {key: new for key, one in mutable.items() if (new := self.encode(one)) != given[key]}
            same = next((key for key, one in mutable.items() if one is value), None)
            return {"value": None if same else self.encode(value), "changed": changed, "same": same}
        if op == "operate" and message["name"] in OPERATORS:
            value = _operate(target, message["name"], [self.decode(one) for one in message["args"]])
            return {"value": self.encode(value)}
        if op == "plain" and not self.trusted:
            return {"value": self._plain(target)}
        if op == "await" and not self.trusted:
            import asyncio  # a tenth of a second that few answers need

            self._loop = self._loop or asyncio.new_event_loop()
            return {"value": self.encode(self._loop.run_until_complete(_wait_for(target)))}
        name = message["name"]
        if self.trusted:
            _refuse_inner(target, name, changes=op != "get")
        if op == "get":
            return {"value": self.encode(getattr(target, name))}
        if op == "set":
            setattr(target, name, self.decode(message["value"]))
        elif op == "delete":
            delattr(target, name)
        else:
            raise TypeError(f"{op} is not known")
        return {"value": None}

    # Values

    def encode(self, value: Any) -> Any:
        """Write a value as JSON; what is not plain becomes a reference to the object here."""
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if value.bit_length() < LONG_INTEGER else {"t": "int", "v": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"t": "float", "v": str(value)}
        if kind is list:
            return [self.encode(one) for one in value]
        if kind is dict:
            return {"t": "dict", "v": [[self.encode(key), self.encode(one)] for key, one in value.items()]}
        if kind in (tuple, set, frozenset):
            return {"t": kind.__name__, "v": [self.encode(one) for one in value]}
        if kind is bytes:
            return {"t": "bytes", "v": value.hex()}
        if (known := _standard(kind)) in STANDARD:
            return {"t": "standard", "n": known, "v": [self.encode(one) for one in STANDARD[known][0](value)]}
        if value is NotImplemented or value is Ellipsis:
            return {"t": "constant", "v": repr(value)}
        if issubclass(kind, RemoteObject):
            return {"t": "yours", "id": value._evergold_.number}
        if isinstance(value, type):
            self._passed_classes.add(value)
            return self._encode_class(value)
        return self._encode_object(value, kind)

    def _encode_object(self, value: Any, kind: type) -> Any:
        if isinstance(value, types.BuiltinFunctionType) and value.__self__ in (builtins, math, operator):
            return {"t": "function", "m": value.__module__, "v": value.__name__}
        if isinstance(value, BaseException):
            return {"t": "exception", "v": self._describe(value)}
        if isinstance(value, types.TracebackType):
            return None
        if isinstance(value, HIDDEN):
            raise TypeError(f"a {kind.__name__} cannot be passed to the other process")
        sent = {"t": "object", "id": self._hold(value), "c": self._encode_class(kind)}
        if kind.__module__ == "builtins" and hasattr(kind, "__await__"):
            sent["a"] = True
        if isinstance(value, tuple(PLAIN)):
            sent["p"] = self._plain(value)
        return sent

    def _plain(self, value: Any) -> Any:
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            sent = {"t": "namedtuple", "n": type(value).__name__, "f": list(value._fields)}
            return sent | {"v": [self.encode(one) for one in value]}
        return self.encode(next(copy(value) for base, copy in PLAIN.items() if isinstance(value, base)))

    def _encode_class(self, kind: type) -> dict[str, Any]:
        if getattr(builtins, kind.__name__, None) is kind:
            return {"t": "type", "v": kind.__name__}
        if isinstance(kind, RemoteType):
            return {"t": "yours", "id": type.__getattribute__(kind, "_evergold_class_").number}
        module = kind.__module__
        if issubclass(kind, BaseException) and module.partition(".")[0] in sys.stdlib_module_names:
            return {"t": "stdlib", "m": module, "v": kind.__name__}
        bases = [self._encode_class(base) for base in kind.__bases__ if base is not object]
        shown = next((name for name, one in SHOWN_AS.items() if one is kind), None)
        return {"t": "class", "id": self._hold(kind), "n": kind.__name__, "b": bases, "s": shown}

    def _hold(self, value: Any) -> int:
        """Keep an object for as long as the test lasts; its number."""
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.held) + 1
            self.held[number] = value
        return number

    def decode(self, sent: Any) -> Any:
        """Read a value; anything but what `encode` writes is refused."""
        if sent is None or type(sent) in (bool, int, float, str):
            return sent
        if type(sent) is list:
            return [self.decode(one) for one in sent]
        kind, value = sent["t"], sent.get("v")
        if kind == "dict":
            return {self.decode(key): self.decode(one) for key, one in value}
        if kind in CONTAINERS:
            return CONTAINERS[kind](self.decode(one) for one in value)
        if kind == "standard":
            return STANDARD[sent["n"][0], sent["n"][1]][1](*(self.decode(one) for one in value))
        if kind == "yours":
            return self.held[sent["id"]]
        if kind == "class":
            return self._class(sent)
        if kind == "object":
            return self._object(sent)
        if kind == "namedtuple":
            fields = {name: self.decode(one) for name, one in zip(sent["f"], value, strict=True)}
            for name in fields if self.trusted else ():
                _refuse_method(name, fields[name])
            return collections.namedtuple(sent["n"], fields, rename=True)(*fields.values())
        if kind == "exception":
            return self._exception(value)
        if kind in DECODED:
            return DECODED[kind](str(value))
        return self._decode_named(kind, sent.get("m"), str(value))

    def _decode_named(self, kind: str, module: str | None, name: str) -> Any:
        """Find what both sides have: types, functions and exceptions of the standard library."""
        named: Any = None
        if kind == "type":
            named = getattr(builtins, name, None)
        elif kind == "function":
            named = getattr(BY_MODULE.get(str(module), builtins), name, None)
            # A test calls what an answer returns: nothing that acts.
            safe = named is not None and (module in BY_MODULE or name in SAFE_FUNCTIONS or not self.trusted)
            return named if safe and isinstance(named, types.BuiltinFunctionType) else _refuse(name)
        elif kind == "stdlib" and str(module).partition(".")[0] in sys.stdlib_module_names - set(NO_EXCEPTIONS_OF):
            named = getattr(importlib.import_module(str(module)), name, None)
            named = named if isinstance(named, type) and issubclass(named, BaseException) else None
        if not isinstance(named, type) or any(
            base.__module__.partition(".")[0] in NO_EXCEPTIONS_OF for base in named.__mro__
        ):
            return _refuse(name)
        return CATCHING.get(named, named) if self.trusted else named  # type: ignore[arg-type]

    def _object(self, sent: dict[str, Any]) -> Any:
        decoded = self.decode(sent["c"])
        kind: Any = decoded if isinstance(decoded, RemoteClass) else RemoteObject
        if "p" in sent and not (self.trusted and self.is_named(kind)):
            return self.decode(sent["p"])
        number = sent["id"]
        if sent.get("a"):
            return _await_there(self, number)
        if number not in self._theirs:
            made = object.__new__(kind)
            object.__setattr__(made, "_evergold_", RemoteReference(self, number, "p" in sent))
            self._theirs[number] = made
        return self._theirs[number]

    def is_named(self, kind: type) -> bool:
        return not self.permitted.keys().isdisjoint(kind.__mro__)

    def is_permitted(self, kind: type, name: str) -> bool:
        return any(name in self.permitted.get(base, ()) for base in kind.__mro__)

    def _class(self, sent: dict[str, Any]) -> type:
        number = sent["id"]
        if number in self._theirs:
            return self._theirs[number]  # type: ignore[no-any-return]
        bases = [base for base in map(self.decode, sent["b"]) if isinstance(base, type)]
        raised = tuple(base for base in bases if issubclass(base, BaseException))
        if raised:
            made: Any = RemoteException(str(sent["n"]), raised, {"__str__": _write_text})
        else:
            names: dict[str, Any] = {"__slots__": (), "__doc__": _Documentation()}
            if sent.get("s") in SHOWN_AS:
                shown = SHOWN_AS[sent["s"]]
                names["__class__"] = property(lambda _: shown)
            mirrored = tuple(base for base in bases if isinstance(base, RemoteClass)) or (RemoteObject,)
            made = RemoteClass(str(sent["n"]), mirrored, names)
        type.__setattr__(made, "_evergold_class_", RemoteReference(self, number))
        self._theirs[number] = made
        return made  # type: ignore[no-any-return]

    # Exceptions

    def _describe(self, problem: BaseException) -> dict[str, Any]:
        fields = {name: self.encode(one) for name, one in vars(problem).items() if not name.startswith("_")}
        args = [self.encode(one) for one in problem.args]
        sent = {"c": self._encode_class(type(problem)), "args": args, "fields": fields, "text": str(problem)}
        lines, trace = [], problem.__traceback__
        while trace is not None and not self.trusted:
            if trace.tb_frame.f_code.co_filename == "answer.py":
                lines.append(f"answer.py, line {trace.tb_lineno}, in {trace.tb_frame.f_code.co_name}")
            trace = trace.tb_next
        cause = problem.__cause__ and self._describe(problem.__cause__)
        return sent | {"lines": lines[-MOST_LINES:], "cause": cause}

    def _exception(self, sent: dict[str, Any]) -> BaseException:
        kind = self.decode(sent["c"])
        if not isinstance(kind, type) or not issubclass(kind, BaseException):
            return BoundaryError(str(sent.get("text")))
        args = [self.decode(one) for one in sent["args"]]
        try:
            # Not `kind(…)`, by which an `RemoteException` asks the other side for an exception.
            made: BaseException = type.__call__(kind, *args)
        except TypeError:
            made = kind.__new__(kind, *args)
        for name, value in sent.get("fields", {}).items():
            if not name.startswith("_"):
                setattr(made, name, _refuse_method(name, self.decode(value)))
        if isinstance(kind, RemoteException):
            made._evergold_text_ = str(sent.get("text"))  # type: ignore[attr-defined]
        for line in sent.get("lines") or ():
            made.add_note(str(line))
        if sent.get("cause"):
            made.__cause__ = self._exception(sent["cause"])
        return made


class RemoteReference:
    """An object of the other side: the peer that has it, its number there, and whether it derives from a plain type."""

    def __init__(self, peer: Peer, number: int, plain: bool = False) -> None:
        self.peer, self.number, self.is_plain = peer, number, plain

    def call(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call it; lists, dicts and sets that it changed are changed here."""
        peer = self.peer
        peer.calls += 1
        given = {**{str(at): one for at, one in enumerate(args)}, **named}
        reply = peer.ask("call", id=self.number, args={key: peer.encode(one) for key, one in given.items()})
        for key, new in (reply.get("changed") or {}).items():
            _replace_content(given[key], peer.decode(new))
        if peer.after_call is not None:
            peer.after_call()
        return given[reply["same"]] if reply.get("same") else peer.decode(reply["value"])

    def operate(self, name: str, *args: Any) -> Any:
        peer = self.peer
        reply = peer.ask("operate", id=self.number, name=name, args=[peer.encode(one) for one in args])
        if peer.after_call is not None:
            peer.after_call()
        return peer.decode(reply["value"])

    def get(self, name: str) -> Any:
        return self.peer.decode(self.peer.ask("get", id=self.number, name=name)["value"])

    def set(self, name: str, value: Any) -> None:
        self.peer.ask("set", id=self.number, name=name, value=self.peer.encode(value))

    def get_method(self, name: str, kind: type | None) -> Any:
        """Get an attribute; without the methods by which it would say itself what a test expects."""
        judged = self.peer.trusted and kind is not None and not self.peer.is_permitted(kind, name)
        if judged and name in PREDICATES:
            raise AttributeError(f"{name} of an object of class {kind and kind.__name__}, which is no plain value")
        value = self.get(name)
        refused = judged and name in COMPARING and callable(value)
        return functools.partial(_refuse_plain, value, name) if refused else value

    def items(self, whole: RemoteObject | RemoteClass) -> Iterator[Any]:
        """Its items; raises where an answer's object gives not as many as it says, or said since the last call."""
        made = self.operate("__iter__")
        items: Iterator[Any] = made if isinstance(made, RemoteObject) else iter(made)
        if not self.peer.trusted:
            return items
        earlier = self.peer.lengths.get(self.number)
        try:
            length = earlier[0] if earlier and earlier[1] == self.peer.calls else len(whole)
        except Exception:
            return items

        def give() -> Iterator[Any]:
            given = 0
            for item in items:
                given += 1
                yield item
            if given != length:
                raise AssertionError(f"the answer's object says that it has {length} items and gives {given}")

        return give()

    def weigh(self, one: RemoteObject, name: str, args: tuple[Any, ...]) -> Any:
        """An operator that is given another value, as far as the word of the answer's object counts."""
        other = args[0] if args else None
        both = isinstance(other, RemoteObject)
        permitted = both or self.peer.is_permitted(type(one), name)
        if permitted and name == "__ne__":  # the opposite of `==`, so that not both are true
            equal = self.weigh(one, "__eq__", args)
            return equal if equal is NotImplemented else not equal
        if permitted and name == "__eq__":
            return other is one or self._equals(other)
        if isinstance(other, RemoteObject) and name in ("__lt__", "__gt__"):  # not true both ways round
            reply = self.operate(name, *args)
            return reply if reply is not True else other._evergold_.operate(name, one) is not True
        # Zero is what `sum` begins with.
        if permitted or (name == "__radd__" and type(other) is int and other == 0):
            return self.operate(name, *args)
        if self.is_plain:
            own = self.peer.decode(self.peer.ask("plain", id=self.number)["value"])
            return other in own if name == "__contains__" else getattr(own, name, lambda _: NotImplemented)(other)
        return any(item is other or item == other for item in one) if name == "__contains__" else NotImplemented

    def _equals(self, other: Any) -> Any:
        """Ask an object whether it equals a value, and others like it that the answer cannot tell from it by their order; one
        that equals any of those equals nothing."""
        others = [os.urandom(8).hex(), *map(_change, [] if isinstance(other, RemoteObject) else [other] * 3)]
        reply: Any = NotImplemented
        for value in sorted([other, *others], key=lambda _: os.urandom(4)):
            try:
                equal = self.operate("__eq__", value)
            except Exception:
                if value is other:
                    raise
                continue  # an honest one may not compare itself with everything
            if value is other:
                reply = equal
            elif equal is True:
                return False
        return reply


def _change(value: Any) -> Any:
    """Another value of the same type that differs in one place."""
    kind, chance = type(value), int.from_bytes(os.urandom(4), "big")
    if kind in (int, float):
        return value + chance % 2 * 2 - 1
    at = chance % max(1, len(value)) if kind in (str, list, tuple, dict) else 0
    if kind is str:
        letters = [letter for letter in "abcdefghijklmnopqrstuvwxyz" if letter != value[at : at + 1].lower()]
        return value[:at] + letters[(chance >> 8) % 25] + value[at + 1 :]
    if kind is dict and value:
        key = list(value)[at]
        return {**value, key: _change(value[key])}
    if kind in (list, tuple) and value:
        return value[:at] + kind([_change(value[at])]) + value[at + 1 :]
    return os.urandom(8).hex()


class RemoteObject:
    """An object of the other side."""

    __slots__ = ("_evergold_",)  # its reference

    def __getattr__(self, name: str) -> Any:
        return self._evergold_.get_method(name, type(self))

    def __setattr__(self, name: str, value: Any) -> None:
        self._evergold_.set(name, value)

    def __delattr__(self, name: str) -> None:
        self._evergold_.peer.ask("delete", id=self._evergold_.number, name=name)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._evergold_.call(args, named)

    def __iter__(self) -> Iterator[Any]:
        items: Iterator[Any] = self._evergold_.items(self)
        return items


class RemoteType(type):
    """A class of the other side: called, it makes an object there."""

    _evergold_class_: RemoteReference

    def __call__(cls, *args: Any, **named: Any) -> Any:
        return cls._evergold_class_.call(args, named)


class RemoteClass(RemoteType):
    """A class whose objects here are instances of it."""

    def __getattr__(cls, name: str) -> Any:
        own: RemoteReference = type.__getattribute__(cls, "_evergold_class_")
        return own.get_method(name, None if name in own.peer.of_classes else cls)

    def __setattr__(cls, name: str, value: Any) -> None:
        cls._evergold_class_.set(name, value)

    def __iter__(cls) -> Iterator[Any]:
        return cls._evergold_class_.items(cls)

    def __contains__(cls, item: object) -> bool:
        return any(one is item or one == item for one in cls)


class RemoteException(RemoteType):
    """An exception class; what is raised of it is a copy."""


class _Documentation:
    def __get__(self, one: Any, kind: Any) -> Any:
        return RemoteObject.__getattr__(one, "__doc__") if one is not None else RemoteClass.__getattr__(kind, "__doc__")


def _write_text(problem: Any) -> str:
    return getattr(problem, "_evergold_text_", None) or Exception.__str__(problem)


def _add_operators() -> None:
    def make(name: str) -> Callable[..., Any]:
        def operate(self: RemoteObject, *args: Any) -> Any:
            own: RemoteReference = self._evergold_
            if own.peer.trusted and name in WEIGHED:
                return own.weigh(self, name, args)
            if own.peer.trusted and name in ("__exit__", "__aexit__") and own.peer.decides(args[1]):
                own.peer.failed = args[1]  # raised by `ask`, whatever `__exit__` says
            made: Any = own.operate(name, *args)
            if name == "__len__":
                own.peer.lengths[own.number] = (made, own.peer.calls)
            return made

        return operate

    def make_of_class(name: str) -> Callable[..., Any]:
        return lambda cls, *args: cls._evergold_class_.operate(name, *args)

    for name in OPERATORS - {"__iter__", "__call__"}:
        setattr(RemoteObject, name, make(name))
    for name in ("__getitem__", "__len__"):
        setattr(RemoteClass, name, make_of_class(name))


_add_operators()
PLAIN_ATTRIBUTES = OPERATORS | {name for kind in (*PLAIN, complex, bytearray) for name in dir(kind)}
AS_OPERATORS = {
    "Add": "add radd iadd", "Sub": "sub rsub isub", "Mult": "mul rmul imul", "Div": "truediv rtruediv",
    "FloorDiv": "floordiv rfloordiv", "Mod": "mod rmod", "Pow": "pow rpow", "MatMult": "matmul", "LShift": "lshift",
    "RShift": "rshift", "BitOr": "or ror ior", "BitXor": "xor rxor ixor", "BitAnd": "and rand iand", "Eq": "eq", "NotEq": "ne eq",
    "Lt": "lt gt", "LtE": "le ge", "Gt": "gt lt", "GtE": "ge le", "In": "contains", "NotIn": "contains", "Is": "", "IsNot": "",
}  # fmt: skip
SAFE_FUNCTIONS = words("abs all any ascii bin chr divmod hash hex len max min oct ord pow repr round sorted sum")
DECODED: dict[str, Callable[[str], Any]] = {
    "int": lambda text: int(text, 16),
    "float": float,
    "bytes": bytes.fromhex,
    "constant": lambda text: NotImplemented if text == "NotImplemented" else Ellipsis,
}
SIMPLE: dict[str, Callable[..., Any]] = {
    "__iter__": iter, "__next__": next, "__len__": len, "__bool__": bool, "__str__": str, "__repr__": repr, "__int__": int,
    "__float__": float, "__index__": operator.index, "__reversed__": reversed, "__hash__": hash, "__round__": round,
    "__abs__": abs, "__format__": format, "__contains__": lambda whole, part: part in whole,
}  # fmt: skip


def _operate(target: Any, name: str, args: list[Any]) -> Any:
    if name in SIMPLE:
        return SIMPLE[name](target, *args)
    method = getattr(type(target), name, None)
    if method is None and name not in WEIGHED:
        raise TypeError(f"{type(target).__name__} has no {name}")
    return NotImplemented if method is None else method(target, *args)


def _refuse(name: str) -> Any:
    raise BoundaryError(f"{name[:40]!r} cannot be passed to a test")


def _refuse_method(name: str, value: Any) -> Any:
    """Give a field of a copied value, unless it would be called in place of a plain value's method."""
    return _refuse(name) if callable(value) and name in PREDICATES | COMPARING else value


def _refuse_inner(target: Any, name: str, *, changes: bool) -> None:
    """Raise where an attribute of a test's object is not the answer's business."""
    mock = sys.modules.get("unittest.mock")
    own = getattr(type(target), name, None)
    inner = name.startswith("_") or isinstance(target, types.FunctionType | types.MethodType)
    # What formats a text reads every attribute.
    inner = inner or isinstance(target, str) or hasattr(type(target), "vformat")
    if name in ("__name__", "__qualname__", "__doc__") and not changes:
        return  # `functools.wraps` copies them
    # The record of a mock is what the test will ask about.
    inner = inner or (mock is not None and isinstance(target, mock.NonCallableMock) and hasattr(type(target), name))
    if inner or (changes and (isinstance(target, type) or callable(own))):
        raise AttributeError(f"{name} is not passed on")


def _refuse_plain(method: Callable[..., Any], name: str, *args: Any, **named: Any) -> Any:
    """Call a method that plain values have too, unless it is given what a plain value would be compared with."""
    if name in ("count", "index") or any(
        hasattr(one, name) for one in args if type(one) in PLAIN or _standard(type(one)) in STANDARD
    ):
        raise AttributeError(f"{name} of an object that is no plain value")
    return method(*args, **named)


def _standard(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__name__


def _replace_content(old: Any, new: Any) -> None:
    if type(old) not in MUTABLE or type(new) is not type(old):
        raise BoundaryError("only lists, dicts and sets are changed by a call")
    old.clear()
    (old.update if hasattr(old, "update") else old.extend)(new)


async def _wait_for(awaitable: Any) -> Any:
    return await awaitable


async def _await_there(peer: Peer, number: int) -> Any:
    return peer.decode(peer.ask("await", id=number)["value"])


def make_module(name: str) -> dict[str, Any]:
    """The namespace of a new module, which dataclasses and the like look for."""
    module = sys.modules[name] = types.ModuleType(name)
    return vars(module)


def serve_answer(link: int, code: str) -> None:
    """Run the answer when the tests ask for its names, then do what they ask, until they hang up."""
    peer = Peer(link, trusted=False)
    names = make_module("answer")

    class Names:
        def __getattr__(self, name: str) -> Any:
            return names[name]

    def load() -> tuple[dict[str, str | None], Names]:
        sys.stdout = peer.printed
        exec(compile(code, "answer.py", "exec", dont_inherit=True), names)
        modules = {name: getattr(one, "__name__", "") for name, one in names.items() if type(one) is types.ModuleType}
        return {name: modules.get(name) for name in names if not name.startswith("__")}, Names()

    peer.held[FIRST] = load
    peer.serve()


def connect(
    link: int, test: str, names: dict[str, Any], all_tests: str, taken_builtins: frozenset[str] | None = None
) -> None:
    """Add the answer's names that a test mentions; `taken_builtins`: those of Python's own by which it means the answer's."""
    peer = Peer(link, trusted=True, test=test)
    peer.ends_scripts = "EVERGOLD_SCRIPT" in os.environ
    offered, space = RemoteReference(peer, FIRST).call((), {})
    get: Callable[[str], Any] = space._evergold_.get
    used, classes = _Uses(test if taken_builtins is None else all_tests), _Uses(all_tests).classes()
    taken = used.taken_builtins() if taken_builtins is None else taken_builtins
    wanted = [
        name
        for name in offered
        if name in peer.words and name[:2] != "__" and (name not in BUILTIN_NAMES or name in taken)
    ]
    taken_names = {}
    for name in wanted:
        module = str(offered[name] or "")
        if not module:
            taken_names[name] = used.real_module(name, get(name))
        elif module in PURE or (module == name and name in sys.stdlib_module_names):
            taken_names[name] = importlib.import_module(module)
    names.update(taken_names)
    peer.of_classes = frozenset(used.direct)
    for name, value in taken_names.items():
        if isinstance(value, RemoteClass) and name in classes:
            peer.permitted[value] = used.permitted.get(name, set())
    copied = {
        name: value
        for name, value in taken_names.items()
        if type(value) in (*PLAIN, bool, type(None)) and name not in used.assigned
    }
    if copied:
        peer.after_call = functools.partial(_copy_again, get, names, copied)
    _forward_to(peer)


def _copy_again(get: Callable[[str], Any], names: dict[str, Any], copied: dict[str, Any]) -> None:
    """Bring the plain names of a test up to date with those of the answer, unless the test changed them."""
    for name, old in copied.items():
        if names.get(name) is not old:
            continue
        new = get(name)
        if type(old) in MUTABLE and type(new) is type(old):
            _replace_content(old, new)
        elif new != old or type(new) is not type(old):
            names[name] = copied[name] = new


def _forward_to(peer: Peer) -> None:
    """Let functions that look into an object run where it is."""

    def forward(module: str, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **named: Any) -> Any:
            if args and isinstance(args[0], RemoteObject | RemoteClass):
                options = {key: peer.encode(one) for key, one in named.items()}
                sent = [peer.encode(one) for one in args]
                return peer.decode(peer.ask("forward", module=module, name=name, args=sent, named=options)["value"])
            return original(*args, **named)

        return run

    for module in FORWARDED.keys() & peer.words:
        imported = importlib.import_module(module)
        for name in FORWARDED[module]:
            if name in peer.words:
                setattr(imported, name, forward(module, name, getattr(imported, name)))


class _Uses:
    """What the text of a test takes from the answer."""

    def __init__(self, test: str) -> None:
        try:
            self._nodes = list(ast.walk(ast.parse(test)))
        except SyntaxError:
            self._nodes = []
        # Variable → the class of which the test makes it; empty where it is something else too.
        self._made: dict[str, str] = {}
        # Class → operators and methods that the test asks of objects it made.
        self.permitted: dict[str, set[str]] = {}
        for node in self._nodes:
            if isinstance(node, ast.Assign):
                self._note_made(node.targets[-1], node.value)
            elif isinstance(node, ast.FunctionDef) and isinstance(node.body[-1], ast.Return) and node.decorator_list:
                self._note_made(ast.Name(node.name), node.body[-1].value)  # a fixture
        self.assigned = {
            node.id for node in self._nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self.direct = {
            node.attr
            for node in self._nodes
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in self._made
        }
        for node in self._nodes:
            if isinstance(node, ast.BinOp):
                self._permit(node.left, node.op, node.right)
            elif isinstance(node, ast.AugAssign):
                self._permit(node.target, node.op, node.value)
            elif isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
                    self._permit(left, op, right)
            elif isinstance(node, ast.Attribute):
                kind = self._class_of(node.value) or (node.value.id if isinstance(node.value, ast.Name) else "")
                self.permitted.setdefault(kind, set()).add(node.attr)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                called = node.func.id
                asked = ast.walk(node.args[-1]) if called in ("isinstance", "issubclass") and node.args else ()
                empty = not node.args and not node.keywords
                for name in [one.id for one in asked if isinstance(one, ast.Name)] + [called] * empty:
                    self.permitted.setdefault(name, set()).add("class")
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "(" in node.value:
                self.permitted.setdefault(node.value.partition("(")[0], set()).add("class")  # how it is printed

    def _note_made(self, target: ast.AST, value: ast.AST | None) -> None:
        """Note of which class a variable is made."""
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, its in zip(target.elts, value.elts, strict=False):
                self._note_made(one, its)
        elif isinstance(target, ast.Name | ast.Attribute):
            name, kind = ast.unparse(target), self._class_of(value)
            self._made[name] = kind if self._made.get(name, kind) == kind else ""

    def _permit(self, left: ast.AST, op: ast.AST, right: ast.AST) -> None:
        """Note an operator between an object that the test made and something else."""
        sides = {self._class_of(left), self._class_of(right)}
        # Two results are equal or not by the answer's word, whatever they are.
        if len(sides) == 1 and type(op).__name__ == "Eq":
            self.permitted.setdefault(max(sides), set()).add("class")
        if "" in sides and len(sides) == 2:
            names = AS_OPERATORS[type(op).__name__].split()
            self.permitted.setdefault(max(sides), set()).update(f"__{name}__" for name in names)

    def _class_of(self, node: ast.AST | None) -> str:
        """The name of the class whose object an expression makes; empty where it makes none."""
        if isinstance(node, ast.BinOp):
            return self._class_of(node.left) or self._class_of(node.right)
        if isinstance(node, ast.UnaryOp):
            return self._class_of(node.operand)
        if isinstance(node, ast.Name | ast.Attribute):
            return self._made.get(ast.unparse(node), "")
        return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""

    def classes(self) -> set[str]:
        """Names with a capital that are called without arguments or have attributes that no plain value has: no functions."""
        return {name for name, used in self.permitted.items() if name[:1].isupper() and not used <= PLAIN_ATTRIBUTES}

    def taken_builtins(self) -> frozenset[str]:
        """Names of Python's own that a test takes from the answer: where it calls one of them and uses no other name."""
        used = {node.id for node in self._nodes if isinstance(node, ast.Name)}
        called = {
            node.func.id for node in self._nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        return frozenset(called) if used <= BUILTIN_NAMES and len(called) == 1 else frozenset()

    def real_module(self, name: str, value: Any) -> Any:
        """Give a test the module that it means, where the answer has another thing of that name."""
        if name not in sys.stdlib_module_names:
            return value
        attributes = [
            node.attr
            for node in self._nodes
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
        ]
        module = importlib.import_module(name) if attributes else None
        return module if attributes and all(hasattr(module, one) for one in attributes) else value


def connect_module(names: dict[str, Any]) -> None:
    """Fill a module that stands for the answer among the files of a command."""
    from pathlib import Path

    files = [path for path in sorted(Path.cwd().rglob("*")) if path.is_file()]
    # `python -c` has its test on the command line; other files than Python's may hold doctests.
    text = "\n".join([*sys.orig_argv, *(path.read_text("utf-8", "replace") for path in files)])
    code = "\n".join(path.read_text("utf-8", "replace") for path in files if path.suffix == ".py")
    own = names["__name__"]
    taken = set(re.findall(rf"\b{own}\.(\w+)", text))
    for imported in re.findall(rf"\bfrom\s+{own}\s+import\s*(\([^)]*\)|[^\n]*)", text):
        taken |= set(re.findall(r"\w+", imported))
    connect(int(os.environ["EVERGOLD_ANSWER"]), text, names, code, frozenset(taken))
    # `from answer import *` must not bring a name that hides one of Python's own or of the tests.
    own_names = _names_of_tests([path.read_text("utf-8", "replace") for path in files if path.suffix == ".py"], own)
    names["__all__"] = [one for one in names if one[0] != "_" and one not in BUILTIN_NAMES | own_names]


def _names_of_tests(sources: list[str], answer: str) -> set[str]:
    """What the files of a command define or import themselves; the answer may not replace it."""
    names: set[str] = set()
    for source in sources:
        try:
            body = ast.parse(source).body
        except SyntaxError:
            continue
        for node in body:
            if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != answer):
                names |= {(one.asname or one.name).partition(".")[0] for one in node.names}
            elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                names.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                names |= {
                    one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
                }
    return names
