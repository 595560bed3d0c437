/** Checks requests and answers against the published document, with a validator that is independent of the product's checks. */
import { eventName, streamEvents } from "@sluice/proto/contract/response/events.js";
import { openApi } from "@sluice/gateway/contract/operations/openapi.js";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";

/** The OpenAPI document as a client reads it. */
export const document = JSON.parse(JSON.stringify(openApi())) as ReturnType<typeof openApi>;

// The schemas are not optimized: their unions are large, and most tests check only a few values.
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

/** Differences between a value and the named schema, as paths and reasons; empty if there are none. */
export function validate(name: string, value: unknown): string[] {
  const validator = validatorOf(name);
  return validator(value) ? [] : (validator.errors ?? []).map(sentence);
}

/** Checks a value against any schema of the document, with its references. */
export function validateAgainst(schema: Readonly<Record<string, unknown>>, value: unknown): string[] {
  const validator = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"published#/')) as object);
  return validator(value) ? [] : (validator.errors ?? []).map(sentence);
}

const sentence = ({ instancePath, message = "", params }: ErrorObject): string =>
  `${instancePath === "" ? "/" : instancePath} ${message} ${JSON.stringify(params)}`;

export const validateRequest = (value: unknown): string[] => validate("ResponseRequest", value);
export const validateResponse = (value: unknown): string[] => validate("Response", value);
/** Checks the body of an error with this status. */
export const validateError = (status: number, value: unknown): string[] => validate(`Error${status}`, value);

/** Checks a stream event against the schema of its type. */
export function validateEvent(event: unknown): string[] {
  const type = (event as { type?: unknown } | null)?.type;
  return typeof type === "string" && type in streamEvents
    ? validate(eventName(type), event)
    : [`unknown event ${JSON.stringify(type)}`];
}

/**
 * Checks every event of a stream; each complaint starts with the event's position.  @param passing types that the document lacks because a test's
 * provider invents them
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
