"""Words that edits put in: opposites, names, units, verbs; each entry belongs to the part train or to the part test."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from experiments.edits.text import listed
from experiments.edits.wordnet import WordNet

Part: TypeAlias = Literal["train", "test"]
_TEST_SHARE = 5  # one entry in five is for tests alone


def part_of(entry: str) -> Part:
    """The part that an entry belongs to: a digest decides, so that a list may grow without moving its entries."""
    return "test" if hashlib.sha256(entry.lower().encode()).digest()[0] % _TEST_SHARE == 0 else "train"


def pair_key(left: str, right: str) -> str:
    """A pair of words in either order."""
    return "|".join(sorted((left.lower(), right.lower())))


_OPPOSITES = """
big small, large small, huge tiny, tall short, long short, high low, higher lower, highest lowest, hot cold, warm
cool, old young, older younger, old new, early late, earlier later, fast slow, faster slower, easy difficult, easy
hard, cheap expensive, cheaper dearer, strong weak, stronger weaker, rich poor, good bad, better worse, best worst,
happy sad, happy angry, clean dirty, wet dry, full empty, open closed, opens closes, opened closed, opening closing,
safe dangerous, safe unsafe, true false, right wrong, correct incorrect, valid invalid, legal illegal, possible
impossible, public private, present absent, alive dead, guilty innocent, male female, first last, same different, left
right, inside outside, indoors outdoors, upstairs downstairs, up down, above below, over under, before after, ahead
behind, north south, east west, northern southern, eastern western, increase decrease, increases decreases, increased
decreased, increasing decreasing, rise fall, rises falls, rose fell, rising falling, grow shrink, grew shrank, grows
shrinks, gain lose, gained lost, gains losses, profit loss, profits losses, win lose, wins loses, won lost, winner
loser, victory defeat, success failure, succeed fail, succeeds fails, succeeded failed, accept reject, accepts
rejects, accepted rejected, approve deny, approved denied, approves denies, allow forbid, allows forbids, allowed
forbidden, permitted prohibited, include exclude, includes excludes, included excluded, including excluding, enable
disable, enabled disabled, enables disables, start stop, starts stops, started stopped, starting stopping, begin end,
begins ends, began ended, beginning end, buy sell, bought sold, buys sells, buyer seller, lend borrow, lent borrowed,
push pull, pushed pulled, pushing pulling, enter leave, entered left, enters leaves, arrive depart, arrived departed,
arrives departs, import export, imported exported, imports exports, love hate, loves hates, loved hated, like dislike,
likes dislikes, liked disliked, remember forget, remembered forgot, improve worsen, improved worsened, improves
worsens, strengthen weaken, strengthened weakened, support oppose, supports opposes, supported opposed, agree
disagree, agrees disagrees, agreed disagreed, confirm deny, confirmed denied, confirms denies, attack defend, attacked
defended, build demolish, built demolished, create destroy, created destroyed, raise lower, raised lowered, raises
lowers, expand reduce, expanded reduced, maximum minimum, major minor, mandatory optional, compulsory voluntary,
temporary permanent, internal external, domestic foreign, urban rural, permanent provisional, positive negative,
visible hidden, loud quiet, heavy light, heavier lighter, thick thin, wide narrow, deep shallow, sitting standing,
asleep awake, sleeping working, awake sleeping, smiling frowning, smiling crying, laughing crying, walking running,
swimming climbing, sits stands, man woman, men women, boy girl, boys girls, male female, father mother, son daughter,
brother sister, husband wife, day night, morning evening, summer winter, sunrise sunset, adult child, adults children,
teacher student, doctor patient, landlord tenant, employer employee, lender borrower, licensor licensee, plaintiff
defendant, morning afternoon, often rarely, always rarely, frequently seldom, quickly slowly, carefully carelessly,
loudly quietly, partly completely, voluntarily reluctantly, upper lower, online offline, manual automatic, liquid
solid, oral intravenous, acute chronic, benign malignant, systolic diastolic, fasting fed, weekly monthly, daily
weekly, monthly yearly, annual monthly, once twice, single double, former current, past future, front rear, front
back, top bottom, entrance exit, arrival departure, input output, upload download, uploaded downloaded, send receive,
sent received, sends receives, install uninstall, installed removed, add remove, added removed, connect disconnect,
connected disconnected, lock unlock, locked unlocked, hired fired, promoted demoted, married divorced, born died, war
peace, friend enemy, friends enemies, ally enemy, majority minority, optimistic pessimistic, guilty acquitted, healthy
sick, well ill, wealthy poor, sunny rainy, bright dark, hard soft, smooth rough, sharp blunt, sweet sour, tight loose,
fresh stale, raw cooked, noisy silent, crowded empty, busy idle, complete partial
"""
_ALTERNATIVES = """
red blue green yellow black white orange purple brown pink gray
dog cat horse cow sheep bird goat rabbit
beach mountain forest desert street kitchen office park
car bus truck bicycle motorcycle train boat
guitar piano violin drums trumpet flute
soccer basketball baseball tennis hockey golf rugby football
shirt jacket hat dress coat sweater
apple banana sandwich pizza cake soup
eating sleeping swimming dancing reading cooking singing running painting
bread rice cheese butter meat fish
river lake ocean pond
engineer lawyer nurse farmer pilot teacher painter
tablet injection syrup ointment capsule
breakfast lunch dinner
kitchen bathroom bedroom garage
gold silver bronze copper
spring summer autumn winter
"""
_FIRST_NAMES = """
James Mary John Robert Jennifer Michael Linda William Elizabeth David Barbara Richard Susan Joseph Jessica Thomas
Sarah Charles Karen Daniel Nancy Matthew Lisa Anthony Betty Mark Margaret Donald Sandra Steven Ashley Paul Kimberly
Andrew Emily Joshua Donna Kenneth Michelle Kevin Carol Brian Amanda George Melissa Edward Deborah Ronald Stephanie
Timothy Rebecca Jason Laura Jeffrey Helen Ryan Sharon Jacob Cynthia Gary Kathleen Nicholas Amy Eric Angela Jonathan
Anna Stephen Ruth Larry Brenda Justin Pamela Scott Nicole Brandon Katherine Benjamin Samantha Samuel Christine Gregory
Emma Frank Catherine Alexander Virginia Raymond Rachel Patrick Carolyn Jack Janet Dennis Maria Jerry Heather Ahmed
Fatima Mohammed Aisha Omar Leila Hassan Yusuf Priya Raj Anil Sunita Wei Ming Li Yuki Kenji Hiroshi Akiko Ivan Olga
Dmitri Natasha Pierre Marie Jean Claire Hans Greta Klaus Ingrid Luigi Giulia Marco Carlos Sofia Pedro Juan Lucia Diego
Carmen Kwame Amara Chidi Thabo Sven Astrid
"""
_SURNAMES = """
Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson Anderson
Taylor Moore Jackson Martin Lee Perez Thompson White Harris Sanchez Clark Ramirez Lewis Robinson Walker Young Allen
King Wright Scott Torres Nguyen Hill Flores Green Adams Nelson Baker Hall Rivera Campbell Mitchell Carter Roberts
Gomez Phillips Evans Turner Diaz Parker Cruz Edwards Collins Reyes Stewart Morris Morales Murphy Cook Rogers Gutierrez
Ortiz Morgan Cooper Peterson Bailey Reed Kelly Howard Ramos Kim Cox Ward Richardson Watson Brooks Chavez Wood Bennett
Gray Mendoza Ruiz Hughes Price Alvarez Castillo Sanders Patel Myers Long Ross Foster Jimenez Khan Singh Sharma Gupta
Chen Wang Zhang Liu Tanaka Suzuki Sato Ivanov Petrov Popov Dubois Moreau Laurent Schmidt Weber Fischer Rossi Ferrari
Silva Santos Okafor Mensah
"""
_CITIES = """
London Paris Berlin Madrid Rome Vienna Prague Warsaw Budapest Athens Lisbon Dublin Oslo Stockholm Helsinki Copenhagen
Amsterdam Brussels Zurich Geneva Munich Hamburg Milan Naples Barcelona Seville Moscow Kiev Istanbul Ankara Cairo Tunis
Lagos Nairobi Accra Johannesburg Mumbai Delhi Karachi Dhaka Bangkok Jakarta Manila Singapore Beijing Shanghai Tokyo
Osaka Seoul Sydney Melbourne Auckland Toronto Montreal Vancouver Chicago Boston Dallas Houston Denver Seattle Portland
Phoenix Atlanta Miami Detroit Philadelphia Baltimore Cleveland Pittsburgh Minneapolis Havana Bogota Lima Santiago
Caracas Quito Manchester Liverpool Leeds Glasgow Edinburgh Cardiff Belfast Oxford Cambridge Baghdad Tehran Kabul
"""
_COUNTRIES = """
France Germany Spain Italy Austria Poland Hungary Greece Portugal Ireland Norway Sweden Finland Denmark Belgium
Switzerland Russia Ukraine Turkey Egypt Tunisia Nigeria Kenya Ghana India Pakistan Bangladesh Thailand Indonesia
Malaysia China Japan Australia Canada Mexico Brazil Argentina Chile Peru Colombia Venezuela Ecuador Cuba Iraq Iran
Afghanistan Syria Lebanon Jordan Israel Yemen Sudan Ethiopia Uganda Angola Romania Bulgaria Serbia Croatia Slovenia
Slovakia Estonia Latvia Lithuania Iceland Vietnam Cambodia Nepal Mongolia Somalia England Scotland
"""
_STATES = """
California Texas Florida Ohio Georgia Michigan Virginia Washington Arizona Tennessee Indiana Missouri Maryland
Wisconsin Colorado Minnesota Alabama Louisiana Kentucky Oregon Oklahoma Connecticut Utah Iowa Nevada Arkansas
Mississippi Kansas Nebraska Idaho Hawaii Maine Montana Alaska
"""
_PEOPLES = """
American British French German Spanish Italian Russian Chinese Japanese Indian Canadian Australian Mexican Brazilian
Turkish Egyptian Greek Polish Swedish Norwegian Danish Dutch Belgian Swiss Austrian Irish Scottish Welsh Iranian Iraqi
Syrian Korean Vietnamese Thai Nigerian Kenyan
"""
_ORGANISATIONS = """
Microsoft Google Apple Amazon IBM Intel Oracle Samsung Sony Toyota Honda Ford Boeing Airbus Siemens Nestle Unilever
Pfizer Novartis Bayer Walmart Target Starbucks Nike Adidas Reuters Bloomberg Facebook Twitter Netflix Disney NASA
UNICEF Greenpeace Interpol Volkswagen Renault Nokia Philips Shell Exxon Chevron Visa Mastercard FedEx DHL Ubuntu
Debian Fedora Windows Linux Android Firefox Chrome Python Java
"""
_DRUGS = """
ibuprofen paracetamol aspirin amoxicillin metformin insulin warfarin lisinopril atorvastatin omeprazole morphine
codeine penicillin prednisone diazepam fluoxetine salbutamol heparin digoxin levothyroxine
"""
MONTHS = listed("January February March April May June July August September October November December")
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
UNITS = """
mg g kg, ml l, cm m km, milligrams grams kilograms, millimetres centimetres metres kilometres, millimeters centimeters
meters kilometers, seconds minutes hours days weeks months years, second minute hour day week month year, inches feet
yards miles, pounds ounces tons, kb mb gb tb, million billion trillion, hundred thousand million, dollars euros pounds
yen, percent per mille, times a day times a week, volts amps watts, degrees radians, litres gallons, liters gallons,
acres hectares
"""
_AGENTS = """
man woman boy girl doctor nurse teacher student lawyer judge driver pilot farmer soldier police officer manager
customer thief neighbour plumber reporter senator mayor coach player tenant landlord buyer seller chef waiter singer
dancer cat dog wolf horse bear lion tiger patient engineer painter writer editor president minister king queen prince
guard prisoner sailor captain scientist artist child employee supplier contractor client publisher bank company
insurer agency
"""
_EVENTS = """
chase chased chased, hit hit hit, push pushed pushed, pull pulled pulled, follow followed followed, help helped
helped, attack attacked attacked, defeat defeated defeated, criticize criticized criticized, praise praised praised,
arrest arrested arrested, teach taught taught, pay paid paid, hire hired hired, sue sued sued, thank thanked thanked,
blame blamed blamed, rescue rescued rescued, watch watched watched, feed fed fed, visit visited visited, invite
invited invited, interview interviewed interviewed, accuse accused accused, support supported supported, ignore
ignored ignored, admire admired admired, warn warned warned, kick kicked kicked, photograph photographed photographed,
cheat cheated cheated, train trained trained, question questioned questioned, catch caught caught, bite bit bitten,
carry carried carried, contact contacted contacted, notify notified notified, beat beat beaten, replace replaced
replaced, kill killed killed, frighten frightened frightened, guide guided guided, insult insulted insulted, treat
treated treated, examine examined examined, represent represented represented, acquire acquired acquired, call called
called, employ employed employed, betray betrayed betrayed, protect protected protected, threaten threatened
threatened, trust trusted trusted
"""
_ADJUNCTS = """
yesterday, last night, in the park, near the station, on Monday, in front of the house, after the match, this morning,
at the hospital, during the meeting, without warning, in 2012, before the trial, twice, for two hours, in the kitchen,
with a stick, by mistake, again, according to the report, last summer, outside the court, in the end, at school, on
the second day, in writing
"""


_NAMES = {
    "first name": _FIRST_NAMES,
    "surname": _SURNAMES,
    "city": _CITIES,
    "country": _COUNTRIES,
    "state": _STATES,
    "people": _PEOPLES,
    "organisation": _ORGANISATIONS,
    "drug": _DRUGS,
}


@dataclass(frozen=True)
class Lexicon:
    """The words of one part; an edit draws what it puts into a sentence from here alone."""

    part: Part
    wordnet: WordNet

    def _own(self, entries: Iterable[str]) -> list[str]:
        return [entry for entry in entries if part_of(entry) == self.part]

    @cached_property
    def names(self) -> Mapping[str, list[str]]:
        """Names by kind."""
        return {kind: self._own(listed(names)) for kind, names in _NAMES.items()}

    @cached_property
    def kind_of_name(self) -> Mapping[str, str]:
        """The kind of every listed name in lower case, whatever its part."""
        return {name.lower(): kind for kind, names in _NAMES.items() for name in reversed(listed(names))}

    @cached_property
    def antonyms(self) -> Mapping[str, list[str]]:
        """Opposites, and words of which only one can hold (red, blue), for every form of a word."""
        antonyms: dict[str, list[str]] = defaultdict(list)
        for left, right in map(str.split, listed(_OPPOSITES)):
            antonyms[left].append(right)
            antonyms[right].append(left)
        for line in filter(None, map(str.split, _ALTERNATIVES.splitlines())):
            for word in line:
                antonyms[word] += [other for other in line if other != word]
        for word, others in self.wordnet.antonyms.items():
            antonyms[word] += others
        own = {
            word: [other for other in dict.fromkeys(others) if part_of(pair_key(word, other)) == self.part]
            for word, others in antonyms.items()
        }
        return {word: others for word, others in own.items() if others}

    @cached_property
    def synonyms(self) -> Mapping[str, list[str]]:
        own = {
            word: [other for other in others if part_of(pair_key(word, other)) == self.part]
            for word, others in self.wordnet.synonyms.items()
        }
        return {word: others for word, others in own.items() if others}

    @cached_property
    def agents(self) -> list[str]:
        """Nouns for those who do something to another."""
        return self._own(listed(_AGENTS.replace("police officer", "policeman")))

    @cached_property
    def events(self) -> list[tuple[str, str, str]]:
        """Verbs whose subject and object cannot change places: base, past, participle."""
        events = [tuple(event.split()) for event in listed(_EVENTS)]
        return [(base, past, participle) for base, past, participle in events if part_of(base) == self.part]

    @cached_property
    def adjuncts(self) -> list[str]:
        return self._own(listed(_ADJUNCTS))
