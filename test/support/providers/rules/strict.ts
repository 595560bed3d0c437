/**
 * Lets a scripted provider refuse requests like the vendor of its format. Otherwise an invalid request would pass every test of an endpoint. Formats
 * with many servers, such as chat completions, have no common rules; OpenAI's rules are applied on request.
 */
import { findChatViolations, openAiLimits } from "./chat.ts";
import { findConverseViolations } from "./converse.ts";
import { findGeminiViolations } from "./gemini.ts";
import { findMessagesViolations } from "./messages.ts";
import { findResponsesViolations } from "./responses.ts";
import type { BodyPart } from "./violations.ts";

/** A refusal in the form of the vendor. */
export interface Refusal {
  readonly status: 400;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json: object;
}

interface Format {
  readonly path: RegExp;
  readonly find: (body: BodyPart) => readonly string[];
  readonly refuse: (message: string) => Refusal;
}

const formats: readonly Format[] = [
  {
    path: /\/messages$/,
    find: findMessagesViolations,
    refuse: (message) => ({
      status: 400,
      json: { type: "error", error: { type: "invalid_request_error", message }, request_id: "req_strict" },
    }),
  },
  {
    path: /\/converse(-stream)?$/,
    find: findConverseViolations,
    refuse: (message) => ({
      status: 400,
      headers: { "x-amzn-errortype": "ValidationException" },
      json: { message },
    }),
  },
  {
    path: /:(streamGenerateContent|generateContent)$/,
    find: findGeminiViolations,
    refuse: (message) => ({ status: 400, json: { error: { code: 400, message, status: "INVALID_ARGUMENT" } } }),
  },
];

const refuseAsOpenAi = (message: string): Refusal => ({
  status: 400,
  json: { error: { message, type: "invalid_request_error", param: null, code: null } },
});
const formatsOfOpenAi: readonly Format[] = [
  {
    path: /\/chat\/completions$/,
    find: (body) => findChatViolations(body, openAiLimits),
    refuse: refuseAsOpenAi,
  },
  { path: /\/responses$/, find: findResponsesViolations, refuse: refuseAsOpenAi },
];

/**
 * @param path path of the request  @param isOpenAi whether OpenAI's rules apply to chat completions and responses  @returns undefined for a request
 * that the vendor accepts, and for formats without rules
 */
export function refusalOf(path: string, body: string, isOpenAi = false): Refusal | undefined {
  const [pathname = ""] = path.split("?");
  const format = [...formats, ...(isOpenAi ? formatsOfOpenAi : [])].find((each) => each.path.test(pathname));
  const violations = format?.find(JSON.parse(body) as BodyPart) ?? [];
  return violations.length === 0 ? undefined : format?.refuse(violations.join("; "));
}
