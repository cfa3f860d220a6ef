"""Requests that are repeated until a response is whole, within one deadline."""

from __future__ import annotations

import email.utils
import gzip
import http.client
import itertools
import random
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import closing
from email.message import Message
from typing import BinaryIO, NamedTuple, TypeVar, cast
from urllib.parse import urlencode, urlsplit

from .errors import APIError, Unreachable, NinepocketError, from_answer

VERSION = "0.1.0"
T = TypeVar("T")
_REPEATED = frozenset((429, 502, 503, 504))
_CUT = (OSError, http.client.HTTPException, EOFError, zlib.error)
_IDLE = 60.0  # seconds; the server closes a connection after 74
_REMEMBERED, _REMEMBERED_BYTES, _LONGEST = 256, 8 << 20, 1 << 20  # responses for conditional requests
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 8.0  # seconds between tries, if the server names none


class Answer(NamedTuple):
    """A whole response that is no error."""

    status: int
    headers: Message
    body: bytes


class Transport:
    """Keep-alive connections to one server. Threads may share them."""

    def __init__(self, base_url: str, key: str, deadline: float, try_timeout: float, max_tries: int, user_agent: str):
        url = urlsplit(base_url)
        if url.scheme not in ("http", "https") or not url.hostname or url.query or url.fragment:
            raise NinepocketError(f"cannot use the address {base_url!r}: it must be like https://cards.example.com")
        if not key.isascii() or not key.isprintable():
            raise NinepocketError("cannot use the key: it has characters that no key has")

        self._connect = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        self._host, self._port, self._prefix = url.hostname, url.port, url.path.rstrip("/")
        self.deadline, self._try_timeout, self._max_tries = deadline, try_timeout, max(1, max_tries)
        self._host_line = f"Host: {url.netloc.rpartition('@')[2]}"
        self._headers = {"X-API-Key": key, "User-Agent": user_agent, "Accept-Encoding": "gzip"}
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []
        self._cache: OrderedDict[str, tuple[str, Answer]] = OrderedDict()
        self._cache_bytes = 0
        self._lock = threading.Lock()

    def close(self) -> None:
        """Closes the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def call(
        self, method: str, path: str, query: Mapping[str, object] | None = None, body: bytes | None = None,
        headers: Mapping[str, str] | None = None, cached: bool = False, longest: float | None = None,
    ) -> Answer:  # fmt: skip
        """Sends one request until its response is whole, or raises the error of the last try."""
        target = self._prefix + path
        given = [(name, _text(value)) for name, value in query.items() if value is not None] if query else []
        if given:
            target += "?" + urlencode(given)
        fields = {**self._headers, **headers} if headers else self._headers
        known = self._cache.get(target) if cached else None
        if known:
            fields = {**fields, "If-None-Match": known[0]}

        paging = any(name == "cursor" for name, _ in given)
        answer = self.repeat(f"{method} {path}", lambda left: self._once(method, target, body, fields, left, paging), longest)
        if known and answer.status == 304:
            answer = known[1]
        if cached:
            self._remember(target, answer)
        return answer

    def repeat(self, what: str, once: Callable[[float], T], longest: float | None = None) -> T:
        """Repeats something while that helps: its error decides that, and the wait."""
        end = time.monotonic() + (longest or self.deadline)
        for tried in itertools.count(1):
            try:
                return once(end - time.monotonic())
            except APIError as refused:
                if refused.status not in _REPEATED:
                    raise
                failure, named = refused, refused.retry_after
            except _CUT as cut:
                # The other connections are of the same server, and likely broken with this one.
                self.close()
                failure, named = Unreachable(what, tried, cut), None

            # Full jitter if the server names no time, and a little after the named time.
            longest_wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2**tried)
            wait = random.random() * longest_wait if named is None else named + random.random() * max(0.25, named / 10)
            if tried >= self._max_tries or time.monotonic() + wait >= end:
                raise failure
            time.sleep(wait)
        raise AssertionError("unreachable")

    def download(self, path: str, into: BinaryIO, size: int) -> None:
        """Appends the rest of a file to the present bytes. Only tries without progress count."""
        have = into.seek(0, 2)
        while have < size:
            try:
                self.repeat(f"GET {path}", lambda _: self._rest(path, into))
            except Unreachable:
                if into.seek(0, 2) <= have:
                    raise
            have = into.seek(0, 2)

    def _rest(self, path: str, into: BinaryIO) -> None:
        have = into.seek(0, 2)
        fields = {**self._headers, "Accept-Encoding": "identity"}
        if have:
            fields |= {"Range": f"bytes={have}-"}
        connection, response = self._open("GET", self._prefix + path, None, fields, self._try_timeout)
        with closing(connection):
            if response.status not in (200, 206):
                raise _refusal(response, response.read(), False)
            # A server that sends the whole file makes earlier bytes useless.
            if response.status == 200:
                into.truncate(0)
            while block := response.read(1 << 16):
                into.write(block)

    def _open(
        self, method: str, target: str, body: bytes | None, fields: Mapping[str, str], limit: float
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Sends a request over a connection, an idle one if there is any, and reads the response's head."""
        connection = None
        with self._lock:
            while self._idle and connection is None:
                kept, since = self._idle.pop()
                connection = kept if time.monotonic() - since < _IDLE else kept.close()
        if connection is None:
            connection = self._connect(self._host, self._port)

        try:
            connection.timeout = limit
            if connection.sock is None:
                connection.connect()
            connection.sock.settimeout(limit)

            # http.client checks and sends each header by itself, which costs as much as all else here.
            lines = [f"{method} {target} HTTP/1.1", self._host_line, *map(": ".join, fields.items())]
            if body is not None:
                lines.append(f"Content-Length: {len(body)}")
            head = "\r\n".join(lines)
            if head.count("\n") >= len(lines):
                raise NinepocketError("cannot send a header with a line end")
            connection.sock.sendall(head.encode("latin-1") + b"\r\n\r\n" + (body or b""))
            response = http.client.HTTPResponse(connection.sock, method=method)
            response.begin()
            return connection, response
        except BaseException:
            connection.close()
            raise

    def _once(
        self, method: str, target: str, body: bytes | None, fields: Mapping[str, str], left: float, paging: bool
    ) -> Answer:
        """One try: a whole response, or an exception."""
        if left <= 0:
            raise TimeoutError("the deadline has passed")
        limit = min(left, self._try_timeout)
        connection, response = self._open(method, target, body, fields, limit)
        try:
            text = _whole(response, time.monotonic() + limit)
        except BaseException:
            connection.close()
            raise

        if response.will_close:
            connection.close()
        else:
            with self._lock:
                self._idle.append((connection, time.monotonic()))
        if response.status not in (200, 304):
            raise _refusal(response, text, paging)
        return Answer(response.status, response.headers, text)

    def _remember(self, target: str, answer: Answer) -> None:
        """Stores a response for the next conditional request, in place of the least recently used."""
        tag = answer.headers.get("ETag")
        with self._lock:
            old = self._cache.pop(target, None)
            self._cache_bytes -= len(old[1].body) if old else 0
            if tag and len(answer.body) <= _LONGEST:
                self._cache[target] = tag, answer
                self._cache_bytes += len(answer.body)
            while len(self._cache) > _REMEMBERED or self._cache_bytes > _REMEMBERED_BYTES:
                self._cache_bytes -= len(self._cache.popitem(last=False)[1][1].body)


