"""Read chats of people with assistants, from copies of public repositories, as messages with the turn before them and the reply.

DATA holds a copy of each repository in a folder `owner+name`. Their licences allow training: WildChat (ODC-BY) and OpenAssistant
(Apache 2.0) as collected in Convo-topo, RealHumanEval (CC0), the test part of hh-rlhf (MIT), SMCalFlow's valid part (CC BY-SA).
Messages were read by place (`scripts/remark_labels.json`); no text is part of this repository.
"""

import ast
import csv
import gzip
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

LONGEST = 600
ACCEPTS = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yeah|great|wow|oh|thanks|thank you),? )*(?:perfect|that(?:'?s| is| was) (?:perfect|great|good|"
    r"exactly|what i (?:need|want))|(?:that|it) work(?:s|ed)|works|looks (?:good|great|right|perfect)|awesome|excellent|"
    r"spot on|(?:good|great) (?:job|answer)|very helpful)\b(?!.*\b(?:but|not|n't|however|except)\b)",
    re.I,
)
"""Short messages that accept an answer, where nobody read them."""
Said = list[tuple[str, str]]


def messages(data: Path) -> Iterator[dict[str, str]]:
    """Give each message of a user that follows an answer: `id`, question `q`, answer `a`, message `m`, reply `r`."""
    for name, said in _chats(data):
        turns: Said = []
        for role, text in said:
            if turns and turns[-1][0] == role:
                turns[-1] = (role, f"{turns[-1][1]}\n{text.strip()}")
            else:
                turns.append((role, text.strip()))
        for at in range(2, len(turns)):
            roles = [role for role, _ in turns[at - 2 : at + 1]]
            question, answer, message = (text for _, text in turns[at - 2 : at + 1])
            if roles == ["user", "assistant", "user"] and answer and message and len(message) <= LONGEST:
                reply = turns[at + 1][1] if at + 1 < len(turns) else ""
                yield {"id": f"{name}:{at}", "q": question[:1200], "a": answer, "m": message, "r": reply[:400]}


def _chats(data: Path) -> Iterator[tuple[str, Said]]:
    for path in sorted((data / "issacting93+Convo-topo").rglob("*.json")):
        source = re.search(r"(wildchat|oasst)[^/]*\.json$", path.name)
        body = json.loads(path.read_text("utf-8")) if source else None
        if source and isinstance(body, dict) and "messages" in body:
            yield f"{source[1]}:{body['id']}", [(each["role"], each["content"]) for each in body["messages"]]
    with (data / "clinicalml+realhumaneval/data/chat_data.csv").open(encoding="utf-8", newline="") as opened:
        for number, row in enumerate(csv.DictReader(opened), 1):
            said = [(each["role"], each["content"]) for each in ast.literal_eval(row["request"])]
            yield f"rhe:{number}", [*said, ("assistant", row["response"])][-4:]
    lines = (
        gzip.decompress((data / "anthropics+hh-rlhf/harmless-base/test.jsonl.gz").read_bytes()).decode().splitlines()
    )
    for number, line in enumerate(lines):
        parts = re.split(r"\n\n(Human|Assistant): ", json.loads(line)["chosen"])[1:]
        roles = ["user" if part == "Human" else "assistant" for part in parts[::2]]
        yield f"hh:{number}", list(zip(roles, parts[1::2], strict=True))
    folder = data / "microsoft+task_oriented_dialogue_as_dataflow_synthesis/datasets/SMCalFlow-2.0"
    with zipfile.ZipFile(folder / "valid.dataflow_dialogues.jsonl.zip") as packed:
        for number, line in enumerate(packed.read(packed.namelist()[0]).decode().splitlines()):
            spoken: Said = []
            for turn in json.loads(line)["turns"]:
                spoken += [(who, turn[f"{name}_utterance"]["original_text"]) for who, name in SPEAKERS]
            yield f"smcal:{number}", spoken


SPEAKERS = (("user", "user"), ("assistant", "agent"))
