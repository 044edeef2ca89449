"""The bridge to ArviZ: the only module that imports it, as its interface differs between
versions.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .result import Result


def to_arviz(result: "Result") -> Any:
    """Return the draws in ArviZ's form: the group ``posterior`` without network weights,
    and the group ``observed_data``.

    The name of the group is ArviZ's; the draws are those of the method, fiducial or not.
    """
    draws = result.draws
    if draws is None:
        raise ValueError(f"to_arviz: the result has no draws ({result.no_interval})")
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
