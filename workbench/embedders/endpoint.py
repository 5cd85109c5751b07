"""One server that embeds: its address, its key, and a single POST to it, with every failure given a type."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit, urlunsplit

from workbench.embedders.failures import Refusal, RequestRefused, Wrong, WrongAnswer
from workbench.embedders.keys import Key, KeySource
from workbench.embedders.retrying import TryAgain

if TYPE_CHECKING:
    import httpx

_MOST_SAID = 65_536
"""How much of a refusal is read: its reason stands at its beginning."""

_USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is: an http or https address without user, password or fragment. Never shown but its host."""

    url: str

    def __post_init__(self) -> None:
        parts = _split(self.url)
        if parts.scheme not in _USUAL_PORTS:
            raise ValueError("an address begins with http:// or https://")
        if not parts.hostname:
            raise ValueError("an address names a host")
        if not parts.netloc.isascii():
            raise ValueError(
                "an address names its host in ASCII (xn--…): other letters can look like what they are not"
            )
        if "@" in parts.netloc:
            raise ValueError("an address holds no user and no password; a key comes from an environment variable")
        if parts.fragment:
            raise ValueError("an address has no part behind #")

    @property
    def secure(self) -> bool:
        """Whether what is sent is encrypted, or stays on this machine."""
        return self._parts.scheme == "https" or self.local

    @property
    def encrypted(self) -> bool:
        """Whether it is https."""
        return self._parts.scheme == "https"

    @property
    def local(self) -> bool:
        """Whether the host is this machine."""
        name = self._parts.hostname or ""
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return name == "localhost" or name.endswith(".localhost")

    @property
    def host(self) -> str:
        """The host, with its port where it is not the usual one."""
        parts = self._parts
        name = parts.hostname or ""
        name = f"[{name}]" if ":" in name else name
        return name if parts.port in (None, _USUAL_PORTS[parts.scheme]) else f"{name}:{parts.port}"

    def at(self, path: str) -> str:
        """Give the address of a path below it; a query that it has stays at the end."""
        parts = self._parts
        return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{path}"))

    @property
    def _parts(self) -> SplitResult:
        return _split(self.url)

    def __repr__(self) -> str:
        return f"Address({self.host})"


