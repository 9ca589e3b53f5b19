"""Frames of what a run's network carried and of its jobs; `Result` says what is in them."""

import shlex
from typing import Any

from narthex.errors import NarthexError
from narthex.extras import polars as pl
from narthex.jobs import nodes_of

PS_PER_NS = 1_000


def jobs(document: dict[str, Any]) -> pl.DataFrame:
    """Return a row for each job."""
    schema = {
        "job": pl.Int64,
        "program": pl.String,
        "arguments": pl.String,
        "first_node": pl.Int64,
        "last_node": pl.Int64,
        "process": pl.Int64,
        "nodes": pl.List(pl.Int64),
        "start_ps": pl.Int64,
        "until_ps": pl.Int64,
    }
    alone = {**document, "nodes": [0, len(document["nodes"])], "process": None}
    rows = [
        (
            number,
            job["program"],
            shlex.join(job["arguments"]),
            job["nodes"][0],
            job["nodes"][1] - 1,
            job["process"],
            [*nodes_of(job)],
            job.get("start_ps"),
            job.get("until_ps"),
        )
        for number, job in enumerate(document.get("jobs", [alone]))
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def links(document: dict[str, Any]) -> pl.DataFrame:
    """Return a row for each link, between nodes and on chip."""
    schema = {
        "network": pl.String,
        "from": pl.String,
        "to": pl.String,
        "parcels": pl.Int64,
        "bytes": pl.Int64,
        "busy_ps": pl.Int64,
        "waited_ps": pl.Int64,
        "busy_share": pl.Float64,
    }
    rows = []
    for key, name in (("network", "between nodes"), ("network_on_chip", "on chip")):
        network = document.get(key, {})
        links_alike = network.get("nodes", 1) * network.get("lanes", 1)
        whole_ps = max(document["simulated_ps"] * links_alike, 1)
        for link in network.get("links", []):
            counts = [link[each] for each in ("parcels", "bytes", "busy", "waited")]
            rows.append((name, link["from"], link["to"], *counts, link["busy"] / whole_ps))
    if not rows:
        raise _no_switches(document)
    return pl.DataFrame(rows, schema=schema, orient="row")


def queues(document: dict[str, Any]) -> pl.DataFrame:
    """Return a row for each input of a switch between nodes."""
    schema = {
        "switch": pl.String,
        "from": pl.String,
        "parcels": pl.Int64,
        "most_bytes": pl.Int64,
        "mean_bytes": pl.Float64,
    }
    if "network" not in document:
        raise _no_switches(document)
    whole_ns = max(document["simulated_ps"] / PS_PER_NS, 1)
    rows = [
        (*(queue[key] for key in list(schema)[:4]), queue["byte_ns"] / whole_ns)
        for queue in document["network"]["queues"]
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _no_switches(document: dict[str, Any]) -> NarthexError:
    machine = document["machine"]["machine"]["name"]
    return NarthexError(
        f"this run has no switches: the network between the nodes of machine '{machine}' is ideal;"
        " take a machine with switches, such as cluster or voyager"
    )
