"""Answers that try to win by a trick, and honest ones that must still pass.

`cheating.txt` and `honest.txt` hold them: a line `=== kind`, the answer's code, a line `---`, the test. `# ANYTHING` stands for a
class whose objects claim to be equal to everything.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evergold.bench.metrics.code_tests import TestsPassed
from evergold.bench.sandbox import Bounds, TestResult, missing_sandbox, run_tests, why_unisolated
from evergold.model.case import CodeTests
from evergold.model.run import Attempt, Measurement
from tests.builders import a_case
from tests.rows import each_row

pytestmark = pytest.mark.skipif(missing_sandbox() is not None, reason=str(missing_sandbox()))

ANYTHING = """
class Any:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__
    __hash__ = object.__hash__
    def __sub__(self, other): return 0
    __rsub__ = __add__ = __radd__ = __mod__ = __sub__
    def __abs__(self): return 0
    def __getattr__(self, name): return lambda *args, **named: True
"""
RUNS_TEXT = "the test runs the answer's text as a program"
NEED_ONE_PROCESS = {"passes coroutine", "subclassed", "mocked", "stdin", "file", "threads", "gathered"}


class Example(NamedTuple):
    kind: str
    answer: str
    test: str


def examples(name: str) -> list[Example]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8").replace("# ANYTHING", ANYTHING)
    found = re.findall(r"^=== (.+)\n((?:.*\n)*?)---\n((?:.*\n)*?)(?====|\Z)", text, re.M)
    return [Example(*one) for one in found]


def run_all(given: list[Example]) -> list[TestResult]:
    def run(one: Example) -> TestResult:
        return run_tests(one.answer, [one.test], execute=True, bounds=Bounds(seconds=6))[0]

    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(run, given))


def test_over_fifty_cheating_answers_of_over_ten_kinds_pass_nothing() -> None:
    given = examples("cheating.txt")
    assert len(given) > 50 and len({one.kind for one in given}) > 10
    assert [one for one, result in zip(given, run_all(given), strict=True) if result.passed] == []
    # None of them is refused by running its test in another way.
    assert [one for one in given if why_unisolated(CodeTests(code=(one.test,)))] == []


def test_honest_answers_pass_and_only_tests_that_need_one_process_share_it() -> None:
    given = examples("honest.txt")
    assert len(given) > 40
    failed = [(one.kind, result) for one, result in zip(given, run_all(given), strict=True) if not result.passed]
    assert failed == []
    shared = {one.kind for one in given if why_unisolated(CodeTests(code=(one.test,)))}
    assert shared == NEED_ONE_PROCESS


def measure(output: str, tests: Any) -> Measurement:
    return TestsPassed().measure(a_case(tests=tests), Attempt(case_id="c1", output=output))


PYTEST = """import json
import pytest
from answer import *
def test_values():
    for given, wanted in json.load(open("wanted.json")): assert double(given) == wanted
def test_raises():
    with pytest.raises(TypeError): double(None)
"""
UNITTEST = """import unittest
from answer import *
class Test(unittest.TestCase):
    def test(self): self.assertEqual(abs(double(-2)), 4)
