"""Figures: the only room, with reports, that needs matplotlib."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hero_bayes.plots.curves import plot_density, plot_k_curve
    from hero_bayes.plots.data_map import plot_data_map
    from hero_bayes.plots.dependence import plot_dependence
    from hero_bayes.plots.sensitivity import plot_transport

_HOME = {
    "plot_data_map": "hero_bayes.plots.data_map",
    "plot_dependence": "hero_bayes.plots.dependence",
    "plot_density": "hero_bayes.plots.curves",
    "plot_k_curve": "hero_bayes.plots.curves",
    "plot_transport": "hero_bayes.plots.sensitivity",
}

__all__ = [
    "plot_data_map",
    "plot_density",
    "plot_dependence",
    "plot_k_curve",
    "plot_transport",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hero_bayes.plots' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
