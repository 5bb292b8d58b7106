"""Routers, one idea per file. Importing this package registers those that ship."""

from popsnet.routing import announced as announced
from popsnet.routing import deterministic as deterministic
from popsnet.routing import direct as direct
from popsnet.routing import mei_rizzi as mei_rizzi
from popsnet.routing import offline as offline
from popsnet.routing import relay as relay
from popsnet.routing.facts import Claims, Expectation, Words
from popsnet.routing.plugin import find_router, find_variant
from popsnet.routing.relation import Relation
from popsnet.routing.router import (
    Route,
    Router,
    Schedules,
    Variant,
    all_bounds,
    all_routers,
    get_router,
    register,
    register_relation,
    register_variant,
)

__all__ = [
    "Claims",
    "Expectation",
    "Relation",
    "Route",
    "Router",
    "Schedules",
    "Variant",
    "Words",
    "all_bounds",
    "all_routers",
    "find_router",
    "find_variant",
    "get_router",
    "register",
    "register_relation",
    "register_variant",
]
