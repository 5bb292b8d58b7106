"""The network POPS(d, g): its processors, groups and couplers, and their numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    overload,
)

from popsnet.base.errors import InputError, import_networkx, wrong

if TYPE_CHECKING:  # NumPy is loaded when arrays are used: `popsnet --help` does not need it
    import networkx as nx
    import numpy as np
    import numpy.typing as npt

_LARGEST = 2**63 - 1

MOST_WAVELENGTHS = 2**16
"""The largest number of wavelengths of a coupler."""

_MOST_EDGES = 10**7
"""The largest number of edges of a graph of NetworkX."""

_MEANINGS = (
    ("d", "processors per group"),
    ("g", "groups"),
    ("wavelengths", "wavelengths per coupler"),
)

I32: TypeAlias = "npt.NDArray[np.int32]"
I64: TypeAlias = "npt.NDArray[np.int64]"
U8: TypeAlias = "npt.NDArray[np.uint8]"
U16: TypeAlias = "npt.NDArray[np.uint16]"
U32: TypeAlias = "npt.NDArray[np.uint32]"
U64: TypeAlias = "npt.NDArray[np.uint64]"
F64: TypeAlias = "npt.NDArray[np.float64]"
Bools: TypeAlias = "npt.NDArray[np.bool_]"
Ints: TypeAlias = "npt.NDArray[np.integer[Any]]"
Numbers = TypeVar("Numbers", int, I32, I64, Ints)


@dataclass(frozen=True, slots=True)
class Network:
    """A Partitioned Optical Passive Star network POPS(d, g).

    There are n = d·g processors in g groups of d. Processor j has group ``j // d`` and index
    ``j % d`` in its group. Coupler c(b, a) carries from group a to group b: g² couplers, one
    for every ordered pair of groups.

    The methods that convert between these numbers take integers and NumPy arrays alike.

    Parameters
    ----------
    d : int
        Processors per group, at least 1.
    g : int
        Groups, at least 1.
    wavelengths : int
        Wavelengths per coupler (W), at least 1. Two messages destroy each other only on the same
        coupler and the same wavelength.

    Raises
    ------
    InputError
        If a number is not a positive integer, or n = d·g exceeds 2^63 - 1.

    Examples
    --------
    >>> from popsnet import Network
    >>> network = Network(3, 2)
    >>> network.n, network.couplers, network.blocks
    (6, 4, 2)
    >>> network.group(4), network.index(4), network.processor(1, 1)
    (1, 1, 4)
    >>> print(Network(3, 2, wavelengths=2))
    POPS(3, 2) with 2 wavelengths
    """

    d: int
    g: int
    wavelengths: int = 1

    def __post_init__(self) -> None:
        for name, meaning in _MEANINGS:
            value = getattr(self, name)
            try:
                number = operator.index(value)
            except TypeError:
                raise wrong(name, repr(value))(
                    f"the number of {meaning} must be an integer of at least 1."
                ) from None
            if isinstance(value, bool) or number < 1:
                raise wrong(name, repr(value))(f"the number of {meaning} must be at least 1.")
            object.__setattr__(self, name, number)
        if self.n > _LARGEST:
            raise InputError("n = d·g must be at most 2^63 - 1; choose a smaller d or g.")
        if self.wavelengths > MOST_WAVELENGTHS:
            raise wrong("wavelengths", self.wavelengths)(
                f"at most {MOST_WAVELENGTHS:,} are allowed."
            )

    def __str__(self) -> str:
        several = f" with {self.wavelengths} wavelengths" if self.wavelengths > 1 else ""
        return f"POPS({self.d}, {self.g}){several}"

    def __repr__(self) -> str:
        several = f", wavelengths={self.wavelengths}" if self.wavelengths > 1 else ""
        return f"Network(d={self.d}, g={self.g}{several})"

    def to_dict(self) -> dict[str, int]:
        """Return d, g and n as a dictionary.

        Returns
        -------
        dict
            The keys ``d``, ``g`` and ``n``, and ``wavelengths`` if there are several.

        Examples
        --------
        >>> Network(3, 2).to_dict()
        {'d': 3, 'g': 2, 'n': 6}
        """
        several = {"wavelengths": self.wavelengths} if self.wavelengths > 1 else {}
        return {"d": self.d, "g": self.g, "n": self.n, **several}

    def columns(self) -> dict[str, int]:
        """Return d, g, n and wavelengths, which rows of exported tables have.

        Examples
        --------
        >>> from popsnet import Network
        >>> Network(3, 2).columns()
        {'d': 3, 'g': 2, 'n': 6, 'wavelengths': 1}
        """
        return {**self.to_dict(), "wavelengths": self.wavelengths}

    def to_networkx(self) -> nx.DiGraph[Any]:
        """Return the network as a directed graph of NetworkX: processors and couplers are nodes.

        A message goes from its sender to a coupler, and from there to all that listen, so that a
        path of two edges is one hop.

        Returns
        -------
        networkx.DiGraph
            Nodes 0 to n - 1 are the processors, with ``kind`` ``"processor"``, ``group`` and
            ``index``. A node (b, a) is coupler c(b, a), with ``kind`` ``"coupler"``, ``number``,
            ``from`` (a) and ``to`` (b). Edges lead from every processor of group a to c(b, a), and
            from there to every processor of group b; they have ``coupler`` (its number), ``from``
            and ``to``, too. The graph has ``d``, ``g`` and ``wavelengths``.

        Raises
        ------
        InputError
            If networkx is not installed (the extra ``popsnet[networkx]``), or the graph would have
            more than 10^7 edges.

        Examples
        --------
        >>> import networkx as nx
        >>> graph = Network(2, 3).to_networkx()
        >>> graph.number_of_nodes(), graph.number_of_edges(), graph.nodes[(2, 0)]["to"]
        (15, 36, 2)
        >>> nx.shortest_path_length(graph, 0, 5)
        2
        """
        if 2 * self.n * self.g > _MOST_EDGES:
            raise InputError(
                f"The graph of {self} would have {2 * self.n * self.g:,} edges, and at most "
                f"{_MOST_EDGES:,} are allowed; choose a smaller network."
            )
        graph = import_networkx().DiGraph(d=self.d, g=self.g, wavelengths=self.wavelengths)
        for j in range(self.n):
            graph.add_node(j, kind="processor", group=j // self.d, index=j % self.d)
        for b in range(self.g):
            for a in range(self.g):
                ends, number = {"from": a, "to": b}, self.coupler(b, a)
                graph.add_node((b, a), kind="coupler", number=number, **ends)
                for i in range(self.d):
                    graph.add_edge(a * self.d + i, (b, a), coupler=number, **ends)
                    graph.add_edge((b, a), b * self.d + i, coupler=number, **ends)
        return graph

    @property
    def n(self) -> int:
        """The number of processors, d·g."""
        return self.d * self.g

    @property
    def couplers(self) -> int:
        """The number of couplers, g²."""
        return self.g * self.g

    @property
    def channels(self) -> int:
        """The messages that can leave a group, or enter it, in one slot without a collision: g·W.

        Examples
        --------
        >>> Network(8, 4).channels, Network(8, 4, wavelengths=2).channels
        (4, 8)
        """
        return self.g * self.wavelengths

    @property
    def blocks(self) -> int:
        """The number of blocks of g indices in a group, ⌈d/g⌉. The last block may be smaller.

        Examples
        --------
        >>> Network(8, 4).blocks, Network(9, 4).blocks, Network(2, 4).blocks
        (2, 3, 1)
        """
        return -(-self.d // self.g)

    @property
    def processors(self) -> I32:
        """The numbers of all processors, 0 to n - 1, as a new array.

        The numbers are ``int32``, or ``int64`` on networks of 2^31 processors or more.

        Examples
        --------
        >>> Network(2, 3).processors
        array([0, 1, 2, 3, 4, 5], dtype=int32)
        """
        import numpy as np

        # Annotated for the networks that routers can run on; larger ones do not fit in memory.
        kind: Any = np.int32 if self.n < 2**31 else np.int64
        return np.arange(self.n, dtype=kind)

    def group(self, processor: Numbers) -> Numbers:
        """Return the group of a processor.

        Parameters
        ----------
        processor : int or array of int
            Processor numbers, from 0 to n - 1; those in arrays are not checked.

        Returns
        -------
        int or array of int
            ``processor // d``; an array keeps its type.

        Raises
        ------
        InputError
            If there is no such processor.

        Examples
        --------
        >>> Network(3, 2).group(4)
        1
        >>> network = Network(3, 2)
        >>> network.group(network.processors)
        array([0, 0, 0, 1, 1, 1], dtype=int32)
        """
        if not getattr(processor, "ndim", 0):
            self._require_below(self.n, "processor", processor)
        return processor // self.d

    def index(self, processor: Numbers) -> Numbers:
        """Return the index of a processor in its group.

        Parameters
        ----------
        processor : int or array of int
            Processor numbers, from 0 to n - 1; those in arrays are not checked.

        Returns
        -------
        int or array of int
            ``processor % d``; an array keeps its type.

        Raises
        ------
        InputError
            If there is no such processor.

        Examples
        --------
        >>> Network(3, 2).index(4)
        1
        >>> network = Network(3, 2)
        >>> network.index(network.processors)
        array([0, 1, 2, 0, 1, 2], dtype=int32)
        """
        if not getattr(processor, "ndim", 0):
            self._require_below(self.n, "processor", processor)
        return processor % self.d

    def processor(self, group: Numbers | int, index: Numbers | int) -> Numbers:
        """Return the processor with an index in a group.

        Parameters
        ----------
        group, index : int or array of int
            Group numbers, and indices in these groups; those in arrays are not checked.

        Returns
        -------
        int or array of int
            ``group * d + index``; an array keeps its type if that can hold n - 1, and becomes
            ``int64`` otherwise.

        Raises
        ------
        InputError
            If there is no such group or index.

        Examples
        --------
        >>> Network(3, 2).processor(1, 2)
        5
        >>> import numpy as np
        >>> Network(3, 2).processor(np.arange(2, dtype=np.int32), 2)
        array([2, 5], dtype=int32)
        """
        if not getattr(group, "ndim", 0):
            self._require_below(self.g, "group", group)
        if not getattr(index, "ndim", 0):
            self._require_below(self.d, "index", index)
        processor: Numbers = _joined(group, self.d, index, self.n)
        return processor

    def _require_below(self, end: int, name: str, number: Any) -> None:
        """Refuse what is not a number from 0 to end - 1."""
        try:
            inside = 0 <= operator.index(number) < end
        except TypeError:
            raise wrong(name, f"{number!r:.40}")(
                "give an integer, or an array of integers."
            ) from None
        if not inside:
            names = "indices" if name == "index" else f"{name}s"
            raise wrong(name, number)(f"{self} has {names} 0 to {end - 1:,}; give one of these.")

    @overload
    def coupler(self, b: int, a: int) -> int: ...
    @overload
    def coupler(self, b: Ints, a: Ints | int) -> I64: ...
    @overload
    def coupler(self, b: int, a: Ints) -> I64: ...
    def coupler(self, b: Ints | int, a: Ints | int) -> I64 | int:
        """Return the number of coupler c(b, a), which carries messages from group a to group b.

        Parameters
        ----------
        b, a : int or array of int
            The group that the coupler leads to, and the group that it comes from.

        Returns
        -------
        int or array of int
            ``b * g + a``, from 0 to g² - 1. Arrays are ``int64``: g² may exceed the range of
            ``int32`` where n does not.

        Examples
        --------
        >>> Network(1, 4).coupler(2, 3)
        11
        >>> import numpy as np
        >>> Network(1, 2**16).coupler(np.array([65535], dtype=np.int32), 65535)
        array([4294967295])
        """
        coupler: I64 | int = _joined(b, self.g, a, _LARGEST)
        return coupler


def _joined(high: Any, base: int, low: Any, bound: int) -> Any:
    """Return ``high * base + low``, for arrays in a type that can hold bound - 1."""
    if hasattr(high, "dtype"):
        high = _holding(high, bound)
    else:
        low = _holding(low, bound)
    return high * base + low


def _holding(numbers: Any, bound: int) -> Any:
    kind = getattr(numbers, "dtype", None)
    if kind is None or bound <= 1 << (8 * kind.itemsize - (kind.kind == "i")):
        return numbers
    return numbers.astype("int64")


def shape_of(network: Network | int, g: int | None) -> tuple[int, int]:
    """Return d and g from a network of one wavelength or from two numbers."""
    if isinstance(network, Network):
        if g is not None:
            raise wrong("g", repr(g))(f"{network} has a number of groups already; leave out g.")
        require_one_wavelength(network)
        return network.d, network.g
    if g is None:
        raise InputError(f"g is missing beside d = {network!r}; give a network, or d and g.")
    return network, g


def network_of(network: Network | int, g: int | None, several: int | None = None) -> Network:
    """Return the network of a call: given as such, or as its sizes and its wavelengths."""
    width, shape = 1, network
    if isinstance(network, Network):
        width, shape = network.wavelengths, Network(network.d, network.g)
    if several is not None and width > 1:
        raise wrong("wavelengths", repr(several))(
            f"{network!r} has a number of wavelengths already; leave it out."
        )
    return Network(*shape_of(shape, g), width if several is None else several)


_P = ParamSpec("_P")
_A = TypeVar("_A", contravariant=True)
_B = TypeVar("_B", contravariant=True)
_R = TypeVar("_R", covariant=True)


class OnNetwork(Protocol[_P, _R]):
    """A function of a network, or of its sizes d and g."""

    @overload
    def __call__(self, network: Network, /, *more: _P.args, **others: _P.kwargs) -> _R: ...
    @overload
    def __call__(self, d: int, g: int, /, *more: _P.args, **others: _P.kwargs) -> _R: ...


class ThenNetwork(Protocol[_A, _P, _R]):
    """A function of something and a network."""

    @overload
    def __call__(self, a: _A, network: Network, /, *more: _P.args, **others: _P.kwargs) -> _R: ...
    @overload
    def __call__(self, a: _A, d: int, g: int, /, *more: _P.args, **others: _P.kwargs) -> _R: ...


class LastNetwork(Protocol[_A, _B, _P, _R]):
    """A function of two things and a network."""

    @overload
    def __call__(
        self, a: _A, b: _B, network: Network, /, *more: _P.args, **others: _P.kwargs
    ) -> _R: ...
    @overload
    def __call__(
        self, a: _A, b: _B, d: int, g: int, /, *more: _P.args, **others: _P.kwargs
    ) -> _R: ...


@overload
def on_network(  # type: ignore[overload-overlap]
    function: Callable[Concatenate[Network, _P], _R],
) -> OnNetwork[_P, _R]: ...
@overload
def on_network(  # type: ignore[overload-overlap]
    function: Callable[Concatenate[_A, Network, _P], _R],
) -> ThenNetwork[_A, _P, _R]: ...
@overload
def on_network(
    function: Callable[Concatenate[_A, _B, Network, _P], _R],
) -> LastNetwork[_A, _B, _P, _R]: ...
def on_network(function: Callable[..., Any]) -> Any:
    """Decorate a function of a network, so that it can be called with d and g as well."""
    at = list(signature(function).parameters).index("network")

    @wraps(function)
    def called(*values: Any, **parameters: Any) -> Any:
        if len(values) > at and not isinstance(values[at], Network):
            g = values[at + 1] if len(values) > at + 1 else parameters.pop("g", None)
            values = (*values[:at], network_of(values[at], g), *values[at + 2 :])
        elif "d" in parameters:
            parameters["network"] = network_of(parameters.pop("d"), parameters.pop("g", None))
        return function(*values, **parameters)

    return called


def require_one_wavelength(network: Network) -> None:
    """Refuse several wavelengths, and what is not a network, for what is known of one only."""
    require_network(network)
    if network.wavelengths > 1:
        raise wrong("network", network)(
            f"this is for one wavelength per coupler; give Network({network.d}, {network.g})."
        )


def require_network(network: Network) -> None:
    """Refuse a value that is not a network."""
    if not isinstance(network, Network):
        raise wrong("network", f"{network!r:.60}")("give a Network, as in Network(4, 4).")


def about(network: Network, **values: object) -> dict[str, object]:
    """Return what the results of a report are about: the network, other values, and the version.

    Parameters
    ----------
    network : Network
        The network.
    **values : object
        Other values, such as seeds.
    """
    import popsnet

    return {"network": network.columns(), **values, "popsnet_version": popsnet.__version__}
