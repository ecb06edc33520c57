"""The SDK imports and spools where there is no `fcntl`: on Windows."""

import subprocess
import sys
from pathlib import Path

HIDDEN = """
import sys
sys.modules["fcntl"] = None  # as on Windows: importing it raises ImportError
from types import ModuleType
windows = ModuleType("msvcrt")
windows.LK_LOCK, windows.LK_NBLCK, windows.locking = 1, 2, lambda descriptor, mode, size: None
sys.modules["msvcrt"] = windows
from pathlib import Path
import evergold
from evergold.sdk.delivery import Spool
import evergold.sdk.client, evergold.sdk.delivery, evergold.sdk.transports
assert callable(evergold.connect)
spool = Spool(Path(sys.argv[1]), 10_000)
assert spool.keep([{"type": "score"}]) == 1
spool.seal()
print([records for records, torn, path in spool.list_ripe()])
"""


def test_the_sdk_needs_no_fcntl(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", HIDDEN, str(tmp_path)], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.strip()) == (0, "[[{'type': 'score'}]]"), ran.stderr
