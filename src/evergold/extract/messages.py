"""A commit's message and paths → the request it answers, and its kind.

The request is what a person would have asked for: the subject and the body, without trailers, numbers of issues and
pull requests, links to them, templates, and the list of commits that a squash leaves behind. Trailers and numbers are
kept beside it. Of a merge that only says which branch it merged, nothing is left.

The kind comes from the paths first (a commit that touches documentation alone is documentation whatever it says) and
from the words second. Each rule is a line of a table; the first that fits decides.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from evergold.errors import BadInput


class CommitKind(StrEnum):
    FEATURE = "feature"
    FIX = "fix"
    REFACTOR = "refactor"
    DOCS = "docs"
    TESTS = "tests"
    DEPENDENCY = "dependency"
    CI = "ci"
    RELEASE = "release"
    REVERT = "revert"
    MERGE = "merge"

    @classmethod
    def read_list(cls, text: str) -> tuple["CommitKind", ...]:
        """The kinds of a comma-separated list; `all` stands for every kind."""
        names = [name.strip().lower() for name in text.split(",") if name.strip()]
        unknown = [name for name in names if name != "all" and name not in tuple(cls)]
        if unknown or not names:
            raise BadInput(f"unknown kind of commit {', '.join(unknown) or text!r} (valid: {', '.join(cls)}, all)")
        return tuple(cls) if "all" in names else tuple(cls(name) for name in dict.fromkeys(names))


# Kinds whose commits answer a request by changing code.
DEFAULT_KINDS = (CommitKind.FEATURE, CommitKind.FIX, CommitKind.REFACTOR)


class Message(NamedTuple):
    """`title` is the first line with the numbers that the query goes without."""

    query: str
    issues: tuple[str, ...]
    trailers: tuple[tuple[str, str], ...]
    title: str = ""

    @property
    def subject(self) -> str:
        return self.query.partition("\n")[0]


_TRAILER = re.compile(r"([A-Za-z][A-Za-z0-9-]*): (.+)")
# Trailers that tools write into any paragraph, not only the last.
_KNOWN_TRAILER = re.compile(
    r"((?:co-?authored|signed-off|reviewed|acked|tested|reported|suggested|approved|helped|released|generated|merged|"
    r"co-developed|assisted)-?by|change-id|cc|pr-url|reviewed-on|original-commit|cherry-picked-from|link|git-svn-id|"
    r"claude-session|entire-[a-z]+|codex-session|agent-session|issue|bug|ticket|jira|backport|differential revision|"
    r"closes|fixes|resolves|refs?|see also|depends-on|pull-request|merge-request|gitorigin-revid)[ ]?:[ ]?(.+)",
    re.I,
)
# `&#12;` is an HTML entity, `abc#12` an anchor; neither cites an issue.
_ISSUE = re.compile(r"(?<![\w&])(?:#|GH-)(\d+)\b")
_LINK = r"https?://[^\s)\]>:]{1,120}/(?:issues|pull|pulls|merge_requests|pull-requests|browse|ticket|bugs?)/[\w#?=./-]*[\w/]"
_NUMBER = rf"(?:<?{_LINK}>?|(?<![\w&])(?:[\w.-]{{1,80}}/[\w.-]{{1,80}})?(?:#|GH-|gh-|!)\d+\b|\bbpo-\d+\b)"
_NUMBERS = rf"{_NUMBER}(?:(?:,| and| &|;)? *{_NUMBER})*"
_CITED = (
    r"(?:(?:this )?(?:partially |also )?(?:clos|fix|resolv|address|implement|complet|finish)(?:es|ed|e|s|ing)?"
    r"|refs?|references|see(?: also)?|relate[sd](?: to)?|part of|follow[- ]?up (?:to|of|on)|cf|per|from|in|via|after|by|of|for|to"
    r"|backport(?:s|ed)?(?: of)?|issues?|bugs?|tickets?|prs?|pull requests?|merge requests?|mr|gh)"
)
_CITATION = rf"(?:{_CITED}:? +)*{_NUMBERS}(?:(?:,| and| &|;)? *(?:{_CITED}:? +)*{_NUMBERS})*"
_CITING = re.compile(_NUMBER, re.I)
# A longer line is no sentence of a person, and the patterns below take time by the square of its length.
_LONGEST_SENTENCE = 1000
_REFERENCES = (
    # "(#12)", "(fixes #12, closes #13)", "[#12]": whole brackets that hold nothing but citations.
    re.compile(rf"\s*[(\[]{_CITATION}[.,]?[)\]]", re.I),
    # "Fixed #12 -- Made it so", "GH-12: Make it so"; a line that is a citation and nothing else.
    re.compile(rf"^{_CITATION}(?: *(?:--|[-:–—])+ *|[.]?$| +(?=(?-i:[A-Z])))", re.I),
    # "…, closes #12", "as reported in issue #12 and PR #13": at the end of a clause.
    re.compile(rf"(?:,|;| and| –| —| -+)?\s+{_CITATION}(?=[.,;:!)\]]*(?:\s*$|\. ))", re.I),
    # "Fix bug #12 in the parser": the words around a number in the middle of a sentence are needed.
    re.compile(rf"\s*(?:\b(?:issue|pr|pull request|ticket) +)?{_NUMBERS}", re.I),
)
_MERGE_SUBJECT = re.compile(
    r"(?:Merge (?:pull request|branch|branches|remote-tracking branch|tag|commit|PR|changes|[\w./-]+ into)\b"
    r"|Merge:? (?:#\d+|'|\"|[0-9a-f]{7})|Merged in |Auto merge of |Merge$|Merging ).*",
    re.I,
)
_NOISE_LINE = re.compile(
    r"\(cherry picked from commit .*|\(backported from .*|git-svn-id: .*|See merge request .*|#? ?Conflicts:.*|[-_=]{3,}"
    r"|[-*] \[[ xX]\] .*|<!--.*-->|Squashed commit of the following:|This reverts commit .*|\U0001f916 Generated with .*"
    r"|\[(?:skip ci|ci skip|no ci)\]|[A-Z][A-Z_-]{3,}=\S+|--HG--|(?:branch|extra) : .*"
    r"|(?:created|imported|exported|synced|generated) (?:by|from|with) .*",
    re.I,
)
_SQUASHED = re.compile(r"commit [0-9a-f]{7,64}\nAuthor: ")
# What one writes for oneself while working: as an entry of a list it marks the list as a log of commits.
_LOG_WORDS = re.compile(
    r"[*+-] +(?:wip|try|more|te?mp|oops|fixups?|fix(?:ed|es)?(?: (?:lint\w*|tests?|typos?|ci|build|format\w*|mypy|merge))?"
    r"|lint\w*|format\w*|tests?|(?:address|apply|review|pr|code)(?: \w+)* (?:review|comments?|feedback|suggestions?)"
    r"|review|suggestions|merge .*|nits?|cleanup|updates?|add tests?|typos?|squash|changelog|black|rebase|\.+"
    r"|[\w-]*pre-commit.*|apply suggestions from .*|update [\w./-]+)[.!]*",
    re.I,
)
# The look-behind keeps a run of blanks from being tried at each of its positions.
_SPACES = re.compile(r"(?<![ \t])[ \t]+\n")


def read_message(text: str) -> Message:
    """Part a message into the request, the numbers of issues it cites, and its trailers."""
    clean = _SPACES.sub("\n", text.replace("\r\n", "\n").strip())
    paragraphs = [part.strip("\n") for part in clean.split("\n\n")]
    trailers: list[tuple[str, str]] = []
    # A message of one paragraph is its subject, even if it reads like a trailer (`fix: typo`).
    while len(paragraphs) > 1 and (result := _read_trailers(paragraphs[-1])):
        trailers[:0] = result
        paragraphs.pop()
    if paragraphs and _MERGE_SUBJECT.fullmatch(paragraphs[0].split("\n", 1)[0]):
        rest = paragraphs[0].split("\n", 1)[1:]
        paragraphs = [*rest, *paragraphs[1:]]
    query = _without_noise(_without_log(paragraphs), trailers)
    issues, title = tuple(dict.fromkeys(_ISSUE.findall(text))), query.partition("\n")[0]
    return Message(_without_numbers(query), issues, tuple(trailers), title)


def _read_trailers(paragraph: str) -> list[tuple[str, str]]:
    """The trailers of a last paragraph that holds nothing else; a folded line belongs to the one before."""
    results: list[tuple[str, str]] = []
    for line in paragraph.split("\n"):
        if results and line.startswith((" ", "\t")):
            results[-1] = (results[-1][0], f"{results[-1][1]} {line.strip()}")
        elif match := _TRAILER.fullmatch(line) or _KNOWN_TRAILER.fullmatch(line):
            results.append((match[1], match[2].strip()))
        elif not _NOISE_LINE.fullmatch(line.strip()):
            return []
    return results


def _without_log(paragraphs: list[str]) -> list[str]:
    """Drop the list of commits a squash leaves behind; a list that explains the change stays."""
    if not paragraphs:
        return []
    for at, paragraph in enumerate(paragraphs[1:], start=1):
        if _SQUASHED.match(paragraph):
            return paragraphs[:at]
        if not paragraph.startswith(("* ", "- ", "+ ")):
            continue
        # GitHub parts the entries of a log by empty lines; people write a list as one paragraph.
        mark = paragraph[:2]
        apart = mark == "* " and sum(part.startswith(mark) for part in paragraphs[at:]) > 1
        squashed = mark == "* " and _ISSUE.search(paragraphs[0]) is not None and paragraph.count("\n") == 0
        if apart or squashed or any(_LOG_WORDS.fullmatch(line) for line in paragraph.split("\n")):
            return paragraphs[:at]
    # A subject that is itself an entry of a log says nothing.
    return ["", *paragraphs[1:]] if _LOG_WORDS.fullmatch(paragraphs[0]) else paragraphs


def _without_noise(paragraphs: list[str], trailers: list[tuple[str, str]]) -> str:
    """Drop what tools wrote between the words of a person: trailers, templates, notes of a merge."""
    kept: list[str] = []
    for at, paragraph in enumerate(paragraphs):
        lines: list[str] = []
        for number, line in enumerate(paragraph.split("\n")):
            known = _KNOWN_TRAILER.fullmatch(line.strip()) if at or number else None
            if known:
                trailers.append((known[1], known[2].strip()))
            elif not _NOISE_LINE.fullmatch(line.strip()):
                lines.append(line)
            elif "conflicts:" in line.lower():
                break  # the files in conflict follow
        kept.append("\n".join(lines))
    return "\n\n".join(part for part in kept if part.strip())


def _without_numbers(query: str) -> str:
    """Drop the numbers of issues and pull requests with the words that only introduce them."""
    kept: list[str] = []
    for line in query.split("\n"):
        shorter = line
        if len(line) <= _LONGEST_SENTENCE and _CITING.search(line):
            for pattern in _REFERENCES:
                shorter = pattern.sub("", shorter)
        if shorter == line:
            kept.append(line)
        elif re.search(r"\w", shorter):
            kept.append(shorter.rstrip(" ,;-"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


# Words that say that something was done and not what.
_EMPTY_WORDS = (
    "a an the of for to in on at by with and or from into as is are be it its this that some more another other few misc "
    "various minor small little tiny quick simple fix fixup hotfix bug issue problem error wip work progress review comment "
    "feedback address pr lint linter test merge conflict oops again add remove style format typo whitespace initial first "
    "commit draft temp tmp done bit feat chore nit we i my our new use uses used using make so code stuff thing up not no do "
    "if when while only which there their can could should would will was were has have than then all any every each always "
    "never don't doesn't isn't but out via per make now also just bugfix resolve correct repair patch"
)
# How many words must name something after a verb; after others three. Of "improve" a reader asks in what way.
_NEEDED_WORDS = {
    2: "add remove",
    4: "refactor clean cleanup tidy update change modify simplify reorganize restructure modernize rewrite start begin "
    "continue finish try attempt experiment prepare initial first more some several towards play wire setup",
    6: "improve improvement enhance enhancement better polish tweak adjust optimize optimise minor various misc small rework",
}
_WORD = re.compile(r"(?<!\w)[^\W\d_][\w.'-]*|\d+(?:\.\d+)+")
_PARTS = re.compile(r"[._-]|(?<=[a-z])(?=[A-Z])")
_NAMING = re.compile(r"[^\W\d_]\w")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ied|ed|ies|es|s|e|y|ion|ions|ment|ments|er|ers|ly)$")


def _stem(word: str) -> str:
    return _ENDING.sub("", word.lower())


_NEEDED = {_stem(word): count for count, words in _NEEDED_WORDS.items() for word in words.split()}
_EMPTY = frozenset(map(_stem, _EMPTY_WORDS.split())) | _NEEDED.keys()
# Bytes of a change that few words can tell, and in which they need not come again.
_SMALL_CHANGE = 48
NO_WORDS = "its message says too little"
SEVERAL_THINGS = "does several things at once"
_UNFINISHED = re.compile(
    r"(?:an? |the )?(?:first|initial|second|another|quick|rough) (?:cut|pass|attempt|stab|try|draft|steps?|go|shot|take)\b|"
    r"(?:fixup|squash|amend)! |(?:\W*|.*\W)(?:wip|work[- ]in[- ]progress)\b|(?:draft|te?mp|checkpoint|save|play)\b"
    r"|(?:some |more |small |further )*(?:progress|work\w*|steps?|thoughts|ideas?)\b|.*\?$"
    r"|(?:pull|sync|merg|import)\w* (?:all|the|in|latest|upstream|changes|some)\b"
    # What GitHub proposes for an edit on its pages: the verb and the name of the file.
    r"|(?:update|create|delete|rename|edit) [`'\"]?[\w/.@-]+\.\w+[`'\"]?(?: (?:to|for|in|as) .{0,20})?$",
    re.I,
)
# Better than it was, but in what?
_COMPARED = re.compile(
    r"\b(?:more|better|nicer|easier|cleaner|proper|some|several|various|unnecessary|unneeded|unused)\b", re.I
)
_CHANGE = (
    r"(?:fix|add|remov|updat|refactor|renam|improv|clean|bump|upgrad|mov|implement|replac|tweak|delet|drop|chang)"
    r"(?:e?d|es|e|ing|s|up)?\b"
)
_LISTED = re.compile(r"\n(?:[A-Z]|[-*+] )")
_CHANGE_LINES = re.compile(rf"^[ \t]*[-*+]?[ \t]*{_CHANGE}", re.I | re.M)
# A second thing done in the same breath; tests and documents of the first are none.
_SECOND_THING = re.compile(
    rf"(?:[;,.+&]|\band\b|\s-)\s*(?:also |then )*{_CHANGE}(?! (?:it|them|its|that|up|\S*tests?|(?:\S+ )?tests?"
    r"|(?:the |some )?docs?|documentation|readme\S*|changelog\S*)\b)"
    r"|(?:[;,.+&]|\band\b)\s*(?:also|minor|some|small|misc)\b|, and \w+ing\b|\betc\b|\band more\b|(?:[.;] +\S.*){2}",
    re.I,
)


def find_stems(text: str) -> set[str]:
    """The stems of the words that name something; a name in code counts by its parts."""
    return {_stem(part) for word in _WORD.findall(text) for part in _PARTS.split(word) if _NAMING.search(part)} - _EMPTY


def mentions(changed: bytes, stems: Iterable[str]) -> bool:
    """Whether one of the stems is in a text of lower case."""
    return any(stem.encode() in changed for stem in stems if len(stem) > 2)


def why_no_request(query: str, min_words: int, changed: bytes | None = None) -> str:
    """Why a text does not say what is wanted; "" where it does.

    How much it must name depends on the verb: after "improve" more than after "add". Something that
    it names has to be in the paths and lines that `changed`, in lower case, if these are more than a few.
    """
    if not min_words:
        return ""
    subject, _, body = _MARKS.sub("", query).partition("\n")
    subject = (_CONVENTIONAL.sub("", subject, count=1) or subject)[:_LONGEST_SENTENCE]
    first = _WORD.search(subject)
    stems = find_stems(query)
    needed = _NEEDED.get(_stem(first[0]) if first else "", 3) + 2 * bool(_COMPARED.search(subject))
    is_small = changed is not None and len(changed) < _SMALL_CHANGE
    if len(query.split()) < min_words or len(stems) < (2 if is_small else needed) or _UNFINISHED.match(subject):
        return NO_WORDS
    second_thing = not body.strip() and _SECOND_THING.search(subject)
    # A list instead of a subject: lines that begin a sentence or are marked, before the first empty one.
    listed = len(_LISTED.findall(query.partition("\n\n")[0]))
    if second_thing or listed > 1 or len(_CHANGE_LINES.findall(query)) > 2:
        return SEVERAL_THINGS
    # Two words are enough where both are in what changed.
    parts = [{stem} for stem in stems] if len(stems) < 3 else [stems]
    return "" if changed is None or is_small or all(mentions(changed, part) for part in parts) else NO_WORDS


_BOT = re.compile(
    r"\[bot\]|\bbot\b|-bot\b|dependabot|renovate|greenkeeper|pre-commit-ci|github-actions|snyk|weblate|pyup|allcontributors|"
    r"semantic-release|imgbot|mergify|bors\b|homu|codecov|copybara|autoroller|crowdin|transifex",
    re.I,
)


def is_bot(author: str, message: Message) -> bool:
    """Whether a program wrote the commit, by the author's name or the trailer of its signature."""
    signed = [value for name, value in message.trailers if name.lower() == "signed-off-by"]
    return any(_BOT.search(name) for name in (author, *signed[:1]))


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.I)


