"""The scripted server itself: the real `openai` client must see what the script says, faults included."""

from typing import Any

import pytest

from tests.openai_server import Reply, broken, rate_limited, serving, token


def ask(url: str, **options: object) -> Any:
    import openai

    with openai.OpenAI(base_url=url, api_key="test", max_retries=0) as client:
        return client.chat.completions.create(model="m", messages=[{"role": "user", "content": "capital?"}], **options)


def test_text_usage_and_tool_calls_reach_the_client() -> None:
    with serving(Reply("Paris", tool_calls=(("lookup", {"city": "Paris"}),), usage=(7, 3))) as server:
        answer = ask(server.url)
        assert answer.choices[0].message.content == "Paris"
        assert answer.choices[0].message.tool_calls[0].function.name == "lookup"
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (7, 3)
        assert server.prompts() == ["capital?"]


def test_log_probabilities_come_only_when_asked_for() -> None:
    with serving(Reply("7", logprobs=(token("7", ("8", -1.0)),))) as server:
        assert ask(server.url).choices[0].logprobs is None
        content = ask(server.url, logprobs=True, top_logprobs=2).choices[0].logprobs.content
        assert [t.token for t in content[0].top_logprobs] == ["7", "8"]


def test_faults_are_played_in_order_and_the_last_reply_repeats() -> None:
    import openai

    with serving([rate_limited(2), broken(), Reply("ok")]) as server:
        with pytest.raises(openai.RateLimitError) as limited:
            ask(server.url)
        assert limited.value.response.headers["retry-after"] == "2"
        with pytest.raises(openai.InternalServerError):
            ask(server.url)
        assert [ask(server.url).choices[0].message.content for _ in range(2)] == ["ok", "ok"]


def test_a_dropped_connection_is_a_connection_error() -> None:
    import openai

    with serving(Reply(drop_connection=True)) as server, pytest.raises(openai.APIConnectionError):
        ask(server.url)
