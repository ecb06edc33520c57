"""Figures that training and fitting report."""

import numpy as np


def auroc(scores: np.ndarray, good: np.ndarray) -> float:
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(1, len(scores) + 1)
    yes, no = good.sum(), (~good).sum()
    return float((ranks[good].sum() - yes * (yes + 1) / 2) / (yes * no)) if yes and no else float("nan")


def balanced_accuracy(said: np.ndarray, good: np.ndarray) -> float:
    return float((said[good].mean() + (~said[~good]).mean()) / 2) if good.any() and not good.all() else float("nan")
