"""Calls a service that ``driftline serve`` runs: :class:`Client`, and :class:`AsyncClient` for event loops."""

from driftline.client.clients import AsyncClient, Client
from driftline.client.trial import ServiceError, UnsureError

__all__ = ["AsyncClient", "Client", "ServiceError", "UnsureError"]
