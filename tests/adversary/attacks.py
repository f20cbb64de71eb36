"""Every attack by name: what a lying server, a lying player or somebody with the file may try.

`ATTACKS` is the list that everything else is keyed on. The modules of this folder forge each of them and say what the
verifier must answer; `live.py` says what an honest client does about it during play: `LIVE`, slug → words. A test
fails for an attack that nobody forges, and for one that goes through without a limit that the threat model names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Limit(StrEnum):
    """What no proof reaches. The threat model (`docs/explanation/trust.md`) has a heading for each: `limit-<value>`."""

    #: The operator sees hands and decks, and may tell somebody.
    LOOKS_AT_HANDS = "looks-at-hands"
    #: A seat that is told the others' choices before it makes its own.
    CHOOSES_LAST = "chooses-last"
    #: A command that is not taken, or taken late.
    CENSOR_DELAY = "censor-delay"
    #: Times that only have to ascend and to keep the deadlines.
    FALSE_CLOCKS = "false-clocks"
    #: Matches aborted, for a reason or none, until a deal suits.
    ABORT_UNTIL_SUITS = "abort-until-suits"
    #: Programs of the operator in seats that look like people's.
    OPERATOR_RUN_SEATS = "operator-run-seats"
    #: Seats without a key: any move of theirs may be the server's.
    UNSIGNED_SEATS = "unsigned-seats"
    #: Who holds the key of a seat.
    KEY_OWNERSHIP = "key-ownership"
    #: A seed chosen among many, where nobody else contributed after it was fixed.
    PICKED_SEED = "picked-seed"
    #: A deal that goes on without a seat that withheld its contribution: one bit of choice for each.
    WITHHELD_REVEAL = "withheld-reveal"
    #: Another history than the one that somebody saw, where nobody kept or compares a signed head.
    UNSEEN_HEADS = "unseen-heads"
    #: A key that nobody has pinned: anybody can sign a ledger with a key of its own.
    UNPINNED_KEY = "unpinned-key"
    #: A theft of the key that the operator claims: nobody can tell it from a true one.
    CLAIMED_THEFT = "claimed-theft"
    #: All who could contradict are in it: the operator and every seat that acts from there on.
    EVERYBODY_COLLUDES = "everybody-colludes"


@dataclass(frozen=True)
class Attack:
    """One attack. `slug` names it in code, `title` for people, `topic` is the module that forges it."""

    slug: str
    title: str
    topic: str


def _all(topic: str, **titles: str) -> dict[str, Attack]:
    return {
        slug: Attack(slug, title, topic)
        for slug, title in ((name.replace("_", "-"), title) for name, title in titles.items())
    }


ATTACKS: dict[str, Attack] = {
    **_all(
        "records",
        change_hand_card="change a card in a hand",
        change_score="change a score",
        change_placed_row="change a placed row",
        change_timestamp="change a timestamp",
        change_public_command="change a public command",
        change_sealed_command="change a sealed command",
        drop_record="drop a record",
        repeat_record="repeat a record",
        reorder_records="reorder records",
        insert_record="insert a record",
        truncate="truncate",
        command_other_match="play a command of another match",
        command_other_seat="play a command of another seat",
        command_other_decision="play a command of another decision",
        repeat_request="play a command twice under one request id",
        illegal_command="play what the rules forbid",
        hide_event="leave out an event, or add one",
    ),
    **_all(
        "deals",
        deal_other_seed="deal from another seed",
        reveal_other_seed="reveal another seed",
        reveal_wrong_epoch="reveal the wrong epoch",
        reveal_early="reveal an epoch that is being played",
        reveal_never="do not reveal an epoch that ended",
        epochs_too_few="state too few epochs in record 0",
        epochs_too_many="state too many epochs in record 0",
        entropy_omits_seat="leave a contributing seat out of the entropy",
        entropy_other="mix the seed with another entropy",
    ),
    **_all(
        "contributions",
        invent_contribution="invent a contribution",
        alter_contribution="alter a contribution",
        drop_contribution="drop a contribution",
        hosted_contributes="let a hosted bot contribute",
        contribute_before_commitments="take a contribution before all commitments are in",
        replace_commitment="replace a commitment after others have contributed",
        reuse_contributions="use the contributions of an earlier match for its rematch",
        say_withheld="say that a seat withheld its contribution",
        mode_without_commitments="name a mode with commitments and take contributions without",
    ),
    **_all(
        "signatures",
        reuse_signature="reuse a signature",
        forge_signature="forge a signature",
        strip_signature="strip the signature from an act of a seat that signs",
        signature_other_payload="keep the signature and change what it signs",
        signature_other_kind="use the signature of one kind of act for another",
        malleable_signature="turn a signature into another one that fits",
        small_order_key="join with a key of small order",
        noncanonical_key="join with a key that has two spellings",
        replace_seat_key="join a seat with a key of the server's own",
        change_key_id="name another key than the seat's",
        stale_observed_head="sign over a head older than the decision",
        foreign_observed_head="sign over a head of another history",
        open_signature="lay the signature of a sealed command in the open",
    ),
    **_all(
        "seals",
        open_to_other_value="open a seal to another value",
        shift_salt_boundary="shift the boundary of salt and value",
        swap_seals="swap two seals",
        change_seal_audience="change the audience of a seal",
        change_seal_epoch="change the epoch of a seal",
        secret_overrides_public="a secret part that overrides the public one",
        public_part_has_secret="lay a secret in the public part",
        withhold_opening="withhold an opening",
        open_to_wrong_viewer="open a seal to somebody who may not see it",
        repeat_opening="open one seal twice",
        late_opening_wrong_seal="open a seal late, with the opening of another",
        seal_without_secret="seal something where nothing is secret",
        drop_seal="leave a seal out",
        reuse_salt="use one salt for two seals",
    ),
    **_all(
        "rulesets",
        other_ruleset="name another ruleset",
        other_version="name another version",
        other_digest="name another digest",
        change_options="change the options after the start",
        change_mode="change the mode of contributions",
        change_seats="change the number of seats",
    ),
    **_all(
        "timers",
        forge_timer="forge a timer",
        timer_early="fire a timer before its deadline",
        timer_other_seat="fire the timer of another seat",
        timer_other_command="let a timer play another command than the first legal one",
        command_under_timer_id="a command under a future timer's id",
        late_command="take a command after its deadline",
        forge_pause="forge a pause",
        forge_abort="forge an abort",
        forge_forfeit="forge a forfeit",
        time_backwards="let time run backwards",
        predate_start="date records before the match was opened",
    ),
    **_all(
        "results",
        wrong_result="claim a wrong result",
        resign_other_seat="resign for another seat",
        play_on_after_end="play on after the end",
        end_too_early="end the match too early",
    ),
    **_all(
        "tables",
        join_twice="join a taken seat",
        join_after_closing="join after the seats are closed",
        close_twice="close the seats twice",
        closed_with_other_key="close the seats with another key than a seat joined with",
        close_without_a_seat="close the seats without one that joined",
        leave_for_other_seat="make another seat leave",
        ready_for_other_seat="say that another seat is ready",
        hide_hosting="hide that the server plays a seat",
    ),
    **_all(
        "heads",
        two_histories="two histories to two seats",
        two_heads="two heads for one count",
        rechain_new_key="re-chain and re-sign with a new key",
        head_longer="sign a head for more records than there are",
        head_other_time="sign a head with another time",
        head_other_match="show a head of another match",
        head_other_origin="sign as another origin",
        heads_descending="show heads out of order",
        no_head="leave the head out",
        head_by_other_key="add a head by another key",
        frame_server="frame the server with a head that it did not sign",
    ),
    **_all(
        "thefts",
        claim_theft="claim that the key was stolen, to disown an honest match",
        disown_history="tell another history, and disown the first with a claimed theft",
        sign_with_stolen_key="sign another history with a stolen key",
    ),
    **_all(
        "files",
        pad_lines="pad the file with lines",
        pad_fields="pad the file with fields",
        pad_spaces="pad the file with spaces",
        edit_readable="edit the readable copy",
        unknown_fields="unknown fields",
        duplicate_keys="write a key of a line twice",
        other_base64="spell base64 in another way",
        other_json="spell JSON in another way",
        header_other_viewer="name another viewer in the header",
        header_other_match="name another match or ruleset in the header",
        header_more_keys="add a key to the header",
        cut_line="cut the last line",
        cut_gzip="cut the compressed file",
    ),
    **_all(
        "beyond",
        look_at_hands="look at hands and decks",
        choose_last="choose last in a simultaneous choice, knowing the others",
        censor_command="do not take a command",
        delay_command="take a command late",
        false_clock="state false times within the deadlines",
        abort_until_suits="abort until a deal suits",
        operator_seat_as_person="let a program of the operator pose as a person",
        play_for_unsigned_seat="play for a seat that does not sign",
        pass_key_on="let somebody else play with the key of a seat",
        pick_seed="pick a seed among many where no seat contributes",
        contribute_last="contribute last in the mode without commitments",
        withhold_contribution="withhold a contribution after the others are known",
        rewrite_with_all_keys="rewrite the match with the keys of all seats",
    ),
}
