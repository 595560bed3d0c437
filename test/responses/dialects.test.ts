/**
 * Any answer of a provider, in any dialect and cut into reads at any byte, gives a stream in the required order, which folds into the same object
 * as the whole answer. A failure prints seed and path; `fc.assert(..., { seed, path })` repeats it.
 */
import { describe, expect, test } from "@jest/globals";
import { responses } from "@sluice/inference-svc/models/upstream/responses/dialect.js";
import fc from "../support/properties.js";
import { itemKinds, streamOf } from "../inference-svc/models/dialects/item-stories.ts";
import type { WireFormat } from "../inference-svc/models/dialects/scenes/format.ts";
import { inOrder, wireFormats } from "../inference-svc/models/dialects/scenes/formats.ts";
import { type Piece, type Scene, textPiece } from "../inference-svc/models/dialects/scenes/scene.ts";
import { maskVolatile } from "../support/contract.ts";
import { sse } from "../support/providers/upstream.ts";
import { streamAnswer, readWholeAnswer } from "./answering.ts";

const cuts = fc.array(fc.nat(), { maxLength: 20 });
const words = fc.array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 5 }), { maxLength: 4 });
const runs = { numRuns: 100 };
const source = { delta: 0, url: "https://a.example/", title: "A" };

/** Pieces of arguments whose texts are these words. */
const argumentsOf = (values: readonly string[]) => [
  '{"a":[',
  ...values.map((value, at) => `${at === 0 ? "" : ","}${JSON.stringify(value)}`),
  "]}",
];

function pieces(format: WireFormat): fc.Arbitrary<Piece> {
  const sources = format.cites === true ? fc.boolean() : fc.constant(false);
  const text = fc
    .tuple(words, sources)
    .map(([said, cited]): Piece => ({ ...textPiece(...said), ...(cited && said.length > 0 && { cites: [source] }) }));
  const signatures = fc.constantFrom({}, { signature: "s" });
  const thought = fc.tuple(words, signatures).map(([said, more]): Piece => ({ kind: "thought", said, ...more }));
  const call = words.map((said): Piece => ({ kind: "call", name: "f", said: argumentsOf(said) }));
  const others = (["summary", "refusal"] as const).map((kind) => words.map((said): Piece => ({ kind, said })));
  const image = fc.constant<Piece>({ kind: "image", said: ["QUJD"] });
  const all = { text, thought, call, summary: others[0], refusal: others[1], image };
  return fc.oneof(...format.kinds.flatMap((kind) => all[kind] ?? []));
}

const scenes = (format: WireFormat): fc.Arbitrary<Scene> =>
  fc
    .record({
      pieces: fc.array(pieces(format), { maxLength: 6 }),
      stop: fc.constantFrom("end" as const, "calls" as const, "limit" as const, "filter" as const),
    })
    .map((scene) => {
      const ends = format.emptyFails === true ? [textPiece(".")] : [];
      const numbered = [...scene.pieces, ...ends].map((piece, at) => ({ ...piece, id: `id_${at}` }));
      return { ...scene, pieces: inOrder(format, numbered) };
    });

describe.each(wireFormats)("an answer of a provider of $name", (format) => {
  const bytesOf = (scene: Scene) => Buffer.concat(format.stream(scene));

  test("gives the same object from a stream as from a whole answer", () => {
    fc.assert(
      fc.property(scenes(format), cuts, (scene, borders) => {
        expect(maskVolatile(streamAnswer(format.dialect, bytesOf(scene), { cuts: borders }))).toEqual(
          maskVolatile(readWholeAnswer(format.dialect, format.whole(scene))),
        );
      }),
      runs,
    );
  });

  test("that breaks off ends in response.failed with the delivered part", () => {
    fc.assert(
      fc.property(scenes(format), cuts, fc.nat(), (scene, borders, lostAfter) => {
        expect(streamAnswer(format.dialect, bytesOf(scene), { cuts: borders, lostAfter })).toMatchObject({
          status: "failed",
        });
      }),
      runs,
    );
  });
});

describe("items of a Responses answer", () => {
  const stories = fc.array(fc.constantFrom(...itemKinds), { minLength: 1, maxLength: 6 });
  const bodyOf = (events: readonly unknown[]) =>
    JSON.stringify((events.at(-1) as { readonly response: object }).response);

  test.each(itemKinds.map((kind) => [kind.type, kind] as const))(
    "are the same, streamed and whole, with the item %s",
    (_, kind) => {
      const events = streamOf([kind]);
      expect(maskVolatile(streamAnswer(responses, sse(...events), { cuts: [] }))).toEqual(
        maskVolatile(readWholeAnswer(responses, bodyOf(events))),
      );
    },
  );

  test("become the object of the whole answer, in any order", () => {
    fc.assert(
      fc.property(stories, cuts, (chosen, borders) => {
        const events = streamOf(chosen);
        expect(maskVolatile(streamAnswer(responses, sse(...events), { cuts: borders }))).toEqual(
          maskVolatile(readWholeAnswer(responses, bodyOf(events))),
        );
      }),
      runs,
    );
  });
});
