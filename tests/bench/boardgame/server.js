// 6 nimmt for two on boardgame.io, in memory: what bench.boardgame.comparison measures beside Sixledger.
//
//     node server.js        (with boardgame.io in node_modules; prints its port and process as JSON)
//
// The rules that a round needs: simultaneous hidden choices, rows by rule, a row to take for a card that fits nowhere.
// Nothing that the framework offers for speed is left out: no undo, hidden state by playerView, stale state ignored where
// choices are simultaneous. A round follows the other, so that a match never ends.
'use strict';

const { Server, Origins } = require('boardgame.io/server');
const { INVALID_MOVE } = require('boardgame.io/core');

const CARDS = 10;
const ROWS = 4;

function heads(card) {
  if (card === 55) return 7;
  if (card % 11 === 0) return 5;
  if (card % 10 === 0) return 3;
  return card % 5 === 0 ? 2 : 1;
}

const weight = (row) => row.reduce((sum, card) => sum + heads(card), 0);

function deal(G, random, seats) {
  const deck = random.Shuffle(Array.from({ length: 104 }, (_, at) => at + 1));
  G.hands = {};
  G.chosen = {};
  for (let seat = 0; seat < seats; seat += 1) {
    G.hands[seat] = deck.splice(0, CARDS).sort((a, b) => a - b);
    G.chosen[seat] = null;
  }
  G.rows = Array.from({ length: ROWS }, () => [deck.pop()]);
  G.chooser = null;
  G.turn = 0;
}

// Place the chosen cards, lowest first; stops where a seat must take a row.
function place(G, ctx, events, random) {
  const played = Object.keys(G.chosen)
    .filter((seat) => G.chosen[seat] !== null)
    .sort((a, b) => G.chosen[a] - G.chosen[b]);
  for (const seat of played) {
    const card = G.chosen[seat];
    let best = -1;
    G.rows.forEach((row, at) => {
      const last = row[row.length - 1];
      if (last < card && (best < 0 || last > G.rows[best][G.rows[best].length - 1])) best = at;
    });
    if (best < 0) {
      G.chooser = seat;
      events.setActivePlayers({ value: { [seat]: 'take' } });
      return;
    }
    if (G.rows[best].length === 5) {
      G.points[seat] += weight(G.rows[best]);
      G.rows[best] = [card];
    } else {
      G.rows[best].push(card);
    }
    G.chosen[seat] = null;
  }
  G.turn += 1;
  if (G.turn === CARDS) deal(G, random, ctx.numPlayers);
}

const game = {
  name: 'nimmt',
  disableUndo: true,
  setup: ({ ctx, random }) => {
    const G = { points: {} };
    for (let seat = 0; seat < ctx.numPlayers; seat += 1) G.points[seat] = 0;
    deal(G, random, ctx.numPlayers);
    return G;
  },
  playerView: ({ G, playerID }) => ({
    ...G,
    hands: { [playerID]: G.hands[playerID] },
    chosen: Object.fromEntries(Object.entries(G.chosen).map(([seat, card]) => [seat, card !== null])),
  }),
  turn: {
    activePlayers: { all: 'choose' },
    stages: {
      choose: {
        moves: {
          selectCard: {
            client: false,
            ignoreStaleStateID: true,
            move: ({ G, ctx, playerID, events, random }, card) => {
              const at = G.hands[playerID].indexOf(card);
              if (at < 0 || G.chosen[playerID] !== null) return INVALID_MOVE;
              G.hands[playerID].splice(at, 1);
              G.chosen[playerID] = card;
              if (Object.values(G.chosen).every((chosen) => chosen !== null)) place(G, ctx, events, random);
              return undefined;
            },
          },
        },
      },
      take: {
        moves: {
          takeRow: {
            client: false,
            ignoreStaleStateID: true,
            move: ({ G, ctx, playerID, events, random }, row) => {
              if (G.chooser !== playerID || !G.rows[row]) return INVALID_MOVE;
              G.points[playerID] += weight(G.rows[row]);
              G.rows[row] = [G.chosen[playerID]];
              G.chosen[playerID] = null;
              G.chooser = null;
              events.setActivePlayers({ all: 'choose' });
              place(G, ctx, events, random);
              return undefined;
            },
          },
        },
      },
    },
  },
};

// It ends with the process that started it.
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));

const server = Server({ games: [game], origins: [Origins.LOCALHOST] });
server.run({ port: 0 }).then(({ appServer }) => {
  process.stdout.write(`${JSON.stringify({ port: appServer.address().port, pid: process.pid })}\n`);
});
