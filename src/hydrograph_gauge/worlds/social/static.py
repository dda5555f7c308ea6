"""The static graph: persons, users, friendships, groups and forums."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydrograph.rdf.encoding import TRIPLE_COLUMNS
from hydrograph.rdf.vocab import XSD_DATE
from hydrograph_gauge.worlds.social.friendships import Friendships, add_dates
from hydrograph_gauge.worlds.social.people import People, pick_word
from hydrograph_gauge.worlds.social.triples import (
    DBP,
    DBPPROP,
    DC,
    FOAF,
    SIB,
    SIOC,
    TYPE,
    XSD_G_YEAR,
    collect_triples,
    date_triple,
    degrees_triple,
    explode_triples,
    instant_triple,
    iri_text,
    text_triple,
    triple,
    triple_if,
    typed_triple,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_OLDEST, _AGES = -7_300, 16_000  # days: born from 1950 to 1993
_TIES = ("In a relationship", "Engaged", "Married")
_PARTNERS = ("In_relationship_with", "Engaged_with", "Married_with")


def static_triples(people: People, circles: Friendships, groups: DataFrame) -> DataFrame:
    """Return the static graph."""
    parts = [
        _unfolded(circles.users, _person(people)),
        _unfolded(circles.users, _user(people)),
        _unfolded(add_dates(circles.friendships, people), _friendship(people)),
        _unfolded(groups, _group(people)),
    ]
    first, *others = parts
    for other in others:
        first = first.unionByName(other)
    return first


def _unfolded(rows: DataFrame, triples: Column) -> DataFrame:
    return explode_triples(rows, triples).select(*TRIPLE_COLUMNS)


def _person(people: People) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    asked, draws, known = people.settings, people.draws, people.known
    u, country = F.col("u"), F.col("country")
    person = iri_text("person", u)
    latitude, longitude = people.home(u, country)
    nation = people.country_name(country)
    male = draws.chance("male", 0.5).column(u)
    first = F.when(male, _name(people, "male", "first name", u, country)).otherwise(
        _name(people, "female", "first name", u, country)
    )
    last = _name(people, "last", "last name", u, country)

    def given(what: str) -> Column:
        return draws.chance(f"has {what}", 1 - asked.missing_probability).column(u)

    def year(p: str, value: Column) -> Column:
        # The original calls a bare year an xsd:date, which it is not.
        return typed_triple(person, p, value.cast("string"), XSD_DATE if asked.faithful else XSD_G_YEAR)

    abroad = draws.below("studied in", len(known.countries)).column(u)
    foreign = draws.chance("studied abroad", asked.foreign_organisation_probability).column(u)
    town = people.place(F.when(foreign, abroad).otherwise(country), draws.uniform("university town").column(u))
    popular = F.col("degree") > F.lit(0.9 * asked.friends_per_share)
    top = popular & draws.chance("top university", asked.top_university_probability).column(u)
    best = pick_word(known.universities, draws.below("which university", len(known.universities)).column(u))
    university = F.when(top, best).otherwise(F.concat(people.place_name(town), F.lit(" University")))
    away = draws.below("works in", len(known.countries)).column(u)
    works = F.when(draws.chance("works abroad", asked.foreign_company_probability).column(u), away).otherwise(country)
    trade = pick_word(known.companies, draws.below("company", len(known.companies)).column(u))
    company = F.concat(people.country_name(works), F.lit(" "), trade)
    born = F.lit(_OLDEST) + draws.below("birthday", _AGES).column(u)
    graduated = F.lit(1970) + F.floor(born / 365.25) + 21 + draws.below("class year", 4).column(u)
    email = F.concat(F.lower(first), F.lit("."), F.lower(last), u.cast("string"), F.lit("@example.org"))
    studied, employed = given("organisation"), given("company")
    return collect_triples(
        [
            triple(person, TYPE, F.lit(f"<{FOAF}Person>")),
            text_triple(person, f"{FOAF}firstName", first),
            text_triple(person, f"{FOAF}lastName", last),
            triple(person, f"{FOAF}based_near", F.concat(F.lit(f"<{DBP}"), nation, F.lit(">"))),
            text_triple(person, f"{FOAF}based_near", nation),
            degrees_triple(person, f"{DBPPROP}latd", latitude),
            degrees_triple(person, f"{DBPPROP}longd", longitude),
            triple_if(studied, text_triple(person, f"{FOAF}organization", university)),
            triple_if(employed, text_triple(person, f"{SIB}workAt", company)),
            triple_if(employed, year(f"{SIB}workFrom", graduated + draws.below("work from", 10).column(u))),
            triple_if(given("gender"), text_triple(person, f"{FOAF}gender", F.when(male, "male").otherwise("female"))),
            triple_if(given("birthday"), date_triple(person, f"{FOAF}birthday", born)),
            triple_if(given("email"), text_triple(person, f"{SIOC}email", email)),
            triple_if(studied & given("class year"), year(f"{SIB}class_year", graduated)),
            text_triple(person, f"{SIB}browser", people.browser(u)),
            text_triple(person, f"{SIOC}ip_address", people.address(u, country)),
        ]
    )


def _name(people: People, kind: str, purpose: str, u: Column, country: Column) -> Column:
    """Return a name that is common in the country; every group has as many names of a kind."""
    known = people.known
    groups = sorted({group for group, _ in known.names})
    names = [item for group in groups for item in known.names[group, kind]]
    each = len(names) // len(groups)
    place = pick_word([str(groups.index(item.names) * each) for item in known.countries], country).cast("int")
    return pick_word(names, place + people.draws.below(purpose, each).column(u))


def _user(people: People) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    asked, draws = people.settings, people.draws
    u, friends = F.col("u"), F.col("friends")
    user, wall, status_board = iri_text("user", u), iri_text("forum", u * 2), iri_text("forum", u * 2 + 1)
    spoken = draws.chance("has status", 1 - asked.missing_status_probability).column(u)
    single = draws.chance("single", asked.single_probability).column(u)
    tie = draws.below("tie", len(_TIES)).column(u)
    status = F.when(single, F.lit("Single")).otherwise(pick_word(_TIES, tie))
    partner = F.get(friends, F.floor(draws.uniform("partner").column(u) * F.size(friends)).cast("int"))["friend"]
    bound = spoken & ~single & (F.size(friends) > 0)
    items = [
        triple(user, TYPE, F.lit(f"<{SIB}User>")),
        triple(user, TYPE, F.lit(f"<{SIOC}user>")),
        triple(user, f"{SIOC}account_of", iri_text("person", u)),
        triple(user, f"{SIOC}moderator_of", wall),
        triple(user, f"{SIOC}moderator_of", status_board),
        triple(user, f"{SIOC}subscriber_of", wall),
        triple(user, f"{SIOC}subscriber_of", status_board),
        instant_triple(user, f"{DC}date", F.col("created"), faithful=asked.faithful),
        triple_if(spoken, text_triple(user, f"{SIB}status", status)),
        *(
            triple_if(bound & (tie == number), triple(user, f"{SIB}{predicate}", iri_text("user", partner)))
            for number, predicate in enumerate(_PARTNERS)
        ),
    ]
    lists = [
        F.transform(
            "interests",
            lambda interest: text_triple(user, f"{SIB}interest", pick_word(people.known.interests, interest)),
        ),
        F.transform(friends, lambda friend: triple(user, f"{FOAF}knows", iri_text("user", friend["friend"]))),
    ]
    if not asked.faithful:
        for forum in (wall, status_board):
            items += [triple(forum, TYPE, F.lit(f"<{SIOC}Forum>"))]
            items += [instant_triple(forum, f"{DC}created", F.col("created"), faithful=False)]
        lists.append(
            F.transform(
                friends, lambda friend: triple(user, f"{SIOC}subscriber_of", iri_text("forum", friend["friend"] * 2))
            )
        )
    return F.concat(collect_triples(items), *lists)


def _friendship(people: People) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    faithful = people.settings.faithful
    a, b = F.col("a"), F.col("b")
    # The larger number of the two is in the lower digits.
    this = iri_text("friendship", a * people.settings.users + b)
    asks = people.draws.chance("initiator", 0.5).column(a, b)
    answered, again = F.col("answered"), F.col("reapproved")
    return collect_triples(
        [
            triple(this, f"{SIB}memb", iri_text("user", a)),
            triple(this, f"{SIB}memb", iri_text("user", b)),
            triple(this, f"{SIB}initiator", iri_text("user", F.when(asks, a).otherwise(b))),
            instant_triple(this, f"{SIB}requested", F.col("requested"), faithful=faithful),
            triple_if(~F.col("declined"), instant_triple(this, f"{SIB}approved", answered, faithful=faithful)),
            triple_if(F.col("declined"), instant_triple(this, f"{SIB}declined", answered, faithful=faithful)),
            triple_if(again.isNotNull(), instant_triple(this, f"{SIB}reapproved", again, faithful=faithful)),
        ]
    )


def _group(people: People) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    asked = people.settings
    g = F.col("g")
    group, moderator = iri_text("group", g), iri_text("user", F.col("moderator"))
    singer = pick_word(people.known.interests, F.col("interest"))
    nation = people.country_name(F.col("country"))
    forums = [iri_text("forum", forum) for forum in number_group_forums(people, g)]
    items = [
        triple(group, TYPE, F.lit(f"<{SIB}Group>")),
        triple(group, TYPE, F.lit(f"<{SIOC}Usergroup>")),
        text_triple(group, f"{SIOC}name", F.concat(F.lit("Group for "), singer, F.lit(" in "), nation)),
        instant_triple(group, f"{DC}created", F.col("created"), faithful=asked.faithful),
        text_triple(group, f"{SIB}tag", nation),
        text_triple(group, f"{SIB}tag", singer),
        triple(moderator, f"{SIOC}creator_of", group),
    ]
    for forum in forums:
        items += [
            triple(group, f"{SIOC}subscriber_of", forum),
            triple(moderator, f"{SIOC}moderator_of", forum),
            triple(forum, TYPE, F.lit(f"<{SIOC}Forum>")),
            instant_triple(forum, f"{DC}created", F.col("created"), faithful=asked.faithful),
        ]

    def membership(member: Column) -> Column:
        this = iri_text("membership", g * asked.max_members + member["place"])
        user = iri_text("user", member["friend"])
        return F.array(
            triple(group, f"{SIOC}has_member", user),
            triple(this, f"{SIB}member_of_membership", user),
            triple(this, f"{SIB}group_of_membership", group),
            instant_triple(this, f"{SIB}added", member["since"], faithful=asked.faithful),
        )

    return F.concat(collect_triples(items), F.flatten(F.transform("members", membership)))


def number_group_forums(people: People, g: Column) -> tuple[Column, Column]:
    """Return the numbers of a group's two forums, which come after those of the users."""
    first = g * 4 + (2 * people.settings.users + 3)
    return first, first + 2
