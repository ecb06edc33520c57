"""How much an installation weighs: packages and megabytes of the core, without development tools. Limits: 45, 150 MB."""

import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "venv" / "bin" / "python"
        subprocess.run(["uv", "venv", "--quiet", str(python.parent.parent)], check=True)
        subprocess.run(["uv", "pip", "install", "--quiet", "--python", str(python), str(ROOT)], check=True)
        listed = subprocess.run(
            ["uv", "pip", "list", "--quiet", "--python", str(python), "--format", "freeze"],
            check=True,
            capture_output=True,
            text=True,
        )
        packages = len(listed.stdout.split())
        site = next((python.parent.parent / "lib").glob("python*/site-packages"))
        size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file() and not path.is_symlink())
    print(f"  core: {packages} packages (limit 45), {size / 1e6:.0f} MB in site-packages (limit 150)")


if __name__ == "__main__":
    main()
