/** The stack may hold more features than a 32-bit integer has bits. */
import { expect, test } from "@jest/globals";
import { composeByMask } from "@sluice/inference-svc/turn/feature.js";
import type { Answer, Layer } from "@sluice/inference-svc/turn/turn.js";
import { testRequest, newScope } from "../asking.js";

const room = 53;

/** Features that apply to requests with their name as the first model, and note that their layer has run. */
function numbered(count: number) {
  const ran: number[] = [];
  const features = Array.from({ length: count }, (_, index) => ({
    applies: ({ models }: { readonly models: readonly string[] }) => models.includes(`${index}`),
  }));
  const layers = features.map(
    (_, index): Layer =>
      (inner) =>
      (request, scope) => {
        ran.push(index);
        return inner(request, scope);
      },
  );
  const answer = {} as Answer;
  return { ran, turn: composeByMask(features, layers, () => answer) };
}

test("each of 53 features acts on its requests, and on no other", () => {
  const { ran, turn } = numbered(room);
  const { scope } = newScope();
  for (const applying of [...Array.from({ length: room }, (_, index) => [index]), [0, 31, 32, 40, 52], []]) {
    ran.length = 0;
    turn(testRequest({ models: applying.map(String) }), scope);
    expect(ran).toEqual(applying);
  }
});

test("a 54th feature is refused when the stack is built", () => {
  expect(() => numbered(room + 1)).toThrow("at most 53 features");
});
