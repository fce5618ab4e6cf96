"""The linear learners, one file each."""

from driftline.linear.aar import AAR
from driftline.linear.arcor import ARCOR
from driftline.linear.arowr import AROWR
from driftline.linear.crrls import CRRLS
from driftline.linear.dfop import DFOP
from driftline.linear.eg import EG
from driftline.linear.gd import GD
from driftline.linear.glm import GLM
from driftline.linear.h_infinity import HInfinity
from driftline.linear.kalman import Kalman
from driftline.linear.laser import LASER
from driftline.linear.lms import LMS
from driftline.linear.nlms import NLMS
from driftline.linear.online_newton import OnlineNewton
from driftline.linear.policies import Add, Below, Divide, Every
from driftline.linear.ridge import Ridge
from driftline.linear.rls import RLS
from driftline.linear.second_order import SecondOrder
from driftline.linear.sparse_dfop import SparseDFOP
from driftline.linear.weighted_laser import WeightedLASER
from driftline.linear.wemm import WEMM

__all__ = [
    "AAR",
    "ARCOR",
    "AROWR",
    "CRRLS",
    "DFOP",
    "EG",
    "GD",
    "GLM",
    "LASER",
    "LMS",
    "NLMS",
    "RLS",
    "WEMM",
    "Add",
    "Below",
    "Divide",
    "Every",
    "HInfinity",
    "Kalman",
    "OnlineNewton",
    "Ridge",
    "SecondOrder",
    "SparseDFOP",
    "WeightedLASER",
]
