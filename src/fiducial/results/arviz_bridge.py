"""The only module that knows ArviZ, whose interface differs between versions."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .result import Result


def to_arviz(result: "Result") -> Any:
    """The draws as ArviZ reads them: the group ``posterior`` without network weights,
    and ``observed_data``.

    The name of the group is ArviZ's; the draws are fiducial or whatever the method
    gives."""
    draws = result.draws
    if draws is None:
        raise ValueError(f"there are no draws to hand to ArviZ: {result.no_interval}")
    try:
        import arviz as az
    except ImportError:
        raise ImportError("to_arviz needs ArviZ: pip install 'fiducial[report]'") from None
    import xarray as xr

    observed = {
        f"{g.name}": (f"{g.name}_observation", g.y) for g in result.problem.groups if not g.exact
    }
    tree = xr.DataTree.from_dict(
        {"/posterior": draws.drop_vars("theta"), "/observed_data": xr.Dataset(observed)}
    )
    return az.from_datatree(tree) if hasattr(az, "from_datatree") else tree
