"""Comparators in hindsight, regret over time, and each theorem's bound evaluated on a stream."""

from driftline.regret.bound import Bound
from driftline.regret.comparators import BestFixed, BestSequence, best_fixed, best_sequence, drift, path_length
from driftline.regret.curves import curve
from driftline.regret.drifting import laser_corollary_16, laser_lemma_13, laser_theorem_12, weighted_laser
from driftline.regret.first_order import lms, online_to_batch
from driftline.regret.identities import comparator
from driftline.regret.min_max import wemm_theorem_4, wemm_theorem_5, wemm_theorem_6, wemm_weights
from driftline.regret.resetting import arcor_corollary_1, arcor_corollary_2, arcor_lemma_1, arcor_theorem_1
from driftline.regret.stationary import aar, arowr, network, table_4_1
from driftline.regret.tracking import dfop_recovered, dfop_theorem_1, sparse_dfop_theorem_2

__all__ = [
    "BestFixed",
    "BestSequence",
    "Bound",
    "aar",
    "arcor_corollary_1",
    "arcor_corollary_2",
    "arcor_lemma_1",
    "arcor_theorem_1",
    "arowr",
    "best_fixed",
    "best_sequence",
    "comparator",
    "curve",
    "dfop_recovered",
    "dfop_theorem_1",
    "drift",
    "laser_corollary_16",
    "laser_lemma_13",
    "laser_theorem_12",
    "lms",
    "network",
    "online_to_batch",
    "path_length",
    "sparse_dfop_theorem_2",
    "table_4_1",
    "weighted_laser",
    "wemm_theorem_4",
    "wemm_theorem_5",
    "wemm_theorem_6",
    "wemm_weights",
]
