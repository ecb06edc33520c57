"""Old name of entry points, for environments that were installed before they moved; remove after `make setup`."""

from evergold.bench.metrics.text import Bleu as Bleu
from evergold.bench.metrics.text import ChrF as ChrF
from evergold.bench.metrics.text import EditSimilarity as EditSimilarity
from evergold.bench.metrics.text import RougeL as RougeL
from evergold.bench.metrics.text import TokenF1 as TokenF1
