"""Addresses of models: `openai/NAME` at any OpenAI-compatible URL, or `local/smollm2` on this machine.

Targets and judges both ask here, so that a URL or key is looked up in one order everywhere: the setting, then the
variable every OpenAI client honours. A URL without a key is fine (local servers want none); the public API without one
is not, and says so before anything is sent.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from evergold.errors import BadInput, Unavailable
from evergold.settings import Settings

PUBLIC_URL = "https://api.openai.com/v1"


@dataclass(frozen=True)
class Endpoint:
    """A model at a URL. `provider` is the name prices are looked up under; empty: not known."""

    model: str
    base_url: str
    api_key: str
    provider: str = ""

    @property
    def identity(self) -> str:
        """What a run records: the model, and the URL when it is not the public one. Never the key."""
        if self.provider == "local":
            return f"local/{self.model}"
        return f"openai/{self.model}" + ("" if self.base_url == PUBLIC_URL else f" at {self.base_url}")


def openai_endpoint(model: str, settings: Settings, environ: Mapping[str, str] | None = None) -> Endpoint:
    """The endpoint of `openai/MODEL`. Raises `Unavailable` when the public API is meant and there is no key."""
    environ = os.environ if environ is None else environ
    if not model:
        raise BadInput("a model name is missing after openai/; write for example openai/gpt-4o")
    base_url = _base_url(settings, environ)
    api_key = settings.model_api_key or environ.get("OPENAI_API_KEY") or ""
    if not api_key and base_url == PUBLIC_URL:
        raise Unavailable(
            f"no key for openai/{model}: set OPENAI_API_KEY (or the setting model.api_key), "
            "or OPENAI_BASE_URL to a server of your own"
        )
    return Endpoint(model, base_url, api_key or "none", _provider(base_url))


def openai_identity(model: str, settings: Settings) -> str:
    """What a run records of `openai/MODEL`, known before a key is."""
    return Endpoint(model, _base_url(settings, os.environ), "").identity


def openai_provider(settings: Settings, environ: Mapping[str, str] | None = None) -> str:
    """The name `openai/…` is priced under here: empty when a server of one's own answers, whose prices nobody knows."""
    return _provider(_base_url(settings, os.environ if environ is None else environ))


def _base_url(settings: Settings, environ: Mapping[str, str]) -> str:
    return (settings.model_base_url or environ.get("OPENAI_BASE_URL") or PUBLIC_URL).rstrip("/")


def _provider(base_url: str) -> str:
    return "openai" if base_url == PUBLIC_URL else ""
