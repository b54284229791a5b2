"""Figure 2: error over time on log axes, and below it the same as a multiple of Local."""

import xarray as xr
from matplotlib.figure import Figure

from colme.report import style
from colme.report.style import IDEAL, LOCAL, Pen


def error_and_harm(dataset: xr.Dataset) -> Figure:
    """A column for each degree. Above 1 in the lower row, an agent had better stayed alone."""
    degrees = dataset.degree.values
    epsilons = [float(epsilon) for epsilon in dataset.epsilon.values]
    figure = Figure(figsize=(5.2 * len(degrees) + 3.0, 8.8), layout="constrained")
    panels = figure.subplots(2, len(degrees), squeeze=False, sharex=True, sharey="row")
    colours = style.colours(epsilons)
    names = [str(name) for name in dataset.algorithm.values]
    # A full line is for what is to be looked at: the paper's own comes last.
    lines = style.lines(sorted(names, key=lambda name: name.startswith("paper")))
    for column, degree in enumerate(degrees):
        error, harm = panels[:, column]
        data = dataset.sel(degree=degree)
        local, t = data.mse_local, data.t.values
        style.draw(error, t, local, LOCAL, data.mse_local_se)
        style.draw(error, t, data.mse_ideal, IDEAL)
        style.level_line(harm, LOCAL)
        style.draw(harm, t, data.mse_ideal / local, IDEAL)
        for level, colour in enumerate(colours):
            for name, line in lines.items():
                cell, pen = data.isel(epsilon=level).sel(algorithm=name), Pen(colour, line, 1.4)
                style.draw(error, t, cell.mse, pen, cell.mse_se)
                style.draw(harm, t, cell.mse / local, pen, cell.mse_se / local)
        error.set_title(style.neighbours(degree))
        harm.set_xlabel("Time t (samples of each agent)")
        for panel in (error, harm):
            panel.set_yscale("log")
            style.log_time(panel, t)
            style.grid(panel)
    panels[0, 0].set_ylabel("Average MSE")
    panels[1, 0].set_ylabel("Average MSE / Local (above 1: better alone)")
    panels[1, 0].yaxis.set_major_formatter("{x:,g}")
    handles = [LOCAL.handle(), IDEAL.handle()]
    handles += [
        Pen(colour, "-").handle(style.epsilon_is(epsilon))
        for epsilon, colour in zip(epsilons, colours, strict=True)
    ]
    handles += [Pen("gray", line).handle(name) for name, line in lines.items()]
    style.legend(figure, handles)
    what = "Average squared error, and as a multiple of staying alone"
    style.head(figure, what, style.setting(dataset))
    return figure
