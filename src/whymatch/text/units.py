"""Units of measure and currencies, with the factors that turn one into another."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

CURRENCY_SIGNS = "$€£¥₹"
_CONVERSION_TOLERANCE = 0.03  # between systems: "5 miles" and "8 km"
_CALENDAR_TOLERANCE = 0.1  # between days and months: "4 weeks" and "a month"


@dataclass(frozen=True)
class Unit:
    """What a number counts.

    Args:
        dimension: units of the same dimension can be compared.
        factor: how many base units of the dimension one of it is.
        system: within a system factors are exact; between two, people round.
        offset: what is added to a value before it is multiplied, for temperatures.
        shared: whether a number before, as in "5 to 10 mg", has the unit too.
        others: what else its name can mean: "pounds" are money or a mass.
    """

    dimension: str
    factor: Fraction
    system: str = ""
    offset: Fraction = Fraction(0)
    shared: bool = True
    others: tuple["Unit", ...] = ()

    @property
    def readings(self) -> tuple["Unit", ...]:
        """All that its name can mean, each as a unit with one meaning."""
        return replace(self, others=()), *self.others

    def base(self, value: Fraction) -> Fraction:
        """A value of this unit in base units."""
        return (value + self.offset) * self.factor

    def tolerance(self, other: "Unit") -> float:
        """The relative difference that two values of these units, of one dimension, may have and still be the same."""
        if self.system == other.system:
            return 0.0
        return _CALENDAR_TOLERANCE if self.dimension == "time" else _CONVERSION_TOLERANCE


# Words stand after any number; symbols only after digits, and their case counts. The names of one unit share a line; a
# name that can mean several units stands on the line of each, the most common first.
_WORDS = """
mass metric 1/1000000: microgram micrograms
mass metric 1/1000: milligram milligrams milligramme milligrammes
mass metric 1: gram grams gramme grammes
mass metric 1000: kilogram kilograms kilogramme kilogrammes kilo kilos
mass metric 1000000: tonne tonnes ton tons
mass imperial 45359237/50: ton tons
mass imperial 45359237/1600000: ounce ounces
volume metric 1/1000: millilitre millilitres milliliter milliliters
volume metric 1: litre litres liter liters
volume imperial 473176473/125000000: gallon gallons
length metric 1/1000: millimetre millimetres millimeter millimeters
length metric 1/100: centimetre centimetres centimeter centimeters
length metric 1: metre metres meter meters
length metric 1000: kilometre kilometres kilometer kilometers
length imperial 127/5000: inch inches
length imperial 381/1250: foot feet ft
length imperial 1143/1250: yard yards
length imperial 201168/125: mile miles
speed metric 1: kph kmh kilometres_per_hour kilometers_per_hour kilometres_an_hour kilometers_an_hour
speed imperial 201168/125000: mph miles_per_hour miles_an_hour
time clock 1/1000: millisecond milliseconds
time clock 1: second seconds sec secs
time clock 60: minute minutes min mins
time clock 3600: hour hours hr hrs
time clock 86400: day days
time clock 604800: week weeks
time clock 1209600: fortnight fortnights
time calendar 2629746: month months
time calendar 31556952: year years yr yrs
time calendar 315569520: decade decades
time calendar 3155695200: century centuries
power metric 1: watt watts
power metric 1000: kilowatt kilowatts
power metric 1000000: megawatt megawatts
power metric 1000000000: gigawatt gigawatts
data - 1: byte bytes
data kilo 1000: kilobyte kilobytes
data mega 1000000: megabyte megabytes
data giga 1000000000: gigabyte gigabytes
data tera 1000000000000: terabyte terabytes
percent - 1: percent pct percentage_points percentage_point per_cent
dollar - 1: dollar dollars buck bucks
dollar - 1/100: cent cents
dollar of Canada 1: dollar dollars
dollar of Canada 1/100: cent cents
dollar of Australia 1: dollar dollars
dollar of Australia 1/100: cent cents
dollar of Hong Kong 1: dollar dollars
dollar of Hong Kong 1/100: cent cents
euro - 1: euro euros
euro - 1/100: cent cents
pound - 1: pound pounds quid
mass imperial 45359237/100000: pound pounds lb lbs
yen - 1: yen
yuan - 1: yuan renminbi
rupee - 1: rupee rupees
franc - 1: franc francs
times - 1: times
"""
_SYMBOLS = """
mass metric 1/1000000: µg μg mcg
mass metric 1/1000: mg
mass metric 1: g
mass metric 1000: kg
mass imperial 45359237/1600000: oz
volume metric 1/1000000: µl µL μl μL
volume metric 1/1000: ml mL
volume metric 1: l L
length metric 1/1000: mm
length metric 1/100: cm
length metric 1: m
length metric 1000: km
speed metric 1: km/h km/hr
time clock 1/1000: ms
time clock 1: s
time clock 3600: h
power metric 1: W
power metric 1000: kW
power metric 1000000: MW
power metric 1000000000: GW
data kilo 1000: kB KB
data mega 1000000: MB
data giga 1000000000: GB
data tera 1000000000000: TB
percent - 1: %
dollar - 1: $ US$ USD
dollar of Canada 1: $ C$ CA$ CAD
dollar of Australia 1: $ A$ AU$ AUD
dollar of Hong Kong 1: $ HK$ HKD
euro - 1: € EUR
pound - 1: £ GBP
yen - 1: ¥ JPY
yuan - 1: RMB CNY
rupee - 1: ₹ INR
franc - 1: CHF
"""
_CELSIUS = ("°c", "° c", "degrees celsius", "degrees centigrade", "degree celsius", "celsius")
_FAHRENHEIT = ("°f", "° f", "degrees fahrenheit", "degree fahrenheit", "fahrenheit")
_TEMPERATURES = (
    Unit("temperature", Fraction(1), "Celsius"),
    Unit("temperature", Fraction(5, 9), "Fahrenheit", Fraction(-32)),
)
_DEGREE = Unit("degree", Fraction(1), others=_TEMPERATURES)  # of an angle, or of either scale


def _read(table: str) -> dict[str, Unit]:
    readings = defaultdict[str, list[Unit]](list)
    for name, unit in _lines(table):
        readings[name].append(unit)
    return {name: replace(first, others=tuple(others)) for name, (first, *others) in readings.items()}


def _lines(table: str) -> Iterator[tuple[str, Unit]]:
    for line in table.strip().splitlines():
        head, _, names = line.partition(": ")
        *words, factor = head.split()
        dimension, system = (words[0], words[1]) if len(words) == 2 else (" ".join(words), "")
        for name in names.split():
            yield name.replace("_", " "), Unit(dimension, Fraction(factor), system)


@cache
def _words() -> dict[str, Unit]:
    own = {
        "ordinal": Unit("ordinal", Fraction(1), shared=False),
        "decade of": Unit("decade", Fraction(1), shared=False),
    }
    temperatures = dict.fromkeys(_CELSIUS, _TEMPERATURES[0]) | dict.fromkeys(_FAHRENHEIT, _TEMPERATURES[1])
    return _read(_WORDS) | dict.fromkeys(("degree", "degrees"), _DEGREE) | temperatures | own


@cache
def _symbols() -> dict[str, Unit]:
    return _read(_SYMBOLS) | {"°": _DEGREE}


def word_unit(name: str) -> Unit | None:
    """The unit that a word in lower case names, whatever stands before it; None if it names none.

    "ordinal" is the unit of "third", and "decade of" that of "1990s".
    """
    return _words().get(name)


def symbol_unit(symbol: str) -> Unit | None:
    """The unit that a symbol stands for beside digits; its case counts."""
    return _symbols().get(symbol)
