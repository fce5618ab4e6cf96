"""Figures that notebooks display although pyplot does not know them. Importing this module imports matplotlib."""

from __future__ import annotations

from io import BytesIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure that a notebook displays as a picture."""

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        self.savefig(picture, format="png", dpi=100)
        return picture.getvalue()


class ShownAxes(Axes):
    """Axes that a notebook displays as their figure."""

    def _repr_png_(self) -> bytes:
        figure = self.get_figure(root=True)
        assert isinstance(figure, ShownFigure)
        return figure._repr_png_()