def _whole(response: http.client.HTTPResponse, end: float) -> bytes:
    """Reads a body to its end, within the allowed time, even if it arrives slowly."""
    text = response.read1()
    if response.length != 0:
        parts = [text]
        while block := response.read1():
            parts.append(block)
            if time.monotonic() > end:
                raise TimeoutError("the response came too slowly")
        text = b"".join(parts)
    if response.length:
        raise http.client.IncompleteRead(text, response.length)
    # A body that was read to its last byte is not at its end for http.client, which then refuses the next request.
    response.close()
    return gzip.decompress(text) if response.headers.get("Content-Encoding") == "gzip" and text else text


def _refusal(response: http.client.HTTPResponse, text: bytes, paging: bool) -> APIError:
    seconds = retry_after(response.headers.get("Retry-After"))
    return from_answer(response.status, text, response.headers.get("X-Request-Id", ""), seconds, paging)


def retry_after(said: str | None) -> float | None:
    """The seconds of Retry-After, which has a number or a date; None if it has neither."""
    if said is None:
        return None
    if said.strip().isdigit():
        return float(said)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
    except ValueError:
        return None


def _text(value: object) -> str:
    """A parameter in the form of the query: lists are joined by commas, and true and false are words."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(str(part) for part in cast("list[object]", value))
    return str(value)