def _split(url: str) -> SplitResult:
    if any(char.isspace() or not char.isprintable() for char in url):
        raise ValueError("an address holds no spaces and no control characters")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"this is no address: {error}") from None
    return parts


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait, in seconds: for the connection, for the next bytes, and for one whole answer."""

    connect_s: float = 10.0
    read_s: float = 60.0
    whole_s: float = 300.0


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A whole answer; the names of ``headers`` are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Endpoint:
    """Sends JSON to one server. Nothing is sent before ``post``; redirects are never followed.

    The key is read from the environment for each request, lives in one header of it, and goes to this host alone.
    """

    def __init__(
        self,
        address: Address,
        key: KeySource | None = None,
        *,
        timeouts: Timeouts | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.address = address
        self.key = key
        self._timeouts = timeouts or Timeouts()
        self._environment = environment
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def check_key(self) -> None:
        """Read the key and forget it: what is missing is said before anything counts as sent. Raises RequestRefused."""
        if self.key is not None:
            self.key.read(self._environment)

    async def post(self, path: str, body: bytes, *, most_bytes: int) -> HttpAnswer:
        """Send one request and read its answer, at most so many bytes of it. A cancelled task ends it at once.

        Raises:
            TryAgain: no connection, a connection that broke, or no answer in time.
            RequestRefused: no key, or a server that cannot be trusted or reached for good.
            WrongAnswer: more than ``most_bytes``.
        """
        import httpx

        key = None if self.key is None else self.key.read(self._environment)
        client = self._client_of_loop()
        failure: Exception
        try:
            async with asyncio.timeout(self._timeouts.whole_s):
                return await self._answer(client, path, body, key, most_bytes)
        except TimeoutError:
            failure = TryAgain(f"{self.address.host} did not finish its answer within {self._timeouts.whole_s:,.0f} s")
        except httpx.HTTPError as error:
            failure = self._failure(error)
        except (httpx.InvalidURL, ValueError, ImportError) as error:
            failure = RequestRefused(
                f"no request can be sent to {self.address.host}: {_hidden(str(error), key)}", refusal=Refusal.ADDRESS
            )
        # Raised out here, so that no exception of the HTTP library, which knows the request and its key, hangs on it.
        raise failure

    async def close(self) -> None:
        """Close the connections; a later ``post`` opens new ones."""
        client, loop = self._client, self._loop
        self._client = self._loop = None
        if client is not None and loop is asyncio.get_running_loop():
            await client.aclose()

    async def _answer(
        self, client: httpx.AsyncClient, path: str, body: bytes, key: Key | None, most_bytes: int
    ) -> HttpAnswer:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        request = client.build_request("POST", self.address.at(path), content=body, headers=headers)
        if key is not None and self.key is not None:
            request.headers[self.key.header] = self.key.header_value(key)
        response = await client.send(request, stream=True)
        try:
            content = bytearray()
            async for piece in response.aiter_bytes():
                content += piece
                if response.status_code != 200 and len(content) >= _MOST_SAID:
                    break
                if len(content) > most_bytes:
                    raise WrongAnswer(f"{self.address.host} answered with more than vectors take", wrong=Wrong.SHAPE)
        finally:
            await response.aclose()
        # Some servers repeat the key: it goes no further than here, not even into a value that is never shown.
        named = {name.lower(): _hidden(value, key) for name, value in response.headers.items()}
        clean = bytes(content) if key is None else key.hide_in_bytes(bytes(content), whole=response.status_code == 200)
        return HttpAnswer(response.status_code, named, clean)

    def _failure(self, error: httpx.HTTPError) -> Exception:
        import httpx

        host, text = self.address.host, str(error)
        if "CERTIFICATE_VERIFY_FAILED" in text or "WRONG_VERSION_NUMBER" in text:
            why = "its certificate is not trusted" if "CERTIFICATE" in text else "it does not speak https"
            return RequestRefused(f"{host} cannot be reached safely: {why}", refusal=Refusal.ADDRESS)
        if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
            return TryAgain(f"{host} did not accept a connection in time")
        if isinstance(error, httpx.ConnectError):
            return TryAgain(f"{host} cannot be reached: {_why_unreachable(text)}")
        if isinstance(error, httpx.TimeoutException):
            return TryAgain(f"{host} did not answer in time")
        if isinstance(error, httpx.DecodingError | httpx.UnsupportedProtocol):
            return WrongAnswer(f"{host} answered in an encoding that it did not name rightly", wrong=Wrong.SHAPE)
        return TryAgain(f"{host} broke the connection off")

    def _client_of_loop(self) -> httpx.AsyncClient:
        """Give the client of the running loop; connections of a loop that has ended cannot be used in another."""
        import httpx

        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            times = self._timeouts
            self._client = httpx.AsyncClient(
                follow_redirects=False,
                # Proxies of the environment only where the tunnel is encrypted: they would read the key otherwise.
                trust_env=self.address.encrypted,
                # Without encryption nothing is verified, and to load the trusted certificates takes a while.
                verify=True if self.address.encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                timeout=httpx.Timeout(times.read_s, connect=times.connect_s),
            )
            self._loop = loop
        return self._client


def _hidden(text: str, key: Key | None) -> str:
    return text if key is None else key.hide_in(text)


def _why_unreachable(text: str) -> str:
    lowered = text.lower()
    if "name" in lowered or "getaddrinfo" in lowered or "nodename" in lowered:
        return "there is no host of this name"
    return "nothing listens there" if "refused" in lowered or "all connection attempts failed" in lowered else "no way"
