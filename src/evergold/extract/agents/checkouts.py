"""Find the repository's folder on the machine of a session: absolute paths of a log → paths in the repository.

The machine may be another one, the folder gone, the work done in a sub-folder, in a second work tree, behind a symbolic link. So
nothing is looked up on disk: each path of the session that ends in a file of the repository votes for the folder before
that, and folders that are confirmed by where the session worked, or by several files, are checkouts.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from evergold.extract.agents.shell_acts import joined

ENOUGH_VOTES = 3


class Checkouts:
    def __init__(self, tracked: Collection[str], paths: Iterable[str], folders: Iterable[str]) -> None:
        votes = Counter(root for path in paths if (root := _root_of(path, tracked)) is not None)
        worked_in = list(dict.fromkeys(folders))
        self.roots = {
            root
            for root, count in votes.items()
            # One vote may be chance (a file README.md exists
            # everywhere); three files, or the folder worked in, are not.
            if count >= ENOUGH_VOTES or not worked_in or any(_inside(at, root) or at == root for at in worked_in)
        }
        # Nothing matched: the session may have worked on files that are new, so its first folder is believed.
        if not self.roots:
            self.roots = set(worked_in[:1])
        # The longest root first: a work tree may lie inside the main checkout.
        self._by_length = sorted(self.roots, key=len, reverse=True)
        first = worked_in[0] if worked_in else ""
        self._main = next((root for root in self._by_length if first == root or _inside(first, root)), "")

    def locate(self, path: str, folder: str | None) -> tuple[str, str] | None:
        """(checkout, path in the repository); None for a path that lies outside all of them.

        A path that starts nowhere, as git prints it, is one of the repository.
        """
        # A URL, a home folder or a variable cannot be resolved without the machine of the session.
        if "://" in path or path.startswith(("~", "$")):
            return None
        full = joined(folder, path)
        if not full.startswith("/"):
            return None if full.startswith("..") or full == "." else (self._main, full)
        for root in self._by_length:
            if _inside(full, root):
                return root, full[len(root.rstrip("/")) + 1 :]
        return None


def _root_of(path: str, tracked: Collection[str]) -> str | None:
    """The folder before the longest end of the path that is a file of the repository."""
    if not path.startswith("/"):
        return None
    at = path.find("/", 1)
    while at >= 0:
        if path[at + 1 :] in tracked:
            return path[:at]
        at = path.find("/", at + 1)
    return None


def _inside(path: str, root: str) -> bool:
    return path.startswith(root.rstrip("/") + "/")
