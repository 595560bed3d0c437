/** Checks requests and answers against the published document, with a validator independent of our own checks. */
import { eventName, streamEvents } from "@sluice/proto/contract/response/events.js";
import { openApi } from "@sluice/gateway/contract/operations/openapi.js";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";

/** The OpenAPI document as a client reads it. */
export const document = JSON.parse(JSON.stringify(openApi())) as ReturnType<typeof openApi>;

// Not optimized: the unions are large, and most tests check a few values only.
const ajv = new Ajv2020({
  strict: true,
  strictTypes: false,
  strictRequired: false,
  inlineRefs: false,
  code: { optimize: false },
});
ajv.addKeyword("components");
ajv.addSchema({ $id: "published", components: document.components });

function validatorOf(name: string): ValidateFunction {
  const validator = ajv.getSchema(`published#/components/schemas/${name}`);
  if (!validator) throw new Error(`the document has no schema ${name}`);
  return validator;
}

/** Differences between a value and the named schema, as paths and reasons; empty without any. */
export function validate(name: string, value: unknown): string[] {
  const validator = validatorOf(name);
  return validator(value) ? [] : (validator.errors ?? []).map(sentence);
}

/** Any schema of the document, references included. */
export function validateAgainst(schema: Readonly<Record<string, unknown>>, value: unknown): string[] {
  const validator = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"published#/')) as object);
  return validator(value) ? [] : (validator.errors ?? []).map(sentence);
}

const sentence = ({ instancePath, message = "", params }: ErrorObject): string =>
  `${instancePath === "" ? "/" : instancePath} ${message} ${JSON.stringify(params)}`;

export const validateRequest = (value: unknown): string[] => validate("ResponseRequest", value);
export const validateResponse = (value: unknown): string[] => validate("Response", value);
/** The body of a failure with this status. */
export const validateError = (status: number, value: unknown): string[] => validate(`Error${status}`, value);

/** Checks a stream event against the schema of its type. */
export function validateEvent(event: unknown): string[] {
  const type = (event as { type?: unknown } | null)?.type;
  return typeof type === "string" && type in streamEvents
    ? validate(eventName(type), event)
    : [`unknown event ${JSON.stringify(type)}`];
}

/**
 * Validates every event of a stream; each error starts with the event's position.
 * @param passing types missing in the document because a provider of the test invents them
 */
export const validateEvents = (
  events: readonly { readonly type: string }[],
  passing: readonly string[] = [],
): string[] =>
  events.flatMap((event, index) =>
    (passing.includes(event.type) ? validate("StreamEvent", event) : validateEvent(event)).map(
      (problem) => `event ${index}: ${problem}`,
    ),
  );
