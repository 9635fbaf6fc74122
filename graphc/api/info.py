"""What graphc offers, as the Array API asks for it."""
from __future__ import annotations

from graphc import driver
from graphc.ir import dtype as dtypes
from graphc.ir.dtype import DType, default_float


class __array_namespace_info__:  # noqa: N801 - the name is the standard's
    """Devices, dtypes and capabilities of the namespace.

    >>> gc.__array_namespace_info__().default_dtypes()["integral"]
    graphc.int64
    """

    def capabilities(self) -> dict:
        """Masks and shapes that depend on data work: they realize what they need."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        return driver.default_device()

    def devices(self) -> list[str]:
        return [driver.default_device()]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        real = default_float()
        wide = dtypes.complex64 if real is dtypes.float32 else dtypes.complex128
        return {"real floating": real, "complex floating": wide, "integral": dtypes.int64, "indexing": dtypes.int64}

    def dtypes(self, *, device: str | None = None, kind=None) -> dict[str, DType]:
        """The dtypes of a kind (see isdtype; None: of all kinds) by name: those of the standard, which knows neither
        float16 nor bfloat16."""
        from graphc.api.dtypes import isdtype
        if device is not None:
            driver.backend_of(device)       # BackendError where there is no such device
        return {d.name: d for d in dtypes.ALL
                if d not in (dtypes.float16, dtypes.bfloat16) and (kind is None or isdtype(d, kind))}
