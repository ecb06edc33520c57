"""Code against code: by tokens in any language, and by syntax tree where both sides are Python.

Names of arguments and local variables, comments, spacing, brackets that change nothing and a few equal ways of writing
the same thing do not count; everything else does.
"""

import ast
import re
import textwrap

FENCE = re.compile(r"```[\w+-]*\n?(.*?)```", re.DOTALL)
TICKS = re.compile(r"`([^`\n]+)`")
TOKEN = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|\w+|[^\s\w]")
SQL = re.compile(
    r"^\s*(?:select|insert|update|delete|create|alter|drop|with)\b.+\b(?:from|into|set|table|as|where)\b", re.I | re.S
)
# Spaces of one line only before its first word: `\s*` would read the same blank lines from each of them.
STRONG = re.compile(
    r"^[^\S\n]*(?:def|class|return|import|function|const|let|var|public|private|func|fn|while)\s+\S|"
    r"^[^\S\n]*for \w+ in .+:|^[^\S\n]*from \w+ import |"
    r"^[^\S\n]*(?:if|with) .+:\s|^[^\S\n]*(?:if|with) .+:$|=>|\b\w+\([^)]*\)\s*[;{]|"
    r"[\w\])]\s*(?:==|!=|<=|>=|\+=|-=|&&|\|\||::)\s*\w|"
    r"\w\[[^\]\s]{0,300}\]|^[^\S\n]*\w+(?:\.\w+)*\([^)]*\)\s*$|^[^\S\n]*[a-z_]\w*\s*=\s*\S|"
    r"^[^\S\n]*(?:git|docker|pip|npm|curl|kubectl|ls|cd|rm|sudo|grep) [-\w./]",
    re.MULTILINE,
)
LONGEST = 20_000
MIRRORED = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
NAMED = {ast.FunctionDef: "name", ast.arg: "arg", ast.Name: "id"}


def looks_like_code(text: str) -> bool:
    text = text[:LONGEST]
    ticked = TICKS.fullmatch(text.strip())
    body = ticked.group(1) if ticked else text
    if FENCE.search(text) or SQL.search(body):
        return True
    if not STRONG.search(body):
        return False
    # Prose about code matches many patterns; small words give it away, unless it parses.
    prose = len(re.findall(r"\b(?:the|is|are|was|of|and|el|la|los|es|una?|que)\b", body.lower()))
    return prose <= len(body.split()) // 8 or (body.isascii() and _tree(body) is not None)


def extract(text: str) -> str:
    """The code of an answer: its fences, its ticks, or the text itself."""
    text = text[:LONGEST]
    fences = FENCE.findall(text)
    if fences:
        return "\n".join(fences)
    ticks = TICKS.findall(text)
    # Of several pieces in ticks the longest is the code, the others are names.
    return max(ticks, key=len) if ticks else text


def compare_code(expected: str, output: str) -> tuple[float, str]:
    """How sure it is that both do the same, and why."""
    want, got = extract(expected), extract(output)
    trees = [_tree(text) for text in (want, got)]
    if trees[0] is not None and trees[0] == trees[1]:
        return 1.0, "the syntax trees are equal"
    if _tokens(want) == _tokens(got):
        return 0.97, "the code is equal token by token"
    # Fewer than three tokens stand inside nearly every program.
    if len(_tokens(want)) >= 3 and _contains(_tokens(want), _tokens(got)):
        return 0.85, "the expected code stands in the answer"
    return 0.05, "the code differs"


def has_code(code: str, text: str) -> bool:
    """Whether the tokens of some code stand in a text, one after the other."""
    wanted = _tokens(extract(code))
    return bool(wanted) and _contains(wanted, _tokens(text.replace("`", " ")))


def _tokens(text: str) -> tuple[str, ...]:
    text = re.sub(r"(?m)(?:^|\s)(?:#|//|--\s).*$", "", text)
    # Up to the last end of a comment, so that each beginning has an end and is not looked for in vain.
    ends = text.rfind("*/") + 2
    if ends > 1:
        text = re.sub(r"/\*.*?\*/", "", text[:ends], flags=re.DOTALL) + text[ends:]
    if SQL.search(text):
        text = text.lower()
    tokens = [f'"{t[1:-1]}"' if t[0] in "\"'" and len(t) > 1 else t for t in TOKEN.findall(text)]
    return tuple(token for token in tokens if token != ";")


def _contains(want: tuple[str, ...], got: tuple[str, ...]) -> bool:
    # No token holds a line break. Searching a text takes time linear in it, whatever repeats.
    return "\n".join(("", *want, "")) in "\n".join(("", *got, ""))


def _tree(text: str) -> str | None:
    """The normal form of Python code; None where it does not parse or is no code but a word or two."""
    body = textwrap.dedent(text).strip()
    # Code of a snippet may hold `return` outside of a function: it is tried inside one.
    for source in (body, "def _f():\n" + textwrap.indent(body, "    ")):
        try:
            # Walking the tree recurses too: a sum of a thousand terms is a tree a thousand levels deep.
            return ast.dump(_normalise(_Spelled().visit(ast.parse(source))))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


class _Spelled(ast.NodeTransformer):
    """Writes `x += 1` as `x = x + 1`."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        value = ast.BinOp(left=ast.parse(ast.unparse(node.target), mode="eval").body, op=node.op, right=node.value)
        return ast.Assign(targets=[node.target], value=value)


def _normalise(tree: ast.AST) -> ast.AST:
    """Number arguments, variables and functions, write comparisons one way round, and leave out annotations and docstrings."""
    given: dict[str, str] = {}
    for node in ast.walk(tree):
        field = NAMED.get(type(node))
        # A name that is only read belongs to somebody else.
        if field and not isinstance(getattr(node, "ctx", None), ast.Load):
            given.setdefault(getattr(node, field), f"v{len(given)}")
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in MIRRORED:
            node.ops, node.left, node.comparators = [MIRRORED[type(node.ops[0])]()], node.comparators[0], [node.left]
        if isinstance(node, ast.FunctionDef):
            node.returns, node.body = None, node.body[ast.get_docstring(node, clean=False) is not None :]
        if isinstance(node, ast.arg):
            node.annotation = None
    for node in ast.walk(tree):
        if field := NAMED.get(type(node)):
            setattr(node, field, given.get(getattr(node, field), getattr(node, field)))
    return tree
