/** The 21 worked examples of the contract, checked against the published document and against the shapes used at run time. */
import { describe, expect, test } from "@jest/globals";
import { keyHashes } from "@sluice/proto/contract/operations/administration.js";
import { endUserAnswer, endUserChange } from "@sluice/proto/contract/records/end-users.js";
import { errorShape } from "@sluice/proto/contract/operations/errors.js";
import { streamEvent } from "@sluice/proto/contract/response/events.js";
import { input } from "@sluice/proto/contract/items/input.js";
import { requestShape } from "@sluice/proto/contract/request/request.js";
import { toolsShape } from "@sluice/proto/contract/tools/tools.js";
import { response } from "@sluice/proto/contract/response/response.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import type { Shape } from "@sluice/proto/lib/validation/shape.js";
import { sampleJson, sampleNames, sampleStream } from "../support/contract.ts";
import {
  validate,
  validateError,
  validateEvent,
  validateRequest,
  validateResponse,
} from "../support/answers/published.ts";

/** Applies Sluice's own validation. @throws when it finds a problem */
function check(shape: Shape, value: unknown): void {
  const problems = new Problems();
  shape.check(value, "", problems);
  problems.throwIfAny();
}

const named = (suffix: string): string[] => sampleNames().filter((name) => name.endsWith(suffix));

test("all 21 samples of the contract are present", () => {
  expect(new Set(sampleNames().map((name) => name.slice(0, 2))).size).toBe(21);
});

describe("the contract sample", () => {
  test.each(named(".request.json"))("%s is a valid request", (name) => {
    const request = sampleJson(name) as Readonly<Record<string, unknown>>;
    expect(validateRequest(request)).toEqual([]);
    check(requestShape, request);
    check(input, request["input"]);
    check(toolsShape, request["tools"] ?? []);
  });

  test.each(named(".response.json"))("%s is a valid answer", (name) => {
    expect(validateResponse(sampleJson(name))).toEqual([]);
    check(response, sampleJson(name));
  });

  test.each(named(".sse"))("%s has only valid events", (name) => {
    const { events } = sampleStream(name);
    expect(events.length).toBeGreaterThan(2);
    for (const event of events) {
      expect(validateEvent(event)).toEqual([]);
      check(streamEvent, event);
    }
  });

  test.each(named(".403.json"))("%s is a valid refusal", (name) => {
    expect(validateError(403, sampleJson(name))).toEqual([]);
    check(errorShape(403), sampleJson(name));
  });

  const errors = sampleJson("18-errors.json") as Readonly<Record<string, unknown>>;
  test.each(Object.entries(errors))("18-errors.json has a valid error for the status %s", (status, body) => {
    expect(validateError(Number(status), body)).toEqual([]);
    check(errorShape(Number(status)), body);
  });

  const administration = sampleJson("19-admin.json") as Readonly<
    Record<string, { request: unknown; response: unknown }>
  >;
  test.each<[string, string, string]>([
    ["assign", "KeyHashes", "AssignedKeys"],
    ["remove", "KeyHashes", "UnassignedKeys"],
    ["end_user", "EndUserChange", "EndUserAnswer"],
  ])("19-admin.json has a valid request and answer of the operation %s", (operation, request, answer) => {
    expect(validate(request, administration[operation]?.request)).toEqual([]);
    expect(validate(answer, administration[operation]?.response)).toEqual([]);
    check(request === "KeyHashes" ? keyHashes : endUserChange, administration[operation]?.request);
    if (operation === "end_user") check(endUserAnswer, administration[operation]?.response);
  });
});
