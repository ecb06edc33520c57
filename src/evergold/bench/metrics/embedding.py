"""Old name of entry points, for environments that were installed before they moved; remove after `make setup`."""

from evergold.bench.metrics.text import EmbeddingSimilarity as EmbeddingSimilarity
