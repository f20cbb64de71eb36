// The messages of a ledger: the tables of the specification (docs/spec/ledger.md, sections 2 and 4), word for word.
// `python tests/js/tables.py --update` copies them.

/** Number, name and type of every field, by package. */
export const MESSAGES = {
  "sixledger.v1": `
Record               1 body bytes, 2 seals Seal*, 3 openings Opening*, 4 hash bytes
Seal                 1 audience fixed64, 2 epoch uint32, 3 commitment bytes
Opening              1 seal uint32, 2 salt bytes, 3 value bytes
SealedCommand        1 command bytes, 2 signature bytes
LateOpenings         1 seq uint64, 2 openings Opening*
Cause                1 kind CauseKind, 2 seat uint32, 3 request_id bytes, 4 decision uint64, 5 observed_head bytes, 6 key_id bytes, 7 signature bytes, 8 timer TimerKind?, 9 armed_seq uint64?
Body                 1 format uint32, 2 match_id bytes, 3 seq uint64, 4 time_us uint64, 5 cause Cause?, 6 command bytes, 7 lifecycle Lifecycle*, 8 events Event*, 9 reveals Reveal*
Reveal               1 epoch uint32, 2 chain bytes
Lifecycle oneof      1 opened MatchOpened?, 2 joined SeatJoined?, 3 closed SeatsClosed?, 4 committed ContributionCommitted?, 5 contributed ContributionRevealed?, 6 sealed EntropySealed?, 7 resigned Resigned?, 8 aborted Aborted?, 9 left SeatLeft?, 10 ready SeatReady?, 11 paused Paused?, 12 resumed Resumed?, 13 forfeited Forfeited?, 14 withheld MissedDeadline?
Ruleset              1 id string, 2 version uint32, 3 digest bytes
MatchOpened          1 ruleset Ruleset?, 2 options Options?, 3 seats uint32, 4 epochs uint32, 5 commitment bytes, 6 mode ContributionMode, 7 ready_seats uint32?, 8 clock Clock?, 9 timeout_policy TimeoutPolicy?
Clock                1 turn_us uint64, 2 bank_us uint64, 3 increment_us uint64, 4 join_us uint64, 5 contribute_us uint64, 6 reveal_us uint64, 7 pause_us uint64, 8 withheld WithheldPolicy?
SeatJoined           1 seat uint32, 2 public_key bytes, 3 contributes bool, 4 hosted bool?
SeatLeft             1 seat uint32
SeatReady            1 seat uint32
ClosedSeat           1 public_key bytes, 2 contributes bool, 3 hosted bool?
SeatsClosed          1 seats ClosedSeat*
ContributionCommitted 1 seat uint32, 2 commitment bytes
ContributionRevealed 1 seat uint32, 2 contribution bytes
EntropySealed        1 entropy bytes
Resigned             1 seat uint32
Aborted              1 missed MissedDeadline?
MissedDeadline       1 timer TimerKind, 2 seats uint32*
Paused
Resumed
Forfeited            1 seat uint32
Command oneof         1 other google.protobuf.Any?, 2 nimmt sixledger.games.nimmt.v1.Command?, 3 forces sixledger.games.forces.v1.Command?, 4 piece sixledger.games.piece.v1.Command?
Event oneof           1 other google.protobuf.Any?, 2 nimmt sixledger.games.nimmt.v1.Event?, 3 forces sixledger.games.forces.v1.Event?, 4 piece sixledger.games.piece.v1.Event?
Options oneof         1 other google.protobuf.Any?, 2 nimmt sixledger.games.nimmt.v1.Options?, 3 forces sixledger.games.forces.v1.Options?, 4 piece sixledger.games.piece.v1.Options?
`,
  "sixledger.games.forces.v1": `
Command oneof        1 predict Predict?, 2 choose_trump ChooseTrump?, 3 play_card PlayCard?
Event oneof          1 match_started MatchStarted?, 2 starter_drawn StarterDrawn?, 3 deal_started DealStarted?, 4 deck_shuffled DeckShuffled?, 5 hand_dealt HandDealt?, 6 predicted Predicted?, 7 trump_chosen TrumpChosen?, 8 planning_ended PlanningEnded?, 9 trick_started TrickStarted?, 10 card_played CardPlayed?, 11 trick_won TrickWon?, 12 deal_scored DealScored?, 13 match_ended MatchEnded?
Options              1 first_starter FirstStarter?, 2 deals uint32?
Predict              1 prediction uint32?, 2 flex bool?
ChooseTrump          1 trump Trump?
PlayCard             1 card Card?
MatchStarted         1 players uint32, 2 options Options?
StarterDrawn         1 seat uint32
DealStarted          1 deal uint32, 2 starter uint32, 3 hand_size uint32
DeckShuffled         1 deal uint32, 2 order Card*
HandDealt            1 seat uint32, 2 cards Card*
Predicted            1 seat uint32, 2 prediction uint32, 3 flex bool, 4 chips_taken uint32, 5 chips_left uint32
TrumpChosen          1 seat uint32, 2 trump Trump
PlanningEnded        1 predictions Prediction*, 2 trumps Trump*
TrickStarted         1 trick uint32, 2 leader uint32, 3 trump Trump
CardPlayed           1 seat uint32, 2 card Card?
TrickWon             1 trick uint32, 2 seat uint32, 3 card Card?, 4 tricks_won uint32*
DealScored           1 deal uint32, 2 tricks_won uint32*, 3 points sint32*, 4 totals sint32*
MatchEnded           1 scores sint32*, 2 winners uint32*, 3 ranking uint32*, 4 reason EndReason
Card                 1 color Color, 2 number uint32
Prediction           1 prediction uint32, 2 flex bool
`,
  "sixledger.games.nimmt.v1": `
Command oneof        1 select_card SelectCard?, 2 take_row TakeRow?, 3 select_pair SelectPair?, 4 lay_card LayCard?, 5 play_cards PlayCards?, 6 place_first PlaceFirst?, 7 choose_end ChooseEnd?, 8 keep_cards KeepCards?, 9 draft_card DraftCard?
Event oneof          1 match_started MatchStarted?, 2 round_started RoundStarted?, 3 pack_shuffled PackShuffled?, 4 hand_dealt HandDealt?, 5 rows_started RowsStarted?, 6 chosen Chosen?, 7 revealed Revealed?, 8 row_choice_needed RowChoiceNeeded?, 9 row_taken RowTaken?, 10 card_placed CardPlaced?, 11 turn_ended TurnEnded?, 12 round_scored RoundScored?, 13 match_ended MatchEnded?, 14 starter_drawn StarterDrawn?, 15 draft_started DraftStarted?, 16 card_drafted CardDrafted?, 17 hand_set HandSet?, 18 marker_moved MarkerMoved?, 19 card_laid CardLaid?, 20 cards_played CardsPlayed?, 21 order_chosen OrderChosen?, 22 end_choice_needed EndChoiceNeeded?, 23 row_split RowSplit?, 24 cycle_ended CycleEnded?, 25 sheet_entry SheetEntry?
Options              1 variant Variant?, 2 deck Deck?, 3 end_mode EndMode?, 4 limit uint32?, 5 compare Compare?, 6 rounds uint32?, 7 max_rounds uint32?, 8 first_starter FirstStarter?, 9 double_pack DoublePack?, 10 max_cycles uint32?
SelectCard           1 card uint32?
TakeRow              1 row uint32?
SelectPair           1 cards uint32*
LayCard              1 card uint32?
PlayCards            1 cards uint32*
PlaceFirst           1 card uint32?
ChooseEnd            1 row uint32?, 2 side Side?
KeepCards            1 cards uint32*
DraftCard            1 card uint32?
MatchStarted         1 players uint32, 2 options Options?
RoundStarted         1 round uint32, 2 pack_size uint32, 3 hand_size uint32
PackShuffled         1 round uint32, 2 order uint32*
HandDealt            1 seat uint32, 2 count uint32, 3 cards uint32*
RowsStarted          1 rows Row*, 2 stacked_rows StackedRow*, 3 drawn uint32*
Chosen               1 seat uint32, 2 card uint32?, 3 cards uint32*
Revealed             1 plays Play*
RowChoiceNeeded      1 seat uint32, 2 card uint32
RowTaken             1 seats uint32*, 2 row uint32, 3 cards uint32*, 4 points_each uint32, 5 cause TakeCause
CardPlaced           1 seats uint32*, 2 card uint32, 3 row uint32, 4 side Side, 5 length uint32
TurnEnded            1 round uint32, 2 turn uint32
RoundScored          1 round uint32, 2 points uint32*, 3 totals uint32*, 4 max_cycles_reached bool
MatchEnded           1 scores uint32*, 2 winners uint32*, 3 ranking uint32*, 4 reason EndReason
StarterDrawn         1 seat uint32
DraftStarted         1 cards uint32*, 2 starter uint32
CardDrafted          1 seat uint32, 2 card uint32
HandSet              1 seat uint32, 2 cards uint32*
MarkerMoved          1 seat uint32
CardLaid             1 seat uint32, 2 card uint32
CardsPlayed          1 seat uint32, 2 cards uint32*
OrderChosen          1 seat uint32, 2 first uint32
EndChoiceNeeded      1 seat uint32, 2 card uint32, 3 ends RowEnd*
RowSplit             1 seat uint32, 2 kept uint32*, 3 piled uint32*
CycleEnded           1 cycle uint32, 2 hand_sizes uint32*, 3 pile_sizes uint32*
SheetEntry           1 game uint32, 2 hand_index uint32, 3 seat uint32, 4 points uint32
Row                  1 cards uint32*
StackedRow           1 positions Stack*
Play                 1 seat uint32, 2 card uint32?, 3 cards uint32*
RowEnd               1 row uint32, 2 side Side
Stack                1 cards uint32*
`,
  "sixledger.games.piece.v1": `
Command oneof        1 decline Decline?, 2 use_ability UseAbility?, 3 place Place?, 4 guess Guess?, 5 time_up TimeUp?
Event oneof          1 match_started MatchStarted?, 2 deck_shuffled DeckShuffled?, 3 turn_started TurnStarted?, 4 card_flipped CardFlipped?, 5 declined Declined?, 6 ability_used AbilityUsed?, 7 deck_looked DeckLooked?, 8 bottom_to_top BottomToTop?, 9 cards_swapped CardsSwapped?, 10 card_revealed CardRevealed?, 11 card_lost CardLost?, 12 guess_made GuessMade?, 13 bottom_given BottomGiven?, 14 die_set DieSet?, 15 card_placed CardPlaced?, 16 card_discarded CardDiscarded?, 17 six_piece SixPiece?, 18 bottom_looked BottomLooked?, 19 turn_ended TurnEnded?, 20 last_chance LastChance?, 21 time_up TimeCalled?, 22 match_ended MatchEnded?
Options              1 beasts uint32*, 2 beast_13_value uint32?, 3 first_player FirstPlayer?, 4 discard bool?, 5 time_mode TimeMode?, 6 turn_limit uint32?, 7 max_turns uint32?
Decline
UseAbility           1 ability uint32?, 2 deck Deck?, 3 die Stack?
Place                1 stack Stack?
Guess                1 value GuessValue?
TimeUp
MatchStarted         1 options Options?, 2 first_player uint32
DeckShuffled         1 seat uint32, 2 size uint32, 3 order uint32*
TurnStarted          1 turn uint32, 2 seat uint32
CardFlipped          1 seat uint32, 2 card uint32
Declined             1 seat uint32
AbilityUsed          1 seat uint32, 2 ability uint32, 3 card uint32, 4 deck Deck, 5 die Stack
DeckLooked           1 seat uint32, 2 deck Deck, 3 cards uint32*
BottomToTop          1 deck_of uint32, 2 card uint32
CardsSwapped         1 seat uint32, 2 given uint32, 3 received uint32
CardRevealed         1 deck_of uint32, 2 card uint32
CardLost             1 from uint32, 2 to uint32, 3 card uint32
GuessMade            1 seat uint32, 2 value GuessValue, 3 next_card uint32, 4 correct bool
BottomGiven          1 from uint32, 2 to uint32, 3 card uint32
DieSet               1 stack Stack, 2 value uint32, 3 cause DieCause
CardPlaced           1 seat uint32, 2 card uint32, 3 where Where
CardDiscarded        1 stack Stack, 2 card uint32
SixPiece             1 seat uint32, 2 stacks Stack*, 3 cards uint32*, 4 new_order uint32*
BottomLooked         1 seat uint32, 2 card uint32
TurnEnded            1 turn uint32, 2 deck_sizes uint32*
LastChance           1 seat uint32
TimeCalled           1 turn uint32
MatchEnded           1 scores uint32*, 2 winners uint32*, 3 ranking uint32*, 4 reason EndReason
`,
};

