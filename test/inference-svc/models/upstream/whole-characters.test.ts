/** A character sent in two deltas, half in each, reaches the client as one: half of it cannot be written in UTF-8. */
import { describe, expect, test } from "@jest/globals";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { Output } from "@sluice/inference-svc/models/upstream/events/output.js";
import fc, { codePoint } from "../../../support/properties.js";
import { itemsOf } from "../../asking.js";

function written(write: (output: Output) => void): TurnEvent[] {
  const events: TurnEvent[] = [];
  write(new Output((event) => events.push(event)));
  itemsOf(events);
  return events;
}

const deltasOf = (events: readonly TurnEvent[]): string[] =>
  events.flatMap((event) => ("delta" in event ? [event.delta] : []));

const ways: Readonly<Record<string, (output: Output, deltas: readonly string[]) => void>> = {
  text(output, deltas) {
    const message = output.message();
    for (const delta of deltas) message.text(message.part("output_text"), delta);
    message.end("completed");
  },
  thought(output, deltas) {
    const reasoning = output.reasoning();
    for (const delta of deltas) reasoning.text(0, delta);
    reasoning.end("completed");
  },
  call(output, deltas) {
    const call = output.customCall("f");
    for (const delta of deltas) call.arguments(delta);
    call.end("completed");
  },
};

describe.each(Object.entries(ways))("half a surrogate pair in a %s", (_, write) => {
  test("waits for its second half", () => {
    const deltas = ["a\ud83d", "\ude00b", "\ud83d", "\ude00", "c"];
    expect(deltasOf(written((output) => write(output, deltas)))).toEqual(["a", "\u{1f600}b", "\u{1f600}", "c"]);
  });

  test("does not end any delta, wherever the text is cut", () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), fc.array(fc.nat(), { maxLength: 9 }), (text, cuts) => {
        const borders = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length].sort((a, b) => a - b);
        const pieces = borders.slice(1).map((border, at) => text.slice(borders[at], border));
        const deltas = deltasOf(written((output) => write(output, pieces)));
        expect([deltas.join(""), deltas.some((delta) => /\p{Surrogate}/u.test(delta))]).toEqual([text, false]);
      }),
    );
  });
});

test("a lone half of a surrogate pair comes before its successor", () => {
  const events = written((output) => {
    const message = output.message();
    message.text(message.part("output_text"), "a\ud83d");
    message.refusal(message.part("refusal"), "b\ud83d");
    message.end("completed");
  });
  expect(deltasOf(events)).toEqual(["a", "\ufffd", "b", "\ufffd"]);
});

test("the log probabilities of a character in two halves come with the whole character", () => {
  const events = written((output) => {
    const message = output.message();
    const part = message.part("output_text");
    for (const [delta, token] of [
      ["\ud83d", "1"],
      ["\ude00", "2"],
      ["a\ud83d", "3"],
      ["\ude00", "4"],
    ] as const) {
      message.text(part, delta, [{ token }]);
    }
    message.end("completed");
  });
  expect(events.flatMap((event) => ("logprobsJson" in event ? [event.logprobsJson] : []))).toEqual([
    '[{"token":"1"},{"token":"2"}]',
    '[{"token":"3"}]',
    '[{"token":"4"}]',
  ]);
});
