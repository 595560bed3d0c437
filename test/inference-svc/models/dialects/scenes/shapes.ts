/** Long answers of every shape: many items, many parts, many pieces, many sources. */
import { type Piece, type Scene, callPiece, textPiece, thoughtPiece } from "./scene.ts";

const times = <Item>(count: number, make: (number: number) => Item): Item[] =>
  Array.from({ length: count }, (_, n) => make(n));

const calls = (count: number, said: readonly string[] = ["{}"], id?: string): readonly Piece[] =>
  times(count, (n) => ({ kind: "call", name: "f", said, id: id ?? `id_${n}` }));
const url = "https://a.example/";
const cited = (said: string, at: number, of = said): Piece => ({
  ...textPiece(...times(at, () => of), said),
  cites: times(at, (delta) => ({ delta, url, title: "A" })),
});
const joined = (piece: Piece, at: number): Piece => (at === 0 ? piece : { ...piece, joins: true });

export const longShapes: readonly (readonly [shape: string, sceneOf: (count: number) => Scene])[] = [
  [
    "texts and thoughts in turns",
    (count) => ({ pieces: times(count, (n) => (n % 2 ? textPiece("a") : thoughtPiece("b"))) }),
  ],
  ["calls one after the other", (count) => ({ stop: "calls", pieces: calls(count) })],
  [
    "texts between calls",
    (count) => ({ stop: "calls", pieces: calls(count).flatMap((call) => [textPiece("a"), call]) }),
  ],
  ["calls with one id", (count) => ({ stop: "calls", pieces: calls(count, ["{}"], "id") })],
  [
    "calls without ids",
    (count) => ({ stop: "calls", pieces: times(count, () => ({ kind: "call", name: "f", said: ["{}"] })) }),
  ],
  [
    "calls with pieces in turns",
    (count) => ({ stop: "calls", interleaved: true, pieces: calls(count, ['{"a"', ":", "1", "}"]) }),
  ],
  [
    "a text between the pieces of a call",
    (count) => ({
      stop: "calls",
      interleaved: true,
      pieces: [
        textPiece(...times(count, () => "a")),
        callPiece("f", '{"a":"', ...times(count, () => "x".repeat(64)), '"}'),
      ],
    }),
  ],
  [
    "a call of small pieces",
    (count) => ({ stop: "calls", pieces: [callPiece("f", '{"a":"', ...times(count, () => "x"), '"}')] }),
  ],
  [
    "objects joined in one call",
    (count) => ({ stop: "calls", pieces: [callPiece("f", ...times(count, (n) => `{"a":${n}}`))] }),
  ],
  ["sources in one text", (count) => ({ pieces: [cited(" ", count, "So. ")] })],
  ["texts with a source each", (count) => ({ pieces: times(count, (n) => joined(cited(" ", 1, "So it is. "), n)) })],
  [
    "parts of a thought",
    (count) => ({ pieces: [...times(count, (n) => joined(thoughtPiece("Hm. "), n)), textPiece("a")] }),
  ],
  [
    "parts of a summary",
    (count) => ({ pieces: [...times(count, (n) => joined({ kind: "summary", said: ["Hm. "] }, n)), textPiece("a")] }),
  ],
  ["parts of a text", (count) => ({ pieces: times(count, (n) => joined(textPiece("Hm. "), n)) })],
];
