"""Metrics of a service for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flows.serve.service import Service

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


class Metrics:
    """Counts and times of requests, by route, and the state of the models."""

    def __init__(self, service: Service) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "ssi_requests", "Requests.", ["path", "method", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "ssi_request_seconds", "Time to the end of the answer.", ["path"], buckets=_SECONDS,
            registry=self._registry,
        )  # fmt: skip
        self._registry.register(_Models(service))

    def text(self) -> bytes:
        """Return everything in Prometheus's text format."""
        return generate_latest(self._registry)


class _Models(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Read the state at the moment that it is asked for."""
        swaps = CounterMetricFamily("ssi_model_swaps", "Models that took over.")
        swaps.add_metric([], self._service.swaps)
        problems = CounterMetricFamily("ssi_model_problems", "Models that could not be opened.")
        problems.add_metric([], self._service.problems)
        documents = GaugeMetricFamily("ssi_documents", "Documents.", labels=["model", "kind"])
        since = GaugeMetricFamily(
            "ssi_model_since_seconds", "When it began to answer.", labels=["model", "directory"]
        )
        recall = GaugeMetricFamily(
            "ssi_recall", "Share of the 10 best documents found, as measured; 1: exact.",
            labels=["model"],
        )  # fmt: skip
        for role, served in zip(("served", "second"), self._service.models, strict=False):
            added = served.searcher.added
            documents.add_metric([role, "indexed"], len(served.searcher) - added)
            documents.add_metric([role, "added"], added)
            recalls = served.searcher.recall
            recall.add_metric([role], 1.0 if recalls is None else recalls)
            since.add_metric([role, str(served.directory)], served.since.timestamp())
        return iter((swaps, problems, documents, recall, since))


class Measured:
    """Count and time what an application answers."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; what it asked for is told by route, so that names stay few."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, counted)
        finally:
            path = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.requests.labels(path, method, str(status)).inc()
            self._metrics.seconds.labels(path).observe(time.perf_counter() - start)


_METHODS = ("GET", "HEAD", "POST", "DELETE")