# Files that nobody writes: fetched, generated, recorded, locked.
_NOISE = _any_of(
    r"(?:.*/)?(?:vendor|third_party|node_modules|dist|__snapshots__)/.*",
    r".*\.(?:min\.(?:js|css)|map|snap|lock|lockfile|pb\.\w+|generated\.[^/]*|designer\.cs|g\.dart|orig|rej)$",
    r".*(?:_pb2(?:_grpc)?\.py|-lock\.(?:json|yaml)|npm-shrinkwrap\.json|go(?:\.work)?\.sum|package\.resolved)$",
)
# Files that work on code leaves behind: pictures, what is listed by release, and what one tried things out in.
_LEFT_BEHIND = _any_of(
    r".*\.(?:svg|png|jpe?g|gif|ico|webp|pdf|log|pbxproj|xcscheme|iml)$|(?:.*/)?(?:newsfragments?|change(?:log|s)\.d|\.changes(?:et)?)/.*",
    r"(?:.*/)?(?:changelogs?|changes|history|news|releases?|release[-_]?notes)(?:\.(?:md|mdx|rst|txt|adoc|html|textile|rdoc))?$",
    r"(?:.*/)?(?:play(?:ground)?|scratch(?:pad)?|tmp|temp)(?:/.*|\.\w+)$",
)
# Which kind of work a file alone stands for, by its path.
_FILES = {
    CommitKind.CI: _any_of(
        r"(?:.*/)?\.(?:github|gitlab|circleci|travis|buildkite|husky|vscode|idea|devcontainer|changeset|ci)/.*",
        r"(?:.*/)?(?:\.gitlab-ci|\.travis|\.?appveyor|azure-pipelines[^/]*|\.pre-commit-config|codecov|\.golangci"
        r"|\.?readthedocs|\.goreleaser)\.ya?ml$",
        r"(?:.*/)?(?:jenkinsfile[^/]*|tox\.ini|noxfile\.py|mypy\.ini|pytest\.ini|\.?ruff\.toml|renovate\.json5?)$",
        r"(?:.*/)?\.(?:git(?:ignore|attributes|modules|-blame-ignore-revs)|editorconfig|coveragerc|flake8|pylintrc)$",
        r"(?:.*/)?\.(?:mailmap|npmignore|npmrc|nvmrc|jshintrc|dockerignore|eslint[^/]*|prettier[^/]*|nycrc[^/]*)$",
        r"(?:.*/)?(?:eslint\.config\.\w+|codeowners)$|(?:scripts/)?ci/.*",
    ),
    CommitKind.TESTS: _any_of(
        r"(?:.*/)?(?:tests?|testing|specs?|__tests__|test_?data|fixtures|e2e|benchmarks?|acceptance)/.*",
        r"(?:.*/)?(?:test_[^/]*|test\.\w+|[^/]*[_.-](?:tests?|spec)\.\w+|conftest\.py|[^/]*tests?\.(?:java|cs|kt|php|swift))$",
    ),
    CommitKind.DOCS: _any_of(
        r"(?:.*/)?(?:docs?|docs_src|documentation|man|examples?|website|site|translations?|locale|blog)/.*",
        r"(?:.*/)?(?:changelog\.d|changes\.d|newsfragments?|\.changes|release-notes)/.*",
        r".*\.(?:md|mdx|rst|adoc|asciidoc|png|jpe?g|gif|svg|pdf|ico|po|pot|tex|[1-8]\.in)$",
        r"(?:.*/)?(?:readme|changelog|changes|history|news|licen[sc]e|copying|authors|contribut(?:ors|ing)|notice"
        r"|maintainers|security|code_of_conduct|todo|citation|thanks|mkdocs|funding)(?:[._-][^/]*)?$",
    ),
    CommitKind.DEPENDENCY: _any_of(
        r"(?:.*/)?(?:requirements|constraints)[^/]*$|requirements/.*|(?:.*/)?go\.(?:mod|sum|work)$",
        r"(?:.*/)?(?:[^/]*\.lock|[^/]*lock\.(?:json|yaml)|npm-shrinkwrap\.json|pipfile|gemfile|packages\.config)$",
        r"(?:.*/)?(?:(?:package|composer|bower|component|vcpkg)\.json|pyproject\.toml|setup\.(?:py|cfg)|cargo\.toml)$",
        r"(?:.*/)?(?:[^/]*\.gemspec|pom\.xml|build\.gradle(?:\.kts)?|environment\.ya?ml|mix\.exs|[^/]*\.csproj)$",
        r"(?:.*/)?(?:libs\.versions\.toml|directory\.packages\.props|package\.swift|deps\.edn|project\.clj)$",
    ),
}
# `fix(parser)!: …`: who writes such a prefix has named what kind it is.
_CONVENTIONAL = re.compile(r"^([a-z]+)(?:\(([^)]*)\))?!?: ?", re.I)
_SCOPE = re.compile(r"[\w/.,*-]+: +(?=\w)")
_PREFIX_KINDS = {
    **dict.fromkeys(("feat", "feature", "features"), CommitKind.FEATURE),
    **dict.fromkeys(("fix", "bug", "bugfix", "hotfix", "security", "regression"), CommitKind.FIX),
    **dict.fromkeys(("refactor", "perf", "cleanup", "types", "typing"), CommitKind.REFACTOR),
    **dict.fromkeys(("docs", "doc", "documentation", "readme", "changelog"), CommitKind.DOCS),
    **dict.fromkeys(("test", "tests"), CommitKind.TESTS),
    **dict.fromkeys(("deps", "dep", "dependencies"), CommitKind.DEPENDENCY),
    **dict.fromkeys(("ci", "build", "style", "lint", "workflow", "workflows", "actions"), CommitKind.CI),
    "release": CommitKind.RELEASE,
}
_SCOPES = (
    *(("dep", CommitKind.DEPENDENCY), ("vendor", CommitKind.DEPENDENCY), ("release", CommitKind.RELEASE)),
    *(("doc", CommitKind.DOCS), ("readme", CommitKind.DOCS), ("ci", CommitKind.CI), ("test", CommitKind.TESTS)),
)
_VERSION = r"v?\d+(?:\.\d+)+(?:[-.]?(?:a|b|rc|alpha|beta|dev|pre|post|final|canary|next)[-.]?\d*)*"
_ARTICLES = r"(?:(?:a|some|the|our|all|minor|small|few|more|several|various|another|new) )*"
_UPDATE = r"(?:update|upgrade|bump|pin|unpin|lock|refresh|use|require)(?:s|d|ed)?"
_DOCUMENTS = (
    r"(?:docs?|documentation|docstrings?|comments?|examples?|readme\S*|changelog|spelling|wording|copyright\w*)"
)
_TOOLS = r"(?:black|isort|ruff|prettier|gofmt|clang-format|eslint|flake8|pyupgrade|autopep8|pre-?commit|rustfmt|mypy)"
_SUBJECTS = {
    CommitKind.RELEASE: _any_of(
        rf"(?:[\w./@-]+[ @])?{_VERSION}[.!]?$",
        r"(?:version|releas(?:e|es|ed|ing)|tag|cut|publish|prepar(?:e|ing)|start(?:ing)?|finali[sz]e)\b"
        rf"(?:[ :-]+(?:the|for|of|to|version|release|stable|dev\w*|as|new|next|up))*[ :-]*[\w.-]*[ -]?{_VERSION}\b",
        r"bump(?:s|ed|ing)? (?:the |\w+ )?(?:version|release)",
        rf"bump(?:s|ed|ing)? (?:to|up to)? ?{_VERSION}[.!]?$",
        r"(?:update|set|increase|increment|change|bump) (?:the )?(?:\w+ )?version(?: number| string)?(?: to| for|$)",
        rf"(?:bump|prepare|update|set)(?: \w+)? (?:for|to) (?:the )?(?:next )?(?:{_VERSION}|release|dev(?:elopment)?)",
        r"back to dev|post[- ]release|next (?:development )?(?:version|iteration)|version bump|new release",
        r"prep(?:are|ping)? (?:for )?(?:the )?(?:next )?release|(?:add |update )?release notes?\b|release$|v\d+$",
    ),
    CommitKind.DEPENDENCY: _any_of(
        r"bump(?:s|ed)? (?:\S+ )*from \S+ to \S+|bump(?:s|ed)? (?:the )?\S+ group\b|\[security\] bump",
        rf"{_UPDATE} {_ARTICLES}(?:(?:to|dev|development|npm|python|go|rust|node|test|docs?|example|build) )*"
        r"(?:dependenc\w+|deps|requirements?|packages|lock ?files?|modules|submodules?|pins|pinned \w+|vendor\w*)\b",
        rf"{_UPDATE} (?:the )?(?:dependency )?[\w@./-]+(?: requirement)? (?:from \S+ )?to [\w@./-]* ?{_VERSION}",
        rf"{_UPDATE} [\w@/-]+ ?(?:to|=>|->|=) ?v?\d|bump (?:https?://|[\w-]+(?:\.[\w-]+)*/)\S+",
        r"(?:\w+: ?)?[\w@/.-]+ ?(?:>=|==|~>|@)[ ~^]*\d",
    ),
    CommitKind.DOCS: _any_of(
        rf"(?:\w+: )?(?:(?:fix|correct|typo)\w*:? {_ARTICLES})?"
        r"(?:typos?|spelling|grammar|misspell\w*|docstrings?|comments?)\b",
        rf"(?:fix|improve|update|add|expand|clarify|tweak|reword|correct|remove|change)\w* (?:\S+ ){{0,2}}{_DOCUMENTS}"
        r"(?:\b(?! (?:generat|build|command|option|pars|handl|string))|$)",
        r"doc(?:s|ument(?:ed|ing|s|ation)?)\b|.* (?:docs|documentation|readme\S*|docstrings?|examples?|links?)[.]?$",
        r".*\btypos?\b",
    ),
    CommitKind.TESTS: _any_of(
        r"(?:add|fix|improve|update|extend|more|remove|adjust|move|write|wrote|port|refactor|rename|clean ?up|skip"
        r"|correct|enable|disable)\w* (?:\S+ ){0,3}(?:tests?|specs?|test cases?|test suite|coverage)"
        r"(?:$|\b(?! ?(?:client|runner|\w+ client|request|helper|utilit|framework)))"
        r"(?!.* and (?!\S*tests?\b)(?:fix|add|mak|chang|us)\w*)",
        r"tests? |.* benchmarks?[.]?$",
    ),
    CommitKind.CI: _any_of(
        rf"(?:run|apply|use|ran|applied|switch to|(?:re)?format|check)\w* (?:\S+ )?{_TOOLS}\b",
        r"(?:fix|pacify|satisfy|please|silence|lint|resolve|address)\w* (?:\S+ )?"
        rf"(?:lint\w*|{_TOOLS}|pylint|pep8|jshint|gol\w+|clippy|formatting|whitespace|indentation|(?:code )?style)\b",
        r"(?:re-?)?format(?:ted|ting)? (?:code|files|everything|source)|whitespace|pep ?8|lint(?:ing)?$|pre-commit",
        r"(?:travis|github actions?|circleci|appveyor|ci)\b",
    ),
    CommitKind.REFACTOR: _any_of(
        r"(?:refactor|renam|mov|extract|simplif|clean|tid[iy]|reorgani[sz]|restructur|inlin|dedup|split|moderni[sz]"
        r"|consolidat|unif|streamlin|polish|rewrit|rework|rearrang|reorder|optimi[sz]|replac|convert|migrat|factor|merg"
        r"|separat|sort)\w*\b",
        r"(?:drop|remov|delet)\w* (?:\S+ ){0,2}"
        r"(?:unused|dead|unnecessary|unneeded|redundant|duplicate\w*|obsolete|legacy|deprecated|useless|extra|stale)\b",
        r"(?:add|fix|improve|use|update)\w* (?:\S+ ){0,3}(?:type ?(?:hints?|annotations?)|typing|annotations)\b",
        r"speed up|use \S+ instead of",
    ),
    CommitKind.FIX: _any_of(
        r"(?:\S+: )?(?:fix|bugfix|hotfix|correct|resolv|repair|prevent|avoid|handl|guard|work ?around|ensur|patch|mend"
        r"|restor|stop|do not|don't|never|properly|make sure|bug)\w*\b",
        r".*\b(?:bugs?|crash\w*|regression|broken|leak\w*|incorrect\w*|race condition|deadlock|wrong\w*|fix(?:es|ed)?"
        r"|exceptions? (?:when|if|in|on)|panic\w*|overflow|vulnerab\w*|typeerror|segfault)\b",
    ),
}
# With a manifest among the files; what else changed came with the new version.
_UPGRADE = re.compile(rf"(?:bump|upgrad)\w*\b|{_UPDATE} (?:to )?(?:the )?(?:latest|newest|new|[\w@./-]+ v?\d)", re.I)
_BESIDE_CODE = (CommitKind.DOCS, CommitKind.TESTS, CommitKind.CI)
# Marks in front of a subject: "[1.2.x] ", ":bug: ", an emoji.
_MARKS = re.compile(r"^(?:\[[^\]]*\] *|:[a-z_0-9]+: *|[^\w\s\"'`([{#*.~!-]+ *)+")
_SCOPED = r"(?:\w+(?:\([^)]*\))?: *)?"
_REVERT = re.compile(rf"{_SCOPED}(?:revert(?:s|ed)?|reapply)\b(?!-)", re.I)
_UNDO = re.compile(rf"{_SCOPED}(?:undo|undid|back(?:ed|s)? ?out|roll(?:ed|s)? ?back|un-?revert)\b", re.I)
_GITS_REVERT = re.compile(r"^This (?:commit )?(?:reverts|reapplies) (?:commit )?", re.M | re.I)


