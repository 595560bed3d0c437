/** Reads the fields of the body of POST /chat/completions from its bytes, and checks them. */
import { chatRequestShape } from "../../contract/chat/request.ts";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import type { Problems } from "@sluice/proto/lib/validation/problems.js";
import { type Shape, checkShape } from "@sluice/proto/lib/validation/shape.js";
import { TurnFields } from "../../edge/turns/fields.ts";
import { readValue } from "../../edge/turns/json.ts";
import { RepeatedArray } from "../../edge/turns/repeated-array.ts";
import type { ChatMessage } from "./message.ts";
import { ChatMessageNote } from "./message-note.ts";
import { type FunctionChoice, type Tool, ChatToolNote, type ChatToolChoice, type WebSearchOptions } from "./tools.ts";

type FieldName = keyof typeof chatRequestShape.fields;

const shapes: ReadonlyMap<string, Shape> = new Map(Object.entries(chatRequestShape.fields));

interface ReasoningSettings extends JsonObject {
  readonly effort?: string | null;
  readonly exclude?: boolean | null;
}

/** The checked fields of a request, by their JSON names. An absent field is undefined. */
export class ChatFields extends TurnFields {
  readonly messages: readonly ChatMessage[] = [];
  readonly stream_options: { readonly include_usage?: boolean | null } | null | undefined = undefined;
  readonly usage: { readonly include?: boolean | null } | null | undefined = undefined;
  readonly logprobs: boolean | null | undefined = undefined;
  readonly n: 1 | null | undefined = undefined;
  readonly tools: readonly Tool[] | null | undefined = undefined;
  readonly tool_choice: ChatToolChoice | null | undefined = undefined;
  readonly functions: readonly unknown[] | null | undefined = undefined;
  readonly function_call: FunctionChoice | null | undefined = undefined;
  readonly web_search_options: WebSearchOptions | null | undefined = undefined;
  readonly response_format: { readonly type: string } | null | undefined = undefined;
  readonly verbosity: string | null | undefined = undefined;
  readonly reasoning: ReasoningSettings | null | undefined = undefined;
  readonly reasoning_effort: string | null | undefined = undefined;
  readonly include_reasoning: boolean | null | undefined = undefined;
  readonly modalities: string[] | null | undefined = undefined;
  readonly transforms: readonly string[] | null | undefined = undefined;
}

/** Instance with all fields unset. Copying it for each request takes half of the time of a constructor that sets as many fields. */
const unset: Pick<ChatFields, keyof ChatFields> = new ChatFields();
const kept: ReadonlySet<string> = new Set(Object.keys(unset));

/** Maximum number of unknown fields recorded, since a hostile body may contain any number. */
const maxIgnored = 64;

/** The arrays that each request of a conversation sends again: messages and tools. */
export class ChatArrays {
  readonly messages: RepeatedArray<ChatMessageNote>;
  readonly tools: RepeatedArray<ChatToolNote>;
  /** Paths of unknown fields. */
  readonly #ignored: string[] = [];

  constructor(body: Buffer, members: readonly JsonMember[]) {
    this.messages = new RepeatedArray(body, findMember(members, "messages"), ChatMessageNote);
    this.tools = new RepeatedArray(body, findMember(members, "tools"), ChatToolNote);
    for (const array of [this.messages, this.tools]) {
      for (let index = 0; index < array.known; index++)
        for (const path of array.note(index).ignored) this.addIgnored(path);
    }
  }

  get ignored(): readonly string[] {
    return this.#ignored;
  }

  addIgnored(path: string): void {
    if (this.#ignored.length < maxIgnored) this.#ignored.push(path);
  }

  /** @param element path of an element @returns paths of the unknown fields in the element; undefined when too many were found to know all */
  ignoredIn(element: string): readonly string[] | undefined {
    if (this.#ignored.length === 0) return this.#ignored;
    return this.#ignored.length === maxIgnored
      ? undefined
      : this.#ignored.filter((path) => path.startsWith(`${element}.`));
  }
}

/** Parses and checks every field, and adds a problem for every error. */
export function readChatFields(
  body: Buffer,
  members: readonly JsonMember[],
  arrays: ChatArrays,
  problems: Problems,
): ChatFields {
  const fields: ChatFields = { ...unset };
  const byName = fields as unknown as Record<string, unknown>;
  let hasMessages = false;
  for (let index = 0; index < members.length; index++) {
    const member = members[index]!;
    const name = member.key;
    const shape = shapes.get(name);
    if (shape === undefined) continue;
    const array = name === "messages" ? arrays.messages : name === "tools" ? arrays.tools : undefined;
    const value = array ? array.parse() : readValue(body, member);
    checkShape(shape, value, name, problems);
    if (kept.has(name)) byName[name] = value;
    hasMessages ||= name === "messages";
  }
  if (!hasMessages) problems.add("messages", missingMessages(members));
  chatRequestShape.rules.also?.(byName, "", problems);
  return fields;
}

const missingMessages = (members: readonly JsonMember[]): string =>
  members.some(({ key }) => key === "input")
    ? "required; a body with input belongs to POST /api/v1/responses"
    : "required";

/** The place of a field in the body; undefined for an absent field. */
export const findMember = (members: readonly JsonMember[], name: FieldName): JsonMember | undefined =>
  members.find(({ key }) => key === name);
