"""One call to an upstream, by each client other than httpx."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import closing

import pytest

JSON = {"content-type": "application/json"}
Post = Callable[[str, bytes], tuple[int, bytes]]


def by_stdlib(url: str, body: bytes) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, JSON)) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def by_requests(url: str, body: bytes) -> tuple[int, bytes]:
    requests = pytest.importorskip("requests")
    with requests.post(url, data=body, headers=JSON) as response:
        return response.status_code, response.content


def by_urllib3(url: str, body: bytes) -> tuple[int, bytes]:
    urllib3 = pytest.importorskip("urllib3")
    with urllib3.PoolManager() as pool:
        response = pool.request("POST", url, body=body, headers=JSON)
        return response.status, response.data


def by_aiohttp(url: str, body: bytes) -> tuple[int, bytes]:
    aiohttp = pytest.importorskip("aiohttp")

    async def post() -> tuple[int, bytes]:
        async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=JSON) as response:
            return response.status, await response.read()

    return asyncio.run(post())


def by_boto3(url: str, body: bytes) -> tuple[int, bytes]:
    boto3 = pytest.importorskip("boto3")
    exceptions = pytest.importorskip("botocore.exceptions")
    config = pytest.importorskip("botocore.config").Config(retries={"total_max_attempts": 1})
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y"}
    place, _, model = url.rpartition("/")
    with closing(boto3.client("bedrock-runtime", "us-east-1", endpoint_url=place, config=config, **keys)) as client:
        try:
            response = client.invoke_model(modelId=model, body=body)
        except exceptions.ClientError as error:
            return error.response["ResponseMetadata"]["HTTPStatusCode"], b""
        return response["ResponseMetadata"]["HTTPStatusCode"], response["body"].read()


CLIENTS: list[Post] = [by_stdlib, by_requests, by_urllib3, by_aiohttp, by_boto3]
every_client = pytest.mark.parametrize("post", CLIENTS, ids=[post.__name__ for post in CLIENTS])


def number(answer: tuple[int, bytes]) -> int:
    count: int = json.loads(answer[1])["number"]
    return count
