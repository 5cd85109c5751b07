"""The readers of recordings, in the order in which they are asked; the generic one takes what is left."""

from __future__ import annotations

from workbench.recordings.model import Reader
from workbench.recordings.readers.agentfootprint import AgentfootprintReader, AgentfootprintTraceReader
from workbench.recordings.readers.console_spans import ConsoleSpansReader, PhoenixReader
from workbench.recordings.readers.generic import GenericReader
from workbench.recordings.readers.otlp import OtlpReader
from workbench.recordings.readers.provider_bodies import OpenAIBatchReader, ProviderBodyReader
from workbench.recordings.readers.vcr import VcrReader

READERS: tuple[Reader, ...] = (
    AgentfootprintReader(),
    AgentfootprintTraceReader(),
    OtlpReader(),
    ConsoleSpansReader(),
    PhoenixReader(),
    OpenAIBatchReader(),
    ProviderBodyReader(),
    VcrReader(),
    GenericReader(),
)
"""Every reader; the first that recognises a document reads it."""
