"""The webhook: one signed POST of JSON that Slack and its likes show as it is, within a time limit, whatever answers.

The address comes from the settings of the server, never from a client, so it may lie inside the network. Redirects are not
followed, and nothing of the answer but its status is kept.

A receiver checks the signature by computing it again over the header `X-Evergold-Timestamp` and the body as it came:
`"v1=" + HMAC-SHA256(key, "v1:" + timestamp + ":" + body)` in hex equals `X-Evergold-Signature`. It refuses timestamps of
more than five minutes ago, and takes a second request with the same `X-Evergold-Delivery` for a repetition.
"""

import asyncio
import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import urlsplit

import orjson

from evergold.credentials import Secret, learn, learn_url
from evergold.errors import BadInput
from evergold.model.operations import Alert, AlertEvent
from evergold.settings import Settings, env_name

POST_SECONDS = 10.0  # for the whole exchange, however slowly bytes arrive
# A value may refer to an environment variable, so that a file of settings holds no secret.
REFERENCE = "env:"
SIGNS = {AlertEvent.FIRING: "Alert", AlertEvent.REMINDER: "Still firing", AlertEvent.RESOLVED: "Resolved"}


@dataclass(frozen=True)
class Posted:
    """The outcome of one POST: no error, or what went wrong and the seconds that the receiver asked to wait."""

    error: str = ""
    wait_seconds: float | None = None


class Webhook:
    """An address and, where there is one, the key that signs what goes there."""

    def __init__(self, url: str, key: str = "", seconds: float = POST_SECONDS) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadInput("alerts.webhook is not a URL that begins with http:// or https:// and names a host")
        learn(key)
        learn_url(url, whole=True)
        self._url, self._key, self._seconds = url, key.encode(), seconds
        # Path, query and user info may be secrets (Slack puts its
        # token into the path): logs and errors show the host alone.
        self.shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/…"

    @property
    def signed(self) -> bool:
        return bool(self._key)

    def post(self, payload: Mapping[str, Any], delivery: str, timestamp: int) -> Posted:
        """Send one message."""
        body = orjson.dumps(payload)
        headers = {
            "content-type": "application/json",
            "user-agent": "evergold-alerts",
            "x-evergold-delivery": delivery,
            "x-evergold-timestamp": str(timestamp),
        }
        if self._key:
            headers["x-evergold-signature"] = signature(self._key, timestamp, body)
        return asyncio.run(self._exchange(body, headers))

    async def _exchange(self, body: bytes, headers: Mapping[str, str]) -> Posted:
        import httpx2

        try:
            async with (
                asyncio.timeout(self._seconds),
                # httpx limits each read; a receiver that sends one byte a
                # second stays below that for ever. The outer timeout does not.
                httpx2.AsyncClient(timeout=None) as client,
                # The body of the reply is never read: it may be endless, and only the status is used.
                client.stream("POST", self._url, content=body, headers=dict(headers)) as reply,
            ):
                return _outcome(reply.status_code, reply.headers)
        except TimeoutError:
            return Posted(f"{self.shown} did not answer within {self._seconds:g} s")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as problem:
            return Posted(f"{self.shown} cannot be reached: {type(problem).__name__}")


def _outcome(status: int, headers: Mapping[str, str]) -> Posted:
    if 200 <= status < 300:
        return Posted()
    if 300 <= status < 400:
        return Posted(f"answered {status}: redirects are not followed; set alerts.webhook to the final address")
    # Retry-After may also be an HTTP date; the own doubling wait is used for those.
    asked = headers.get("retry-after", "")
    return Posted(f"answered {status}", float(asked) if asked.isdecimal() else None)


def signature(key: bytes, timestamp: int, body: bytes) -> str:
    """Sign a body as it is sent at a moment (seconds since 1970)."""
    return "v1=" + hmac.new(key, b"v1:%d:%b" % (timestamp, body), hashlib.sha256).hexdigest()


def alert_message(alert: Alert, event: AlertEvent) -> dict[str, Any]:
    """Write an alert as a message."""
    since = f" (since {alert.opened_at[:16].replace('T', ' ')} UTC)" if event is not AlertEvent.FIRING else ""
    return message(f"{SIGNS[event]}: {alert.text}{since}", alert.model_dump(mode="json", exclude={"deliveries"}), event)


def message(text: str, facts: Mapping[str, Any], event: str) -> dict[str, Any]:
    """Write a message for people (`text`, in which Slack reads no link or mention) and for programs (`metadata`)."""
    payload = {**facts, "event": event}
    return {
        "text": escape(text, quote=False),
        "metadata": {"event_type": "evergold_alert", "event_payload": payload},
    }


def webhook_of(settings: Settings) -> Webhook | None:
    """Make the webhook that the settings name; None where they name none."""
    url = _find_reference("alerts.webhook", settings.alerts_webhook)
    if not url:
        return None
    given = settings.alerts_secret
    # A key in the environment variable of the setting is not in a file, so it needs no second reference.
    from_environment = settings.origins.get("alerts.secret") == env_name("alerts.secret")
    if given and not given.startswith(REFERENCE) and not from_environment:
        raise BadInput(
            "alerts.secret holds a key; write env:NAME there and put the key into that environment variable, "
            f"or set {env_name('alerts.secret')}"
        )
    return Webhook(url, _find_reference("alerts.secret", given))


def _find_reference(name: str, value: str) -> str:
    if not value.startswith(REFERENCE):
        return value
    variable = value.removeprefix(REFERENCE)
    value = Secret(os.environ.get(variable, ""))
    if not value:
        raise BadInput(f"{name} names the environment variable {variable!r}, which is not set")
    return value
