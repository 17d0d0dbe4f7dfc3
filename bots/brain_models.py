"""The clients that ask providers: one for each provider and key, as long as the catalogue stays."""

from collections import OrderedDict
from dataclasses import replace
from typing import Final

import aiohttp

from bots.settled_models import DEMO
from config.secret import Secret
from engine.models.catalog import ModelCatalog, OfferedProvider
from engine.models.client import HttpModel
from engine.models.demo import DemoModel
from engine.models.model import Model

CLIENTS_MAX: Final = 256
"""People's keys beyond this many are given clients anew; one costs next to nothing."""


class BrainModels:
    """Makes clients on one shared session."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._demo = DemoModel()
        self._catalog: ModelCatalog | None = None
        self._clients: OrderedDict[tuple[str, Secret | None], HttpModel] = OrderedDict()

    def model(
        self, catalog: ModelCatalog, provider: OfferedProvider, user_key: Secret | None
    ) -> Model:
        """Who asks this provider, with the person's key or else with the provider's own."""
        if provider.id is None and provider.name == DEMO:
            return self._demo
        if catalog is not self._catalog:
            self._clients.clear()
            self._catalog = catalog
        place = (provider.name, user_key)
        client = self._clients.get(place)
        if client is None:
            config = provider.config
            # A central key whose use is switched off must not travel either.
            key = user_key or (config.api_key if provider.policy.central_key_enabled else None)
            client = HttpModel(self._session, replace(config, api_key=key))
            self._clients[place] = client
        self._clients.move_to_end(place)
        if len(self._clients) > CLIENTS_MAX:
            self._clients.popitem(last=False)
        return client
