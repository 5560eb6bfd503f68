"""The constructions with their weights: how often each kind of sentence is tried."""

from collections.abc import Callable

from mt.data.toy.abilities import learning_to, leave_it, let_in, unable_to
from mt.data.toy.all_the_same import all_the_same, no_longer
from mt.data.toy.animals import animal_reason
from mt.data.toy.asides import aside
from mt.data.toy.asking import helping, request_because, tell_me, told_to, two_requests
from mt.data.toy.asking_apart import asking_apart
from mt.data.toy.at_table import also_at_once, asking_for
from mt.data.toy.beginnings import beginning, but_now, neither, sometimes_first
from mt.data.toy.being import comparison, existence, identity, presentation
from mt.data.toy.belongings import anyone, everything, how_much_is, how_much_of_it, mine, too_much
from mt.data.toy.bidding import bidding
from mt.data.toy.chatting import (
    done_by,
    for_a_birthday,
    greeted,
    keep_in_mind,
    thanks,
    what_time,
    where_is_it,
)
from mt.data.toy.choice import Choice
from mt.data.toy.counting import numbers, weather
from mt.data.toy.daily import daily, daily_pair, daily_question, daily_reason, daily_reported
from mt.data.toy.drills import beside_whom, of_what, what_exactly, where_exactly, with_whom
from mt.data.toy.earlier import earlier
from mt.data.toy.features import Sentence
from mt.data.toy.getting_there import bus_to, how_long_it_takes, near_here, way_there
from mt.data.toy.having_to_be import at_work, has_to_be, not_much, two_states, when_young, will_be_older
from mt.data.toy.imagined import allowed, so_that, used_to, would_if, would_rather
from mt.data.toy.longer import (
    because_but,
    long_question,
    long_statement,
    so_anything,
    three_clauses,
    two_long,
    two_reasons,
)
from mt.data.toy.measuring import best_ever, know_how, like_more, than_mine
from mt.data.toy.mishaps import what_happened
from mt.data.toy.not_any import neither_of_two, not_all, not_anybody, not_since
from mt.data.toy.ones import another_size, gave_one, two_kinds
from mt.data.toy.plain_talk import feeling, getting, it_was_a, received, whole
from mt.data.toy.pointing import pointing
from mt.data.toy.purposes import judgement, purpose, time_or_memory, two_infinitives, without_doing
from mt.data.toy.questions import alternative, how, when_why, where, which, who, whom_what, yes_no
from mt.data.toy.ranking import compared_by_place, compared_by_time, does_it_best, something_new, which_of_two
from mt.data.toy.reasons import and_but, because, two_deeds, when_if
from mt.data.toy.relatives import relative_object, relative_place, relative_subject, relative_thing
from mt.data.toy.remarks import answer, doing, how_long_often, made_so, name_of, polite, who_is, whose
from mt.data.toy.reported import embedded_question, reported, said_would, uncertain
from mt.data.toy.seeing import all_ours, gave_it, half_of_them, saw_doing
from mt.data.toy.selecting import one_of_them, which_of_these
from mt.data.toy.sequences import because_anything, before_while, so, two_clauses, when_anything
from mt.data.toy.small_talk import addressed, exclamation, sorry, tagged
from mt.data.toy.standing_off import relative_apart
from mt.data.toy.statements import (
    everyday,
    giving,
    liking,
    paradigm,
    request,
    short_statement,
    statement,
    two_objects,
    two_subjects,
    wish,
)
from mt.data.toy.talk import better_than, introduction, since, supplies, to_whom, too_to, what_one_wants
from mt.data.toy.things import handled, opinion
from mt.data.toy.travel import origin, ride, timetable
from mt.data.toy.urging import do_not_forget_to, feeling_cold, hurrying, let_us, meeting, something_to_eat
from mt.data.toy.visits import all_night, been_to, leaving, opening_hours
from mt.data.toy.which_one import another_one, but_the_other, than_the_one

Construction = Callable[[Choice], Sentence]

