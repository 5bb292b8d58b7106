"""Patterns: their rates, the destinations they draw, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from popsnet import Coins, InputError, Network
from popsnet.workloads.patterns import PATTERNS, Gravity, resolve_pattern
from popsnet.workloads.permutations import NAMES
from tests.each import each
from tests.workloads.matrices_of import groups_of, matrix_of

TEXTS = [
    "uniform", "uniform-with-self", "group-shift", "hotspot:1:0.5", "hotspot:2:0.25",
    "hotspot:5:1", "incast:1", "incast:3", "gravity", "gravity:7", "random", "transpose", "shift:d",
    "tornado", "reversal",
]  # fmt: skip
SHAPES = [(3, 2), (2, 3), (4, 4), (1, 8), (8, 1), (5, 3)]


def cases() -> list[tuple[str, int, int]]:
    return [(text, d, g) for text in TEXTS for d, g in SHAPES if text != "group-shift" or g > 1]


@each(("text", "d", "g"), cases())
def test_rates_are_those_of_the_matrix(text: str, d: int, g: int) -> None:
    network = Network(d, g)
    pattern, matrix = resolve_pattern(text, network, seed=3), matrix_of(text, network, 3)
    rates, groups = pattern.rates(), groups_of(matrix, network)
    assert matrix.sum() == pytest.approx(network.n)
    assert pattern.sources() == pytest.approx(matrix.sum(axis=1))
    assert rates.source == pytest.approx(matrix.sum(axis=1).max())
    assert rates.destination == pytest.approx(matrix.sum(axis=0).max())
    assert rates.group_out == pytest.approx(groups.sum(axis=1).max())
    assert rates.group_in == pytest.approx(groups.sum(axis=0).max())
    assert rates.pair == pytest.approx(groups.max())
    # Rounding decides whether a rate of exactly 1 is kept, and it does not matter.
    crowded, kept = np.sort(groups[groups > 1 + 1e-9]), rates.pairs > 1 + 1e-9
    assert np.sort(np.repeat(rates.pairs[kept], rates.counts[kept])) == pytest.approx(crowded)


@each(("text", "d", "g"), cases())
def test_destinations_have_the_distribution_of_the_matrix(text: str, d: int, g: int) -> None:
    """Chi-square over all rows at 10^-7: 89 cases raise a false alarm for 10^-5 of all seeds."""
    network = Network(d, g)
    matrix = matrix_of(text, network, 11)
    targets, draws = resolve_pattern(text, network, seed=11).targets(), 4000
    statistic, freedom = 0.0, 0
    for source in np.flatnonzero(matrix.sum(axis=1)):
        words = Coins(5).words("test", int(source), np.arange(draws))
        drawn = targets.draw(words, np.full(draws, source, np.int32))
        expected = matrix[source] / matrix[source].sum() * draws
        seen = np.bincount(drawn, minlength=network.n)
        assert not seen[expected == 0].any()
        there = expected > 0
        statistic += float(((seen - expected)[there] ** 2 / expected[there]).sum())
        freedom += int(there.sum()) - 1
    if freedom:
        assert chi2.sf(statistic, freedom) > 1e-7
    else:
        assert statistic == 0


def test_every_named_pattern_and_permutation_resolves() -> None:
    network = Network(4, 4)
    for text in PATTERNS:
        given = text.replace("H", "2").replace("F", "0.5").replace("M", "3").replace("SEED", "9")
        assert resolve_pattern(given, network).name == given
    for name in NAMES:
        assert resolve_pattern(name, network).name == name


def test_names_are_canonical() -> None:
    network = Network(4, 4)
    assert resolve_pattern("hotspot:02:.50", network).name == "hotspot:2:0.5"
    assert resolve_pattern("hotspot:1:1.0", network).name == "hotspot:1:1"
    assert resolve_pattern("incast:007", network).name == "incast:7"
    assert resolve_pattern("gravity:07", network).name == "gravity:7"


def test_random_patterns_follow_the_seed() -> None:
    network = Network(8, 8)
    for text, other in (("random", True), ("gravity", True), ("gravity:5", False)):
        words, sources = Coins(1).words("test", 0, np.arange(200)), np.full(200, 3, np.int32)
        first, second = (
            resolve_pattern(text, network, seed).targets().draw(words, sources) for seed in (1, 2)
        )
        assert (first != second).any() == other


def test_weights_fall_by_half_with_every_unit() -> None:
    """Binomial counts are within 5.5 standard deviations: four false alarms in 10^7 seeds each."""
    pattern = resolve_pattern("gravity:3", Network(64, 256))
    assert isinstance(pattern, Gravity)
    weights = pattern.weights() / 2**16
    for unit in range(5):
        mean, share = len(weights) * 2.0**-unit, 2.0**-unit
        deviation = (len(weights) * share * (1 - share)) ** 0.5
        assert abs(np.count_nonzero(weights > unit) - mean) <= 5.5 * deviation
    fractions = (weights % 1 * 4).astype(int)
    deviation = (len(weights) * 3 / 16) ** 0.5
    assert (abs(np.bincount(fractions) - len(weights) / 4) <= 5.5 * deviation).all()


def test_large_networks_need_no_table_of_pairs_of_groups() -> None:
    network = Network(1, 65536)
    for text in ("uniform", "hotspot:4:0.1", "incast:64", "gravity", "random"):
        assert resolve_pattern(text, network).rates().source >= 1


def test_permutations_from_files_have_a_digest_for_a_name(tmp_path: Path) -> None:
    path = tmp_path / "swap.csv"
    path.write_text("1\n0\n3\n2\n")
    pattern = resolve_pattern(str(path), Network(2, 2))
    assert pattern.name.startswith("file.csv:")
    assert pattern.file == str(path.resolve())
    assert pattern.rates().pair == 2
    assert resolve_pattern([1, 0, 3, 2], Network(2, 2)).name.startswith("array:")


@each(
    ("text", "message"),
    [
        (
            "uniforms",
            "There is no pattern 'uniforms'. Did you mean 'uniform'? Give one of: uniform,",
        ),
        ("transpos", "There is no pattern 'transpos'. Did you mean 'transpose'?"),
        ("uniform:2", "pattern = 'uniform:2': uniform takes no value; give 'uniform'."),
        ("group-shift:", "group-shift takes no value; give 'group-shift'."),
        ("uniform-with-self:1", "uniform-with-self takes no value; give 'uniform-with-self'."),
        ("hotspot", "the number of hot processors must be an integer from 1 to 4."),
        ("hotspot:0:0.5", "the number of hot processors must be an integer from 1 to 4."),
        ("hotspot:5:0.5", "the number of hot processors must be an integer from 1 to 4."),
        ("hotspot:٣:0.5", "the number of hot processors must be an integer from 1 to 4."),
        ("hotspot:1", "above 0 and at most 1, as in hotspot:1:0.2."),
        ("hotspot:1:0", "above 0 and at most 1, as in hotspot:1:0.2."),
        ("hotspot:1:1.5", "above 0 and at most 1, as in hotspot:1:0.2."),
        ("hotspot:1:nan", "above 0 and at most 1, as in hotspot:1:0.2."),
        ("hotspot:1:0.5:2", "above 0 and at most 1, as in hotspot:1:0.2."),
        ("incast", "pattern = 'incast': the number of senders must be an integer from 1 to 3."),
        ("incast:4", "pattern = 'incast:4': the number of senders must be an integer from 1 to 3."),
        ("gravity:-1", "the seed of the weights must be an integer from 0 to 18446744073709551615"),
        ("gravity:", "the seed of the weights must be an integer from 0 to 18446744073709551615"),
        ("shift:x", "'shift:x': a shift must be by an integer or by d"),
        ("missing.csv", "missing.csv cannot be read: No such file or directory."),
    ],
)
def test_wrong_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve_pattern(text, Network(2, 2))
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["uniform", "hotspot:1:0.5", "incast:1", "gravity"])
def test_one_processor_has_no_others(text: str) -> None:
    with pytest.raises(InputError, match="one processor has no other one to send to; use 'uni"):
        resolve_pattern(text, Network(1, 1))


def test_one_group_has_no_next() -> None:
    with pytest.raises(InputError, match=r"POPS\(3, 1\) has no next group; use 'uniform', or"):
        resolve_pattern("group-shift", Network(3, 1))
