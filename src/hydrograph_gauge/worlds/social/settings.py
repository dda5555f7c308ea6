"""Settings of the social network: the parameters of S2Gen under plain names, and presets of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from hydrograph.temporal import HOUR
from hydrograph_gauge.worlds.settings import Rates, Settings

DAY = 24 * HOUR
WEEK = 7 * DAY
STREAMS = ("gps", "posts", "post_likes", "photos", "photo_likes", "tags", "photo_tags")
PASSES = ("location", "interest", "random")
IDS_PER_OWNER = 100_000
"""Posts and albums of one user or group; their names are numbers made of the owner's and their own."""

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    # |U_data| = 219,825 and |S_pc| = 102,955 triples: 53 friends, no comments (Le-Phuoc et al., ISWC 2012).
    # `max_friends` and `max_comments` are for `--skew bounded`, which has the same sizes.
    "paper": {
        "faithful": True,
        "users": 1000,
        "end": "2010-02-28",
        "skew": "power-law",
        "random_decay": 1.0,
        "mean_friends": 57.0,
        "mean_comments": 0.0,
        "max_friends": 125,
        "max_comments": 1,
    },
    # 121 million static triples for 100,000 users: 333 friends each (Le-Phuoc et al., ISWC 2013).
    # `random_values` go by the users: with fewer users of a value, no user would find 133 friends by chance.
    "cloud": {
        "faithful": True,
        "skew": "bounded",
        "random_decay": 0.8,
        "users": 100_000,
        "max_friends": 497,
        "cells_per_window": 8,
        "cell_size": 200,
    },
}
"""Settings by the name of a preset; whatever else is given overrides them."""
RELEASED: Mapping[str, Any] = {"skew": "bounded", "random_decay": 0.8}
"""What the released generator draws from; settings that are `faithful` start from this where their preset has none."""
MOST_COMMENTS = 1000
"""Comments on one post; a comment is numbered by its post and its place in the thread."""
_USERS_PER_VALUE = 100

_ROUNDING = 1e-9
Probability = Annotated[float, Field(ge=0, le=1)]


def _shares(value: object) -> object:
    """Return `["0.3,0.3,0.4"]`, or the numbers one by one, as numbers; TOML gives a list already.

    >>> _shares(("0.3,0.3", "0.4"))
    ['0.3', '0.3', '0.4']
    """
    if not isinstance(value, list | tuple):
        return value
    return [part for item in value for part in (item.split(",") if isinstance(item, str) else (item,))]


Shares = Annotated[tuple[float, float, float], BeforeValidator(_shares)]
"""Three numbers, on the command line with commas between them."""


