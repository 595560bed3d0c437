/** The 21 worked examples of the contract against the published document, and against the shapes that the house checks by. */
import { describe, expect, test } from "@jest/globals";
import { keyHashes } from "@sluice/proto/contract/administration.js";
import { endUserAnswer, endUserChange } from "@sluice/proto/contract/end-users.js";
import { errorOf } from "@sluice/proto/contract/errors.js";
import { streamEvent } from "@sluice/proto/contract/events.js";
import { input } from "@sluice/proto/contract/input.js";
import { requestShape } from "@sluice/proto/contract/request.js";
import { tools } from "@sluice/proto/contract/tools.js";
import { response } from "@sluice/proto/contract/response.js";
import { Problems } from "@sluice/proto/runtime/validation/problems.js";
import type { Shape } from "@sluice/proto/runtime/validation/shape.js";
import { sampleJson, sampleNames, sampleStream } from "../support/contract.ts";
import { validate, validateError, validateEvent, validateRequest, validateResponse } from "../support/published.ts";

/** What our own checks say. @throws when they find anything */
function check(shape: Shape, value: unknown): void {
  const problems = new Problems();
  shape.check(value, "", problems);
  problems.throwIfAny();
}

const named = (suffix: string): string[] => sampleNames().filter((name) => name.endsWith(suffix));

test("all 21 samples are here", () => {
  expect(new Set(sampleNames().map((name) => name.slice(0, 2))).size).toBe(21);
});

describe("samples", () => {
  test.each(named(".request.json"))("%s", (name) => {
    const request = sampleJson(name) as Readonly<Record<string, unknown>>;
    expect(validateRequest(request)).toEqual([]);
    check(requestShape, request);
    check(input, request["input"]);
    check(tools, request["tools"] ?? []);
  });

  test.each(named(".response.json"))("%s", (name) => {
    expect(validateResponse(sampleJson(name))).toEqual([]);
    check(response, sampleJson(name));
  });

  test.each(named(".sse"))("%s", (name) => {
    const { events } = sampleStream(name);
    expect(events.length).toBeGreaterThan(2);
    for (const event of events) {
      expect(validateEvent(event)).toEqual([]);
      check(streamEvent, event);
    }
  });

  test.each(named(".403.json"))("%s", (name) => {
    expect(validateError(403, sampleJson(name))).toEqual([]);
    check(errorOf(403), sampleJson(name));
  });

  const errors = sampleJson("18-errors.json") as Readonly<Record<string, unknown>>;
  test.each(Object.entries(errors))("18-errors.json: %s", (status, body) => {
    expect(validateError(Number(status), body)).toEqual([]);
    check(errorOf(Number(status)), body);
  });

  const administration = sampleJson("19-admin.json") as Readonly<
    Record<string, { request: unknown; response: unknown }>
  >;
  test.each<[string, string, string]>([
    ["assign", "KeyHashes", "AssignedKeys"],
    ["remove", "KeyHashes", "UnassignedKeys"],
    ["end_user", "EndUserChange", "EndUserAnswer"],
  ])("19-admin.json: %s", (operation, request, answer) => {
    expect(validate(request, administration[operation]?.request)).toEqual([]);
    expect(validate(answer, administration[operation]?.response)).toEqual([]);
    check(request === "KeyHashes" ? keyHashes : endUserChange, administration[operation]?.request);
    if (operation === "end_user") check(endUserAnswer, administration[operation]?.response);
  });
});
