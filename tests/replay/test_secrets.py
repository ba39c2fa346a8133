"""Which values are secret."""

from __future__ import annotations

import pytest

from pytest_recall.replay.secrets import secret_names


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "OPENAI_ORG_ID",
        "AWS_ACCESS_KEY_ID",
        "MY_KEY",
        "X_TOKEN",
        "APP_SECRET",
        "DB_PASSWORD",
        "MYSQL_PWD",
        "PGPASSWORD",
        "SOME_CREDENTIALS",
        "GH_PAT",
        "REDISCLI_AUTH",
        "APIKEY",
        "TOKEN",
        "lower_api_key",
        "ACME_APIKEY",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert secret_names({name: "a8Kd0-fj2Qw"}) == {name: "a8Kd0-fj2Qw"}


@pytest.mark.parametrize(
    "name", ["PATH", "PWD", "OLDPWD", "MONKEY", "KEYBOARD", "MAX_TOKENS_PER_CALL", "SSH_AUTH_SOCK"]
)
def test_names_of_other_things(name: str) -> None:
    assert secret_names({name: "a8Kd0-fj2Qw"}) == {}
    assert secret_names({name: "a8Kd0-fj2Qw"}, [name, "UNSET"]) == {name: "a8Kd0-fj2Qw"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", ""),
        ("OPENAI_API_KEY", "sk-test"),
        ("OPENAI_API_KEY", "********"),
        ("OPENAI_API_KEY", "undefined"),
        ("DB_PASSWORD", "Postgres"),
        ("MY_SECRET", "localhost"),
        ("SORT_KEY", "customer_id"),
        ("MAX_TOKENS", "100000000"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key-1A.json"),
        ("SSH_KEY", "~/.ssh/id_ed25519"),
        ("TLS_KEY", "C:\\certs\\server-1.key"),
    ],
)
def test_values_that_are_plainly_none(name: str, value: str) -> None:
    assert secret_names({name: value}) == {}


def test_a_secret_may_look_like_a_word_where_people_choose_it() -> None:
    assert secret_names({"DB_PASSWORD": "swordfish", "A_SECRET": "/kV0+3fj"}) == {
        "A_SECRET": "/kV0+3fj",
        "DB_PASSWORD": "swordfish",
    }


def test_well_known_names_come_first_whatever_the_order() -> None:
    env = {"A_KEY": "a8Kd0-fj2Qw", "Z": "zzzz-9999", "ANTHROPIC_API_KEY": "a8Kd0-fj2Qw", "OPENAI_API_KEY": " padded-1 "}
    assert list(secret_names(env, ["Z"]).items()) == [
        ("OPENAI_API_KEY", "padded-1"),
        ("ANTHROPIC_API_KEY", "a8Kd0-fj2Qw"),
        ("Z", "zzzz-9999"),
        ("A_KEY", "a8Kd0-fj2Qw"),
    ]


def test_a_list_of_keys_is_several_secrets() -> None:
    assert secret_names({"LLM_KEYS": "first-key-1, second-key-2,short"}) == {
        "LLM_KEYS.1": "first-key-1",
        "LLM_KEYS.2": "second-key-2",
    }


def test_the_password_within_a_url() -> None:
    env = {"DATABASE_URL": "postgres://app:s3cr%2Ft-pw@db:5432/app", "SITE_URL": "https://h.test/a:b@c"}
    assert secret_names(env) == {"DATABASE_URL": "s3cr/t-pw"}