class SocialSettings(Settings):
    """The social network."""

    preset: Literal["default", "paper", "cloud"] = Field("default", description="a set of settings to start from")
    users: int = Field(1000, ge=1, le=2**31, description="number of users")
    start: date = Field(date(2010, 2, 1), description="first day")
    end: date = Field(date(2010, 2, 10), description="last day")

    skew: Literal["power-law", "bounded"] = Field(
        "power-law", description="friends, posts and comments: heavy tails, or the bounded draws of the release of 2012"
    )
    tail_exponent: float = Field(
        3.0, gt=2, le=10, allow_inf_nan=False, description="with heavy tails, a density falls with x**-exponent"
    )
    mean_friends: float = Field(20.0, gt=0, le=10_000, description="with heavy tails, friends wanted in the mean")
    mean_comments: float = Field(
        9.5, ge=0, le=100, description="with heavy tails, comments tried on a post in the mean; not all are by friends"
    )
    min_friends: int = Field(5, ge=0, description="if bounded, fewest friends a user wants")
    max_friends: int = Field(40, ge=1, le=10_000, description="if bounded, most friends a user wants")
    alpha: float = Field(
        2.0,
        gt=0,
        allow_inf_nan=False,
        description="if bounded, of friends wanted, and if faithful, of delays of comments, "
        "a share of x**alpha lies below x of the range",
    )
    cell_size: int = Field(100, ge=1, description="users in a cell of the sliding window")
    cells_per_window: int = Field(4, ge=1, description="cells in the window of users that are offered to each other")
    block_users: int = Field(10_000, ge=1, description="users over which a window slides in one task")
    friend_shares: Shares = Field((0.3, 0.3, 0.4), description="share of friends found by location, interest, chance")
    friend_probability: Probability = Field(0.8, description="probability of friendship at distance 0")
    random_friend_probability: Probability = Field(0.32, description="the same in the random pass")
    friend_decay: Probability = Field(0.8, description="what each step of distance leaves of that probability")
    random_decay: Probability = Field(1.0, description="the same in the random pass; 1: all are equally likely")
    random_values: int = Field(1000, ge=1, description="values of the random dimension")
    reject_probability: Probability = Field(0.02, description="share of friendships that are declined")
    reapprove_probability: Probability = Field(0.5, description="share of declined ones that are approved later")

    max_interests: int = Field(10, ge=1, description="most interests drawn for a user; equal ones collapse")
    missing_probability: Probability = Field(0.2, description="share of persons without an optional property")
    missing_status_probability: Probability = Field(0.5, description="share of users without a status")
    single_probability: Probability = Field(0.8, description="share of singles among users with a status")
    foreign_organisation_probability: Probability = Field(0.05, description="share of people who studied abroad")
    foreign_company_probability: Probability = Field(0.05, description="share of people who work abroad")
    top_university_probability: Probability = Field(0.7, description="of users with more than 0.9 of the most friends")
    other_browser_probability: Probability = Field(0.01, description="share of posts from another browser")
    smartphone_probability: Probability = Field(0.5, description="share of users with a smartphone")
    agent_probability: Probability = Field(0.8, description="share of a phone owner's posts that name the phone")
    traveller_probability: Probability = Field(0.01, description="share of users who travel often")
    travel_probability: Probability = Field(0.02, description="share of posts from another country")
    season_travel_probability: Probability = Field(0.1, description="the same in June, July and 24-31 December")
    traveller_travel_probability: Probability = Field(0.3, description="the same for those who travel often")

    moderator_probability: Probability = Field(0.05, description="share of users who found groups")
    max_groups: int = Field(4, ge=1, description="groups per founder: below this number")
    max_members: int = Field(100, ge=1, description="members of a group: below this number")
    member_levels: Shares = Field((0.5, 0.8, 1.0), description="up to here friends, friends of friends, anybody asked")
    join_probabilities: Shares = Field((0.7, 0.4, 0.1), description="and how many of those join")
    max_group_posts: int = Field(5, ge=0, description="posts per week in a group of 100: below this number")
    group_interest_probability: Probability = Field(0.8, description="share of group posts about the interest")

    max_location_posts: int = Field(10, ge=0, description="posts per week about one's region: below this number")
    max_interest_posts: int = Field(15, ge=0, description="posts per week about one's interests: below this number")
    max_comments: int = Field(20, ge=1, le=1000, description="if bounded, comments tried on a post: below this number")
    max_likes: int = Field(10, ge=1, description="likes of a post or photo: below this number")
    min_text: int = Field(40, ge=0, description="characters of a post at least")
    max_text: int = Field(300, ge=1, le=300, description="characters of a post at most")
    min_comment: int = Field(40, ge=0, description="characters of a comment at least")
    max_comment: int = Field(100, ge=1, le=300, description="characters of a comment at most")
    short_text_probability: Probability = Field(0.8, description="share of texts below half the most")
    post_like_copies: int = Field(10, ge=1, description="times the likes of a post are written, if faithful")
    photo_like_copies: int = Field(4, ge=1, description="times the likes of a photo are written, if faithful")

    max_places: int = Field(2, ge=1, description="favourite places of a user: below this number")
    place_probability: Probability = Field(
        0.9, description="share of photos taken at a favourite place, if there is one"
    )
    max_albums: int = Field(3, ge=0, description="photo albums per week: below this number")
    max_photos: int = Field(40, ge=1, le=1000, description="photos in an album: below this number")
    max_user_tags: int = Field(10, ge=1, description="users tagged in a photo: below this number")

    events: int = Field(50, ge=0, description="events that people attend")
    min_attendees: int = Field(20, ge=0, description="attendees of an event at least")
    max_attendees: int = Field(120, ge=1, le=1000, description="attendees of an event: below this number")
    max_event_fixes: int = Field(100, ge=1, le=1000, description="GPS fixes of an attendee: below this number")
    gps_probability: Probability = Field(0.1, description="share of users who report where they are")
    max_gps_times: int = Field(100, ge=1, le=1000, description="times such a user reports, at most")
    max_gps_fixes: int = Field(
        10, ge=1, le=1000, description="GPS fixes each time, at most; if faithful, as many as times"
    )

    element: Literal["object", "triple"] = Field("object", description="what has a time of its own")
    rate: Rates = Field(default_factory=dict, description="elements per second of a stream, instead of creation times")

    @model_validator(mode="before")
    @classmethod
    def _start_from_preset(cls, given: Any) -> Any:
        """Fill in the settings of the preset."""
        if not isinstance(given, Mapping):
            return given
        preset = str(given.get("preset", "default"))
        filled = {**PRESETS.get(preset, {}), **given}
        if filled.get("faithful", False):
            filled = {**RELEASED, **filled}
        if preset == "cloud" and str(filled["users"]).isdecimal():
            filled.setdefault("random_values", max(1, int(filled["users"]) // _USERS_PER_VALUE))
        return filled

    @model_validator(mode="after")
    def _fits(self) -> Self:
        """Refuse settings that contradict each other."""
        if self.end < self.start:
            raise ValueError(f"expected an end on or after the start {self.start}, got {self.end}")
        for low, high in (("min_friends", "max_friends"), ("min_text", "max_text"), ("min_comment", "max_comment")):
            if getattr(self, low) > getattr(self, high):
                raise ValueError(f"expected {low} up to {high} ({getattr(self, high)}), got {getattr(self, low)}")
        if abs(sum(self.friend_shares) - 1) > _ROUNDING:
            raise ValueError(f"expected friend_shares that add up to 1, got {sum(self.friend_shares)}")
        if list(self.member_levels) != sorted(self.member_levels) or self.member_levels[-1] != 1:
            raise ValueError(f"expected member_levels that rise up to 1, got {self.member_levels}")
        if self.min_attendees >= self.max_attendees:
            raise ValueError(f"expected min_attendees below max_attendees, got {self.min_attendees}")
        if unknown := sorted(self.rate.keys() - set(STREAMS)):
            raise ValueError(f"expected rates of streams ({', '.join(STREAMS)}), got {unknown[0]}")
        if wrong := [name for name, rate in self.rate.items() if not 0 < rate <= 1e9]:
            raise ValueError(f"expected a rate above 0 and up to 1e9, got {self.rate[wrong[0]]} for {wrong[0]}")
        own = (self.max_location_posts + self.max_interest_posts) * max(1.0, self.most_friends / self.friends_per_share)
        most = round(max(own, self.max_albums, self.max_group_posts) * max(1, self.weeks))
        if most > IDS_PER_OWNER:
            raise ValueError(f"expected at most {IDS_PER_OWNER} posts or albums a user, got up to {most}")
        return self

    @property
    def first(self) -> int:
        """The instant at which the period begins, in ms."""
        return _instant(self.start)

    @property
    def last(self) -> int:
        """The instant at which the period is over, in ms: the end of the last day."""
        return _instant(self.end) + DAY

    @property
    def weeks(self) -> int:
        """Whole weeks in the period."""
        return (self.last - self.first) // WEEK

    @property
    def most_friends(self) -> int:
        """The most friends a user may want: with heavy tails as many as a window has users."""
        return self.max_friends if self.skew == "bounded" else self.cell_size * self.cells_per_window

    @property
    def friends_per_share(self) -> float:
        """The friends of a user who writes up to the limits of posts; others write in proportion to theirs.

        With heavy tails the user of the mean writes half of the limits, as in the release: 19.2 friends of 40.
        """
        return float(self.max_friends) if self.skew == "bounded" else 2 * self.mean_friends

    @property
    def thread_size(self) -> int:
        """The number of comments of a post is below this."""
        return self.max_comments if self.skew == "bounded" else MOST_COMMENTS

    @property
    def quotas(self) -> tuple[float, ...]:
        """The share of a user's friends that may be found by the end of each pass."""
        first, second, _ = self.friend_shares
        return first, first + second, 1.0


def _instant(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000