def is_revert(message: str) -> bool:
    """Whether a commit takes another back: by its subject, or by git's own line under a subject that says so."""
    subject = _MARKS.sub("", message.lstrip().partition("\n")[0])
    return bool(_REVERT.match(subject) or (_UNDO.match(subject) and _GITS_REVERT.search(message)))


def find_kind(message: Message, paths: Sequence[str], whole_text: str) -> CommitKind:
    """The kind of a commit that is no merge, by what it says and the paths it touches."""
    if is_revert(message.query) or is_revert(whole_text):
        return CommitKind.REVERT
    subject = _MARKS.sub("", message.subject) or message.subject
    by_prefix = _kind_of_prefix(subject)
    if by_prefix is None and (scope := _SCOPE.match(subject)):
        subject = subject[scope.end() :]
    by_words = _kind_of_words(subject)
    if by_words is CommitKind.FEATURE:
        # "Fixed #12 -- Made it so" is a fix by the word that went with the number.
        by_words = _kind_of_words(message.title, DEFAULT_KINDS)
    by_path = [kind_of_path(path) for path in paths]
    code = by_path.count(None)
    if paths and not code:
        return _without_code(set(by_path), by_prefix or by_words)
    if by_prefix:
        return by_prefix
    if by_path.count(CommitKind.DOCS) > 3 * code:
        return CommitKind.DOCS
    if CommitKind.DEPENDENCY in by_path and _UPGRADE.match(subject):
        return CommitKind.DEPENDENCY
    # Where most of the change is code, documentation, tests and tools are what it came with.
    mostly_code = by_words in _BESIDE_CODE and by_words in by_path and code * 2 > len(paths) + 1
    return _kind_of_words(subject, DEFAULT_KINDS) if mostly_code else by_words


