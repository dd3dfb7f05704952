"""Numbers with units: what people type, and what is refused."""

from __future__ import annotations

import pytest

from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.quantities import parse_quantity, show


@pytest.mark.parametrize(
    ("given", "unit", "value"),
    [
        ("3.35 TB/s", "B/s", 3.35e12),
        ("3.35TB/s", "B/s", 3.35e12),
        ("80 GB", "B", 80e9),
        ("80 GiB", "B", 80 * 2**30),
        ("$2.50/h", "USD/h", 2.5),
        ("2.5 USD/h", "USD/h", 2.5),
        ("989 TFLOP/s", "FLOP/s", 989e12),
        ("35%", "1", 0.35),
        ("2 us", "s", 2e-6),
        ("1_000", "tokens", 1000.0),
        ("1e3", "tokens", 1000.0),
        ("8.19B", "parameters", 8.19e9),
        ("1.3 us", "s", 1.3e-6),
        (7, "GPUs", 7.0),
        ("12,345.5 tokens", "tokens", 12345.5),
        ("10_000_000", "tokens", 1e7),
        ("$2.50/hour", "USD/h", 2.5),
        ("0.04 USD/min", "USD/h", 2.4),
        ("$3.6/hr", "USD/s", 1e-3),
        ("2 hours", "s", 7200.0),
        ("8 ktok", "tokens", 8000.0),
        ("1.5x", "1", 1.5),
    ],
)
def test_parsed(given, unit, value):
    assert parse_quantity(given, unit) == value


@pytest.mark.parametrize(
    ("given", "unit"),
    [
        ("80 GB", "B/s"),
        ("fast", "B/s"),
        ("$3", "B"),
        ("", "s"),
        (True, "s"),
        (None, "s"),
        ("1.2.3", "2 us"),
        ([], "s"),
        (10**400, "s"),
        (3 + 1j, "s"),
    ],
)
def test_refused_with_an_example_or_the_unit(given, unit):
    with pytest.raises(TinkerNomicsError, match=unit.replace("/", ".")):
        parse_quantity(given, unit)


@pytest.mark.parametrize(
    "given", ["3,35 TB/s", "1.234,5 TB/s", "1,2,3", "1000,000", "1_0", "1__000", "1,00", "3.3.5", "0,5"]
)
def test_a_comma_is_no_decimal_sign(given):
    with pytest.raises(TinkerNomicsError, match="the decimal sign is a point"):
        parse_quantity(given, "B/s")


def test_digits_of_other_scripts_are_refused():
    with pytest.raises(TinkerNomicsError, match="not a number"):
        parse_quantity("\u0663 TB/s", "B/s")


def test_a_number_of_thousands_of_digits_is_refused_in_few():
    with pytest.raises(TinkerNomicsError) as caught:
        parse_quantity(10**5000, "s")
    assert len(str(caught.value)) < 100


def test_shown():
    assert show(-3.0, "USD") == "-$3.00" and show(-0.01, "USD/h") == "-$0.01/h"
    assert show(3.35e12, "B/s") == "3.35 TB/s"
    assert show(4.52e-3, "s") == "4.52 ms"
    assert show(2.95, "USD/h") == "$2.95/h"
    assert show(512, "tokens") == "512 tokens"