"""
COMMANDS = {
    "pytest": {"command": "pytest -q", "files": {"test_it.py": PYTEST, "wanted.json": "[[2, 4], [3, 6]]"}},
    "unittest": {"command": ["python", "-m", "unittest", "-q"], "files": {"test_it.py": UNITTEST}},
    "script": {"command": "python t.py", "files": {"t.py": "from answer import double\nassert double(2) == 4"}},
    "exits": {
        "command": "python -B t.py",
        "files": {
            "t.py": "from answer import double\ntry: double(None)\nexcept TypeError: pass\n"
            "except SystemExit as problem: assert problem.code == 0\nassert double(2) == 4"
        },
    },
    "line": {"command": ["python", "-c", "import answer\nassert answer.double(2) == 4"]},
    "conftest": {
        "command": "pytest -q",
        "files": {
            "conftest.py": "import answer",
            "test_it.py": "def test_it():\n    import answer\n    assert answer.double(2) == 4",
        },
    },
}


@each_row("command", ["pytest", "unittest", "script", "exits", "line", "conftest"])
def test_a_command_tests_an_answer_that_it_does_not_load(command: str) -> None:
    made = measure("def double(x): return x + x", COMMANDS[command])
    assert (made.value, made.details) == (1.0, {"passed": 1, "tests": 1}), made.reason


def of_unittest(text: str) -> dict[str, Any]:
    files = {"test_it.py": f"import unittest\nfrom answer import double\n{text}"}
    return {"command": ["python", "-m", "unittest", "-q", "test_it"], "files": files}


def of_script(text: str) -> dict[str, Any]:
    return {"command": "python t.py", "files": {"t.py": text, "helper.py": "def check(a, b): assert a == b"}}


IS_FOUR = "    def test(self): self.assertEqual(double(2), 4)"
COMMANDS |= {
    "class set up": of_unittest(
        f"class T(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls): double(2)\n{IS_FOUR}"
    ),
    "module set up": of_unittest(f"def setUpModule(): double(2)\nclass T(unittest.TestCase):\n{IS_FOUR}"),
    "module": of_unittest(f"VALUE = double(2)\nclass T(unittest.TestCase):\n{IS_FOUR}"),
    "skips": {
        "command": "python -m unittest -q",
        "files": {
            "test_it.py": "import unittest\ntry: from answer import double\nexcept ImportError: double = None\n"
            f"class T(unittest.TestCase):\n    @unittest.skipIf(double is None, 'x')\n{IS_FOUR}"
        },
    },
    "attribute": of_script("from answer import double\nassert double(2).v == 4"),
    "text": of_script("from answer import double\nassert str(double(2)) == '4'"),
    "length": of_script("from answer import double\nassert len(double(2)) == 4"),
    "helper": of_script("from helper import check\nfrom answer import *\ncheck(double(2), 4)"),
    "constant": of_script("WANT = 4\nfrom answer import *\nassert double(2) == WANT"),
    "game": of_script("import answer\nanswer.make().exit()\nassert answer.make().left == 1"),
    "star": {
        "command": "pytest -q",
        "files": {
            "test_it.py": "import pytest\nfrom answer import *\ndef test(): assert double(2) == pytest.approx(4)\n"
            "def test_raises():\n    with pytest.raises(TypeError): double(None)"
        },
    },
    "callback": {
        "command": "pytest -q",
        "files": {
            "test_it.py": "import pytest\nfrom answer import run\ndef test():\n    def check(x):\n"
            "        if x != 4: pytest.fail('x')\n    run(check)"
        },
    },
}
LEAVES = "def double(x): raise SystemExit(0)"
LEAVES_LATER = (
    "class V:\n    def __str__(self): raise SystemExit(0)\n    __len__ = __str__\n    v = property(__str__)\n"
    "def double(x): return V()"
)
TRICKS = [
    *((name, LEAVES) for name in ("class set up", "module set up", "module")),
    *((name, LEAVES_LATER) for name in ("attribute", "text", "length")),
    ("skips", "raise ImportError('x')"),
    ("helper", "def check(a, b): pass\ndef double(x): return 0"),
    ("constant", "WANT = 0\ndef double(x): return 0"),
    ("game", "import sys\ndef make(): return sys"),
    ("game", "import sys as make"),
    ("callback", "def run(check):\n    try: check(0)\n    except BaseException: pass"),
    (
        "star",
        "class C:\n    def __enter__(s): return s\n    def __exit__(s, *a): return True\nclass pytest:\n"
        "    approx = staticmethod(lambda *a: 7)\n    raises = staticmethod(lambda *a: C())\ndef double(x): return 7",
    ),
    (
        "pytest",
        "import os\nos.environ['PYTEST_ADDOPTS'] = '--co'\nfor d in ('/tmp', '/tmp/work'):\n"
        "    try: os.makedirs(d, exist_ok=True); open(d + '/conftest.py', 'w').write('collect_ignore = [\"test_it.py\"]')\n"
        "    except OSError: pass\ndef double(x): return 0",
    ),
    ("pytest", "import json\ndef double(x): return dict(json.load(open('wanted.json')))[x]"),
    ("pytest", "import os\ndef double(x): os._exit(0)"),
    ("pytest", "import pytest\ndef double(x): pytest.skip('x')"),
    ("pytest", "pytestmark = 'skip'\ntest_values = test_raises = None\ndef open(*a): return []\ndef double(x): 0"),
    ("unittest", "def load_tests(*a): return None\ndef double(x): return 0"),
    (
        "unittest",
        "open('sitecustomize.py', 'w').write('import os; os._exit(0)')\ndef abs(x): return 4\ndef double(x): return 0",
    ),
    ("unittest", "import unittest\ndef double(x): raise unittest.SkipTest('x')"),
    ("unittest", "class unittest:\n    class TestCase: pass\ndef double(x): raise SystemExit(0)"),
    *((name, "def double(x): raise SystemExit(0)") for name in ("script", "exits", "line")),
    ("exits", "def double(x): raise SystemExit(256 if x else 0)"),
    *((name, "raise SystemExit") for name in ("script", "exits", "conftest")),
]


def test_an_answer_cannot_trick_a_command() -> None:
    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda one: measure(one[1], COMMANDS[one[0]]), TRICKS))
    assert [(one.value, one.details) for one in made] == [(0.0, {"passed": 0, "tests": 1})] * len(TRICKS)


def test_a_program_is_measured_by_what_it_prints() -> None:
    tests = [{"stdin": "3\n", "stdout": "6"}, {"stdin": "4\n", "stdout": "8\n"}, {"stdin": "x", "stdout": "no"}]
    honest = (
        "import sys\ntext = input()\nprint(int(text) * 2 if text.isdigit() else 'no  ')\nprint('log', file=sys.stderr)"
    )
    assert measure(honest, tests).value == 1.0
    made = measure("print(6)", tests)
    assert made.value == pytest.approx(1 / 3)
    assert "test 2 (input '4\\n'): printed something else\nprinted:\n6" in (made.reason or "")
    assert measure("print(6)\nraise SystemExit(1)", tests).value == 0.0
    assert measure("import os\nos._exit(0)", tests).value == 0.0


@each_row(
    ("language", "answer"),
    [
        ("sh", "read n; echo $((n * 2))"),
        ("js", "console.log(require('fs').readFileSync(0) * 2)"),
        ("perl", "print <STDIN> * 2"),
    ],
)
def test_programs_run_in_other_languages(language: str, answer: str) -> None:
    tests = {"language": language, "stdin": "3\n", "stdout": "6"}
    made = measure(answer, tests)
    assert made.value == 1.0 or made.reason == missing_sandbox(CodeTests.model_validate(tests))


@each_row(
    ("tests", "why"),
    [
        ({"code": "from unittest.mock import patch\nwith patch('time.time'): assert f() == 1"}, "the test uses patch"),
        ({"code": "class Mine(Base): pass\nassert f() == 1"}, "the test derives from the answer's class Base"),
        ({"code": "import sys, subprocess\nsubprocess.run([sys.executable, '-c', answer], check=True)"}, RUNS_TEXT),
        (
            {"language": "bash", "command": "bash t.sh", "files": {"t.sh": ". ./answer.sh; test $(f) = 1"}},
            "bash runs the answer's code itself",
        ),
        (
            {"command": "python t.py", "files": {"t.py": "exec(open('answer.py').read())"}},
            "the tests name the file answer.py",
        ),
        ({"command": "python t.py", "files": {"t.py": "import answer\nanswer.x = 1"}}, "the test uses answer.x"),
    ],
)
def test_tests_that_cannot_be_isolated_are_marked_with_the_reason(tests: dict[str, Any], why: str) -> None:
    answer = "f() { echo 1; }" if "language" in tests else "class Base: pass\ndef f(): return 1"
    made = measure(answer, tests)
    assert (made.value, made.details.get("unisolated")) == (1.0, why), made.reason
    assert f"(unisolated: {why})" in (made.reason or "")


def test_a_command_that_is_not_installed_is_unscored() -> None:
    assert measure("x", {"command": "nonesuch x"}).reason == "the tests run nonesuch, which is not in /usr/bin:/bin"


def test_an_answer_gets_the_files_that_its_tests_do_not_use() -> None:
    tests = {
        "command": "pytest -q",
        "files": {
            "rates.py": "EUR = 3",
            "limits.json": "[9]",
            "wanted.json": "[[2, 6]]",
            "conftest.py": "six = 6",
            "test_it.py": "import json\nfrom answer import price\n"
            "def test_it():\n    for given, wanted in json.load(open('wanted.json')): assert price(given) == wanted",
        },
    }
    honest = "import json\nfrom rates import EUR\ndef price(x): return min(x * EUR, json.load(open('limits.json'))[0])"
    made = measure(honest, tests)
    assert (made.value, made.details) == (1.0, {"passed": 1, "tests": 1}), made.reason
    looks = "import os\ndef price(x): return 6 * any('6' in open(name).read() for name in os.listdir('.'))"
    assert measure(looks, tests).value == 0.0


def test_a_module_that_tests_run_as_a_program_is_told_apart() -> None:
    test = "import subprocess, sys\ndef test_it():\n"
    test += "    assert subprocess.check_output([sys.executable, '-m', 'answer']) == b'4\\n'"
    made = measure("print(4)", {"command": "pytest -q", "files": {"test_it.py": test}})
    assert (made.value, made.details["unisolated"]) == (1.0, "the tests run answer as a program")
