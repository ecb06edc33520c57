"""Code against code: by tokens in any language, and by syntax tree where both sides are Python.

Names of arguments and local variables, comments, spacing, brackets that change nothing and a few equal ways of writing
the same thing do not count; everything else does.
"""

import ast
import re
import textwrap
from difflib import SequenceMatcher

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
TURNED = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.In: ast.NotIn}


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
    # In any order: looking for the same order takes long where tokens repeat, and the share stays far below right.
    share = SequenceMatcher(None, _tokens(want), _tokens(got), autojunk=False).quick_ratio()
    return 0.35 * share, f"the code differs; tokens alike {share:.2f}"


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
            return ast.dump(_Names().visit(_Plain().visit(ast.parse(source))))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


class _Plain(ast.NodeTransformer):
    """Equal ways of writing the same thing become one."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        # a > b and b < a are the same comparison.
        mirrored = MIRRORED.get(type(node.ops[0])) if len(node.ops) == 1 else None
        if mirrored is not None:
            node.left, node.comparators, node.ops = node.comparators[0], [node.left], [mirrored()]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        inner = node.operand
        if isinstance(node.op, ast.Not) and isinstance(inner, ast.Compare) and type(inner.ops[0]) in TURNED:
            return ast.Compare(inner.left, [TURNED[type(inner.ops[0])]()], inner.comparators)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        value = ast.BinOp(left=ast.parse(ast.unparse(node.target), mode="eval").body, op=node.op, right=node.value)
        return ast.Assign(targets=[node.target], value=value)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        self.generic_visit(node)
        text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if text else node


class _Names(ast.NodeTransformer):
    """Arguments, local variables and functions by the order of their appearance; annotations are left out."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._given.setdefault(node.name, f"f{len(self._given)}")
        node.returns, node.decorator_list = None, [self.visit(one) for one in node.decorator_list]
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            argument.arg, argument.annotation = self._given.setdefault(argument.arg, f"v{len(self._given)}"), None
        node.body = [self.visit(one) for one in node.body] or [ast.Pass()]
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Store):
            self._given.setdefault(node.id, f"v{len(self._given)}")
        node.id = self._given.get(node.id, node.id)
        return ast.Name(id=node.id, ctx=ast.Load())
