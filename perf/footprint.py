"""How much an installation weighs: packages and megabytes of the core, without development tools. Limits: 45, 150 MB."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from perf.measuring import print_figure

ROOT = Path(__file__).parent.parent


def the_uv() -> str:
    """The machine's own uv, or the one that `make setup` installed beside Python."""
    program = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if program is None:
        raise SystemExit("footprint: left out, there is no uv; `make setup` installs it")
    return program


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "venv" / "bin" / "python"
        subprocess.run([the_uv(), "venv", "--quiet", str(python.parent.parent)], check=True)
        subprocess.run([the_uv(), "pip", "install", "--quiet", "--python", str(python), str(ROOT)], check=True)
        listed = subprocess.run(
            [the_uv(), "pip", "list", "--quiet", "--python", str(python), "--format", "freeze"],
            check=True,
            capture_output=True,
            text=True,
        )
        packages = len(listed.stdout.split())
        site = next((python.parent.parent / "lib").glob("python*/site-packages"))
        size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file() and not path.is_symlink())
    good = print_figure("packages of the core", packages, "packages", 45)
    return 0 if print_figure("site-packages of the core", size / 1e6, "MB", 150) and good else 1


if __name__ == "__main__":
    sys.exit(main())
