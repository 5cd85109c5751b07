"""Makes litellm.jsonl: what LiteLLM's router hands to its loggers through an outage, against servers on this machine.

    pip install litellm
    python tests/data/routing/make_litellm.py

Nothing leaves the machine, and no key is needed. Times, ids and ports differ from run to run. Texts are made up; the
table of prices that each payload carries along (``model_map_value``, four hundred nulls) and the folders of the machine
are left out, the rest is as LiteLLM wrote it.
"""

# mypy: ignore-errors
# (litellm is not among the packages that the tests need)

from __future__ import annotations

import asyncio
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else the import asks the net for prices

import litellm
from litellm.integrations.custom_logger import CustomLogger
from local_server import embedding_server
from redacting import without_folders

OUT = Path(__file__).parent / "litellm.jsonl"


class PayloadLog(CustomLogger):
    """Keeps each ``standard_logging_object`` as a line, as a team's own JSON logger does."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: object, start_time: object, end_time: object
    ) -> None:
        """Keep a success."""
        self._keep(kwargs)

    async def async_log_failure_event(
        self, kwargs: dict[str, Any], response_obj: object, start_time: object, end_time: object
    ) -> None:
        """Keep a failure."""
        self._keep(kwargs)

    def _keep(self, kwargs: dict[str, Any]) -> None:
        payload = kwargs["standard_logging_object"]
        prices = {**payload["model_map_information"], "model_map_value": None}
        self.lines.append(json.dumps({**payload, "model_map_information": prices}, default=str))


async def calls(log: PayloadLog) -> None:
    """Well, an outage that opens the router's cooldown, recovery, and a call that nobody answers.

    The primary is two deployments, because LiteLLM cools none that is alone in its group.
    """
    with embedding_server("acme-embed", 8) as primary, embedding_server("house-embed", 8) as fallback:
        router = litellm.Router(
            model_list=[
                _deployment("documents", "openai/acme-embed", primary.base_url, "primary-1"),
                _deployment("documents", "openai/acme-embed", primary.base_url, "primary-2"),
                _deployment("documents-backup", "openai/house-embed", fallback.base_url, "backup-1"),
            ],
            fallbacks=[{"documents": ["documents-backup"]}],
            num_retries=0,
            allowed_fails=0,
            cooldown_time=2,
        )
        for n in range(10):
            if n == 7:
                await asyncio.sleep(2.5)  # the cooldown ends
            primary.failing = 503 if 3 <= n < 6 else None
            await router.aembedding(
                model="documents",
                input=[f"text {n} of a page", f"text {n} of another"],
                metadata={"spend_logs_metadata": _where(n)},
            )
            await asyncio.sleep(0.05)
        fallback.failing = primary.failing = 503
        try:
            await router.aembedding(model="documents", input=["a text for which nobody is there"])
        except litellm.exceptions.ServiceUnavailableError as error:
            print(f"the last call failed, as it should: {type(error).__name__}")
        await asyncio.sleep(0.5)


def _where(n: int) -> dict[str, Any]:
    """Say where the vectors go, in the field that LiteLLM keeps for what callers want to find again."""
    if n == 8:
        return {"namespace": "handbook", "purpose": "query"}
    return {"namespace": "handbook", "purpose": "document", "keys": [f"page-{n}#0", f"page-{n}#1"]}


def _deployment(group: str, model: str, base_url: str, name: str) -> dict[str, Any]:
    return {
        "model_name": group,
        "litellm_params": {"model": model, "api_base": base_url, "api_key": "none", "max_retries": 0},
        "model_info": {"id": name},
    }


def main() -> None:
    """Write the lines in the order in which the router gave them."""
    log = PayloadLog()
    litellm.callbacks = [log]
    asyncio.run(calls(log))
    OUT.write_text("".join(f"{without_folders(line)}\n" for line in log.lines), encoding="utf-8")
    print(f"{OUT.name}: {len(log.lines)} lines by litellm {version('litellm')}")


if __name__ == "__main__":
    main()