CONSTRUCTIONS: list[tuple[float, Construction]] = [
    (22, daily),
    (9, daily_question),
    (8, bidding),
    (8, daily_pair),
    (13, daily_reason),
    (7, daily_reported),
    (15, statement),
    (3, short_statement),
    (5, paradigm),
    (3, everyday),
    (5, giving),
    (9, yes_no),
    (1.8, alternative),
    (3, where),
    (2.4, when_why),
    (1.5, who),
    (2.5, whom_what),
    (2, which),
    (2, how),
    (3.4, identity),
    (1.2, presentation),
    (2.6, existence),
    (3, comparison),
    (1.8, liking),
    (2, wish),
    (2.2, request),
    (2, two_subjects),
    (3, two_objects),
    (1.6, weather),
    (2.5, numbers),
    (3, reported),
    (3.2, uncertain),
    (2, embedded_question),
    (2.2, told_to),
    (4, relative_subject),
    (3, relative_object),
    (0.5, relative_place),
    (1.2, relative_thing),
    (4, because),
    (3, when_if),
    (2, and_but),
    (1.5, two_deeds),
    (1.2, two_clauses),
    (2.5, purpose),
    (1, judgement),
    (1.8, time_or_memory),
    (1, two_infinitives),
    (2.2, before_while),
    (1.2, so),
    (2.5, when_anything),
    (1.5, because_anything),
    (2.5, opinion),
    (2, handled),
    (1.5, animal_reason),
    (1.5, polite),
    (1.2, answer),
    (1.8, doing),
    (1.6, how_long_often),
    (0.9, whose),
    (1.2, who_is),
    (1, made_so),
    (0.9, name_of),
    (1.2, origin),
    (1.6, asking_for),
    (1, supplies),
    (1, timetable),
    (1.3, ride),
    (1.2, two_requests),
    (1.6, request_because),
    (2.8, since),
    (1.8, tell_me),
    (1.4, better_than),
    (1.4, too_to),
    (1.6, helping),
    (0.8, introduction),
    (1.4, what_one_wants),
    (0.8, to_whom),
    (0.6, also_at_once),
    (8, long_statement),
    (2.5, long_question),
    (1, two_long),
    (2, three_clauses),
    (1.8, so_anything),
    (0.6, because_but),
    (2, greeted),
    (0.6, thanks),
    (1, what_time),
    (1, keep_in_mind),
    (1.3, where_is_it),
    (1.2, another_one),
    (0.6, but_the_other),
    (1, than_the_one),
    (1.2, done_by),
    (1.2, for_a_birthday),
    (2, let_us),
    (1.6, do_not_forget_to),
    (2, feeling_cold),
    (1.4, something_to_eat),
    (1.8, meeting),
    (0.6, hurrying),
    (1.6, would_if),
    (1.2, would_rather),
    (1.3, used_to),
    (1, so_that),
    (1.2, allowed),
    (1.6, been_to),
    (1, exclamation),
    (1, tagged),
    (1.4, sorry),
    (1.4, anyone),
    (1, mine),
    (1.2, too_much),
    (1.6, everything),
    (2, addressed),
    (1, opening_hours),
    (1.2, leaving),
    (0.8, how_much_is),
    (0.8, how_much_of_it),
    (0.9, all_night),
    (4, where_exactly),
    (2.5, relative_apart),
    (3, pointing),
    (1, beginning),
    (1, but_now),
    (0.6, neither),
    (3, with_whom),
    (3, what_exactly),
    (3, beside_whom),
    (1.5, of_what),
    (2, bus_to),
    (1, how_long_it_takes),
    (1, way_there),
    (1, near_here),
    (1.4, what_happened),
    (1.4, not_anybody),
    (1, neither_of_two),
    (1.3, not_since),
    (1.3, which_of_these),
    (1.2, one_of_them),
    (1.3, another_size),
    (0.9, two_kinds),
    (0.9, gave_one),
    (1.3, whole),
    (2.2, unable_to),
    (0.9, learning_to),
    (0.7, leave_it),
    (1.3, asking_apart),
    (0.8, like_more),
    (0.9, it_was_a),
    (0.9, getting),
    (0.8, feeling),
    (1.3, received),
    (1, than_mine),
    (0.8, best_ever),
    (1.6, know_how),
    (3, earlier),
    (2.4, aside),
    (1, said_would),
    (1.5, sometimes_first),
    (0.6, not_all),
    (0.8, without_doing),
    (0.5, let_in),
    (1.6, at_work),
    (0.9, not_much),
    (0.5, compared_by_time),
    (0.6, which_of_two),
    (1, saw_doing),
    (0.4, half_of_them),
    (0.8, all_ours),
    (1, gave_it),
    (1, two_reasons),
    (1.2, all_the_same),
    (1.2, no_longer),
    (2, has_to_be),
    (1, when_young),
    (1.4, two_states),
    (0.7, will_be_older),
    (1, something_new),
    (0.9, does_it_best),
    (0.6, compared_by_place),
]
