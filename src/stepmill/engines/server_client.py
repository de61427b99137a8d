"""One HTTP session to all servers of an engine; sorts what goes wrong into two kinds.

`RequestRefused`: the server understood and says no; asking again is of no use. `TryAgain`:
overload, a server's error, a time-out, a broken connection. Who asks again, when and where is not
decided here. Why aiohttp with no bound on connections: clients that cap them at 100 starve a server
that batches 256 sequences (vllm-project/vllm#7241).
"""

import errno
import json
import resource
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp

from stepmill.errors import UserError

KEEP_ALIVE = 4.0
"""Seconds an idle connection is kept: vLLM's own limit is 5, and a request that goes out just as
the server hangs up is lost."""
CONNECT = 10.0
"""Seconds to open a connection."""
LONGEST_MESSAGE = 600
"""Characters of a server's message that are passed on."""


class RequestRefused(Exception):
    """A server's answer that another attempt would not change."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class TryAgain(Exception):
    """A request that may succeed later or elsewhere.

    Args:
        message: what happened.
        wait: seconds that the server asks for (Retry-After), or None.
        suspect: whether the server may be dead.
    """

    def __init__(self, message: str, *, wait: float | None = None, suspect: bool = True) -> None:
        super().__init__(message)
        self.wait = wait
        self.suspect = suspect


class ServerClient:
    """Sends requests and reads answers; made, used and closed on one running loop.

    Args:
        key: sent as a bearer token; it never appears in an error.
        timeout: seconds for one request.
        connections: how many may be open at a time.
    """

    def __init__(self, key: str | None, timeout: float, connections: int) -> None:
        self._key = key
        self._timeout = timeout
        _allow_open_files(connections)
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT),
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def get(self, url: str) -> str:
        """Body of a GET.

        Raises:
            RequestRefused: the server says no.
            TryAgain: it may say something else later.
        """
        return (await self._send("GET", url)).decode("utf-8", "replace")

    async def post(self, url: str, body: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
        """Answer to a POST of JSON; raises like `get`."""
        data = json.dumps(body, separators=(",", ":")).encode()
        answer = await self._send("POST", url, data)
        try:
            return json.loads(answer)
        except ValueError:
            raise TryAgain(f"{url} answered with something that is not JSON") from None

    async def _send(self, method: str, url: str, data: bytes | None = None) -> bytes:
        if self._session.closed:
            raise TryAgain("the session is closed", suspect=False)
        headers = None if data is None else {"Content-Type": "application/json"}
        try:
            async with self._session.request(
                method, url, data=data, headers=headers, allow_redirects=False
            ) as response:
                body = await response.read()
        except TimeoutError:
            raise TryAgain(f"{url} did not answer within {self._timeout:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._broken(url, error) from None
        if response.status < 300:
            return body
        message = f"{url}: {response.status} {self._said(body)}"
        if response.status in (408, 425, 429) or response.status >= 500:
            raise TryAgain(
                message,
                wait=_retry_after(response.headers.get("Retry-After", "")),
                suspect=response.status >= 500,
            )
        raise RequestRefused(response.status, message)

    def _broken(self, url: str, error: Exception) -> Exception:
        if getattr(error, "errno", None) == errno.EMFILE:
            return UserError(
                "too many open files for the requests in flight: raise the limit (`ulimit -n`)"
                " or lower `max_in_flight` of the engine"
            )
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return TryAgain(f"{url}: {self._hide(str(reason))}")

    def _said(self, body: bytes) -> str:
        """The server's message, without its JSON."""
        text = body.decode("utf-8", "replace").strip()
        try:
            said = json.loads(text)
        except ValueError:
            said = text
        for name in ("error", "message", "detail"):
            if isinstance(said, dict) and name in said:
                said = said[name]
        return self._hide(str(said))[:LONGEST_MESSAGE]

    def _hide(self, text: str) -> str:
        """Servers repeat a key that they refuse."""
        return text if self._key is None else text.replace(self._key, "<key>")


def _retry_after(value: str) -> float | None:
    """Seconds of a Retry-After header, given as a number or as a date."""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


def _allow_open_files(connections: int) -> None:
    """Raise the soft limit of open files; the usual 1,024 stops at as many connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + 512
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
