"""What a workspace is set to, as a page shows it, and trials of it: does an endpoint answer, what does redaction take out."""

import os
from collections.abc import Sequence
from importlib.metadata import version
from time import monotonic
from urllib.error import HTTPError
from urllib.request import Request, build_opener

from evergold.bench.native_models import VARIABLES
from evergold.calls.endpoints import PUBLIC_URL
from evergold.credentials import hide
from evergold.errors import NotFound, describe_unknown
from evergold.ingest.prepare import redactor_of
from evergold.model.access import Role
from evergold.model.operations import EndpointAnswer, EndpointState, PriceList, RedactedText, SettingState, SettingsView
from evergold.settings import Settings, describe

CALL_SECONDS = 3.0  # of an endpoint's answer
OWNERS = ("home", "database", "files.", "server.", "alerts.webhook", "alerts.secret", "review.re", "review.sidekick_db")
"""Settings that tell of the machine or of people; their values are for the owner."""
OPENAI = {"models": ("model.base_url", "model.api_key"), "judge": ("judge.base_url", "judge.api_key")}


class Configuration:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def view(self, role: Role = Role.OWNER) -> SettingsView:
        """Every setting with where it comes from, the endpoints, the price list. Nobody sees a key, only owners see paths."""
        from genai_prices.data import providers

        # Null is what somebody may not see; a setting without a value is empty.
        rows = [
            SettingState.model_validate(row | {"value": "" if row["value"] is None else row["value"]})
            for row in describe(self._settings)
        ]
        if role is not Role.OWNER:
            rows = [one.model_copy(update={"value": None}) if one.name.startswith(OWNERS) else one for one in rows]
        return SettingsView(
            version=version("evergold"),
            database=self._settings.database.partition(":")[0].partition("+")[0],
            judge=self._settings.judge_default.strip() or "offline",
            settings=rows,
            endpoints=[self._endpoint(name)[0] for name in (*OPENAI, *VARIABLES)],
            prices=PriceList(
                source="genai-prices",
                version=version("genai-prices"),
                models=sum(len(provider.models) for provider in providers),
            ),
        )

    def try_endpoint(self, name: str) -> EndpointAnswer:
        """Ask an endpoint for its models; nothing of the workspace is sent."""
        if name not in OPENAI:
            known = f"only {', '.join(OPENAI)} can be tried here"
            raise NotFound(
                f"{known}, not {name!r}" if name in VARIABLES else describe_unknown("endpoint", name, tuple(OPENAI))
            )
        _, address, key = self._endpoint(name)
        if not address and not key:
            return EndpointAnswer(
                ok=False, message="no address and no key are set", todo="set OPENAI_API_KEY, or model.base_url"
            )
        keyed = "a key is set" if key else "no key is set"
        return ask_for_models(address or PUBLIC_URL, key, keyed)

    def try_redaction(self, text: str) -> RedactedText:
        """What would be stored of a text; it is stored nowhere."""
        redactor, problem = redactor_of(self._settings)
        if problem:
            raise NotFound(f"nothing can be redacted: {problem}")
        clean, kinds = redactor.redact(text) if redactor is not None else (text, {})
        return RedactedText(text=clean, kinds=dict(kinds))

    def _endpoint(self, name: str) -> tuple[EndpointState, str, str]:
        """What is shown of an endpoint, its address and its key."""
        key_variable, address_variable = VARIABLES.get(name, ("OPENAI_API_KEY", "OPENAI_BASE_URL"))
        # The judge's own settings count before those of models.
        listed = [OPENAI[one] for one in dict.fromkeys((name, "models"))] if name in OPENAI else []
        address, address_from = self._first_set([one[0] for one in listed], address_variable)
        key, key_from = self._first_set([one[1] for one in listed], key_variable)
        state = EndpointState(name=name, address=hide(address), address_from=address_from, key_from=key_from)
        return state, address, key

    def _first_set(self, names: Sequence[str], variable: str) -> tuple[str, str]:
        """The value of the first of these settings that is set, else of the variable, and where it comes from."""
        for name in names:
            if own := getattr(self._settings, name.replace(".", "_")):
                return own, self._settings.origins.get(name, name)
        value = os.environ.get(variable, "")
        return value, variable if value else ""


def ask_for_models(address: str, key: str, keyed: str) -> EndpointAnswer:
    """Say whether a server of the OpenAI protocol answers, and takes the key."""
    shown = hide(address)
    request = Request(f"{address.rstrip('/')}/models", headers={"Authorization": f"Bearer {key}"} if key else {})
    began = monotonic()
    try:
        with build_opener().open(request, timeout=CALL_SECONDS):
            return EndpointAnswer(ok=True, message=f"{shown} answers in {monotonic() - began:.1f} s; {keyed}")
    except HTTPError as problem:
        if problem.code in (401, 403):
            todo = "set a key that it takes: model.api_key, OPENAI_API_KEY"
            return EndpointAnswer(ok=False, message=f"{shown} answers {problem.code}; {keyed}", todo=todo)
        # Many servers list no models, and answer.
        return EndpointAnswer(ok=True, message=f"{shown} answers ({problem.code}); {keyed}")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "reason", None) or problem
        message = f"{shown} does not answer: {hide(str(reason))}; {keyed}"
        return EndpointAnswer(ok=False, message=message, todo="start it, or correct model.base_url")
