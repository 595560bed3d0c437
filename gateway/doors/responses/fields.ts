/** Reads the fields of a body of POST /responses from its bytes. Only fields that the gateway itself uses are parsed, each separately. */
import { requestShape } from "@sluice/proto/contract/request/request.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { ByteSpan, JsonMember } from "@sluice/proto/lib/json/span.js";
import type { Problems } from "@sluice/proto/lib/validation/problems.js";
import type { Shape } from "@sluice/proto/lib/validation/shape.js";
import { TurnFields } from "../../edge/turns/fields.ts";
import { isNullAt, readValue } from "../../edge/turns/json.ts";

type FieldName = keyof typeof requestShape.fields;

const shapes: readonly (readonly [string, Shape])[] = Object.entries(requestShape.fields);
const numbers: ReadonlyMap<string, number> = new Map(shapes.map(([name], number) => [name, number]));

/**
 * For each field, its position among the body's members plus one; 0 for an absent field. All requests share the array, because a body is read without
 * a pause.
 */
const places = new Int16Array(shapes.length);

/** Finds the bytes of each field in a body. An instance is valid until the next is created, because all share `places`. */
export class FieldSpans {
  readonly #members: readonly JsonMember[];

  /** A field of null counts as absent: several clients write null for all settings that their callers have not set. */
  constructor(body: Buffer, members: readonly JsonMember[]) {
    this.#members = members;
    places.fill(0);
    for (let place = 0; place < members.length; place++) {
      const member = members[place]!;
      const number = numbers.get(member.key);
      if (number !== undefined && !isNullAt(body, member)) places[number] = place + 1;
    }
  }

  of(name: FieldName): ByteSpan | undefined {
    return this.at(numbers.get(name)!);
  }

  at(number: number): ByteSpan | undefined {
    const place = places[number]!;
    return place === 0 ? undefined : this.#members[place - 1];
  }
}

/** The checked fields of a request, by their JSON names. An absent field is undefined. */
export class RequestFields extends TurnFields {
  readonly instructions: string | null | undefined = undefined;
  readonly text: { readonly verbosity?: string | null } | undefined = undefined;
  /** Settings of reasoning, which inference-svc checks. */
  readonly reasoning: JsonObject | null | undefined = undefined;
  readonly include: string[] | null | undefined = undefined;
  readonly modalities: string[] | undefined = undefined;
  readonly truncation: string | { readonly type: string } | null | undefined = undefined;
  readonly anthropic_betas: string[] | undefined = undefined;
  readonly prompt: JsonObject | null | undefined = undefined;
}

/** Instance with all fields unset. Copying it for each request takes half of the time of a constructor that sets as many fields. */
const unset: Pick<RequestFields, keyof RequestFields> = new RequestFields();
const kept: ReadonlySet<string> = new Set(Object.keys(unset));
/** Fields that the gateway passes on as bytes; inference-svc checks them. */
const passedOn: ReadonlySet<string> = new Set<FieldName>(["input", "tools", "tool_choice"]);
/** Numbers of all fields parsed here, in the order in which problems are reported. */
const readHere = shapes.flatMap(([name], number) => (passedOn.has(name) ? [] : [number]));

/**
 * Parses and checks every field that the gateway does not pass on as bytes.  @param textFormat place of `format` in the field `text`, which is passed
 * on
 */
export function readFields(
  body: Buffer,
  spans: FieldSpans,
  textFormat: ByteSpan | undefined,
  problems: Problems,
): RequestFields {
  const fields: RequestFields = { ...unset };
  const byName = fields as unknown as Record<string, unknown>;
  for (let index = 0; index < readHere.length; index++) {
    const number = readHere[index]!;
    const span = spans.at(number);
    if (span === undefined) continue;
    const [name, shape] = shapes[number]!;
    const value = name === "text" && textFormat ? readText(body, span, textFormat) : readValue(body, span);
    shape.check(value, name, problems);
    if (kept.has(name)) byName[name] = value;
  }
  requestShape.rules.also?.(byName, "", problems);
  return fields;
}

/** The field `text`, parsed with null in place of its format. */
function readText(body: Buffer, { start, end }: ByteSpan, format: ByteSpan): unknown {
  return JSON.parse(`${body.toString("utf8", start, format.start)}null${body.toString("utf8", format.end, end)}`);
}