def _without_code(of_paths: set[CommitKind | None], named: CommitKind) -> CommitKind:
    """The kind of a commit that touches no code: files that stand for one kind of work, or a mixture of them."""
    rest = of_paths - {CommitKind.DOCS} or of_paths
    # A manifest also holds the settings of tools and of the package itself.
    by_word = (CommitKind.RELEASE, CommitKind.DEPENDENCY, *([CommitKind.CI] if CommitKind.DEPENDENCY in rest else []))
    if named in by_word or named in rest:
        return named
    order = (CommitKind.TESTS, CommitKind.DEPENDENCY, CommitKind.CI, CommitKind.DOCS)
    return next(kind for kind in order if kind in rest)


# The same paths come again in thousands of commits.
@lru_cache(maxsize=65536)
def is_noise(path: str, beside_code: bool = False) -> bool:
    """Whether a path says nothing about a task; `beside_code`: that of a task that changed code."""
    return bool(_NOISE.match(path) or (beside_code and _LEFT_BEHIND.match(path)))


@lru_cache(maxsize=65536)
def kind_of_path(path: str) -> CommitKind | None:
    """The kind of work a path alone stands for; None for code."""
    return next((kind for kind, pattern in _FILES.items() if pattern.match(path)), None)


def _kind_of_prefix(subject: str) -> CommitKind | None:
    """The kind a conventional prefix names; a scope such as `deps` or `release` says more than the word before it."""
    match = _CONVENTIONAL.match(subject)
    if match is None:
        return None
    prefix, scope = match[1].lower(), (match[2] or "").lower()
    if by_scope := next((kind for start, kind in _SCOPES if scope.startswith(start)), None):
        return by_scope
    kind = _PREFIX_KINDS.get(prefix)
    rest = _kind_of_words(subject[match.end() :])
    # `build: ejs@3.1.9`, `chore: release 2.0`: the prefix says less than what follows.
    if prefix == "chore" or (kind is CommitKind.CI and rest in (CommitKind.RELEASE, CommitKind.DEPENDENCY)):
        return CommitKind.REFACTOR if rest in DEFAULT_KINDS else rest
    return kind


def _kind_of_words(subject: str, among: Sequence[CommitKind] = tuple(CommitKind)) -> CommitKind:
    return next(
        (kind for kind, pattern in _SUBJECTS.items() if kind in among and pattern.match(subject)), CommitKind.FEATURE
    )