/** The enums of each package. Their numbers are open: a reader keeps those that it does not know. */
export const ENUMS = {
  "sixledger.v1": ["TimerKind", "TimeoutPolicy", "WithheldPolicy", "CauseKind", "ContributionMode"],
  "sixledger.games.forces.v1": ["FirstStarter", "Trump", "EndReason", "Color"],
  "sixledger.games.nimmt.v1": ["Variant", "Deck", "EndMode", "Compare", "FirstStarter", "DoublePack", "Side", "TakeCause", "EndReason"],
  "sixledger.games.piece.v1": ["FirstPlayer", "TimeMode", "Deck", "Stack", "GuessValue", "DieCause", "Where", "EndReason"],
};

/** The secret fields by message, and who may see them: the seat at once, or everybody with the epoch. */
export const SECRETS = {
  "sixledger.games.forces.v1.DeckShuffled": { fields: ["order"], class: "EPOCH" },
  "sixledger.games.forces.v1.HandDealt": { fields: ["cards"], class: "SEAT" },
  "sixledger.games.nimmt.v1.SelectCard": { fields: ["card"], class: "SEAT" },
  "sixledger.games.nimmt.v1.SelectPair": { fields: ["cards"], class: "SEAT" },
  "sixledger.games.nimmt.v1.PackShuffled": { fields: ["order"], class: "EPOCH" },
  "sixledger.games.nimmt.v1.HandDealt": { fields: ["cards"], class: "SEAT" },
  "sixledger.games.nimmt.v1.Chosen": { fields: ["card", "cards"], class: "SEAT" },
  "sixledger.games.piece.v1.DeckShuffled": { fields: ["order"], class: "EPOCH" },
  "sixledger.games.piece.v1.DeckLooked": { fields: ["cards"], class: "SEAT" },
  "sixledger.games.piece.v1.BottomToTop": { fields: ["card"], class: "EPOCH" },
  "sixledger.games.piece.v1.BottomGiven": { fields: ["card"], class: "EPOCH" },
  "sixledger.games.piece.v1.SixPiece": { fields: ["new_order"], class: "EPOCH" },
  "sixledger.games.piece.v1.BottomLooked": { fields: ["card"], class: "SEAT" },
};
