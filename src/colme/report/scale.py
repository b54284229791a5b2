"""What an agent costs in a run of so many: time of a round, and memory."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from colme.sim.scale import Size


def cost_by_size(sizes: Sequence[Size], bandwidth: float) -> Figure:
    """Two panels over the number of agents; sizes that were measured on one thread."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    times, bytes_kept = figure.subplots(1, 2)
    agents = [one.agents for one in sizes]
    times.plot(agents, [one.nanoseconds for one in sizes], "o-", label="measured")
    fetched = [one.nanoseconds * one.share_of(bandwidth) for one in sizes]
    label = f"every neighbour from memory, at {bandwidth / 1e9:.1f} GB/s"
    times.plot(agents, fetched, "--", color="gray", label=label)
    times.set_ylabel("ns of processor time per agent-round")
    bytes_kept.plot(agents, [one.held_bytes for one in sizes], "o-", label="beyond the graph")
    bytes_kept.plot(agents, [one.graph_bytes for one in sizes], "s-", label="the graph")
    bytes_kept.set_ylabel("bytes per agent")
    for panel in (times, bytes_kept):
        panel.set_xscale("log")
        panel.set_ylim(bottom=0)
        panel.set_xlabel("agents of one run, degree 10")
        panel.grid(True, color="gray", alpha=0.3, linestyle=":")
        panel.legend(fontsize="small")
    return figure
