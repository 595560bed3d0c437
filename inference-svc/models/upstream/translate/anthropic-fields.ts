/**
 * Fields that clients of Anthropic's format send and no other format has. They travel beside the fields of the contract, and only Anthropic's format
 * reads them: requests in another format are freed from them, and what is lost is reported.
 */
import { ListMemo } from "../../../turn/parse/list-memo.ts";
import type { InputItem, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped } from "../dialect.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";

const reason = "only Anthropic's format has it";

/** Indices of the items with such fields. */
const findItems = new ListMemo<readonly number[]>([], (before, input, from) => {
  const found: number[] = [];
  for (let index = from; index < input.length; index++) if (hasFields(input[index] as InputItem)) found.push(index);
  return found.length === 0 ? before : [...before, ...found];
});

const hasFields = (item: InputItem): boolean =>
  item.anthropic_caller !== undefined ||
  item.anthropic_block !== undefined ||
  partLists.some((field) => objects(item[field]).some(isMarked));

/** Where an item has parts. */
const partLists = ["content", "output"] as const;

const isMarked = ({ anthropic_group: group, anthropic_citations: citations }: JsonObject): boolean =>
  group !== undefined || citations !== undefined;

/** The request for a format other than Anthropic's; the same object when it has no such fields. */
export function withoutAnthropicFields(request: TurnRequest, onDropped: OnDropped): TurnRequest {
  if (request.door !== "messages") return request;
  const found = findItems.of(request.input);
  if (found.length === 0) return request;
  const input = [...request.input];
  for (const index of found) input[index] = plainItem(input[index] as InputItem, `input.${index}`, onDropped);
  return { ...request, input };
}

function plainItem(item: InputItem, path: string, onDropped: OnDropped): InputItem {
  const { anthropic_caller: caller, anthropic_block: block, cache_control: mark, ...rest } = item;
  const own = isObject(block) ? block : {};
  if (block !== undefined && mark !== undefined) onDropped(`${path}.cache_control`, reason);
  if (item.type === "anthropic_block") {
    for (const name of ofSummary)
      if (own.type === "compaction" && own[name] !== undefined && own[name] !== null)
        onDropped(`${path}.${name}`, reason);
    return inPlaceOf(own, item);
  }
  if (isObject(own.caller)) onDropped(`${path}.anthropic_caller`, reason);
  const plain = {
    ...rest,
    ...(block === undefined && mark !== undefined && { cache_control: mark }),
  };
  if (caller !== undefined) onDropped(`${path}.anthropic_caller`, reason);
  const lists = partLists.filter((field) => objects(item[field]).some(isMarked));
  const onLost = (field: string) => (part: unknown, index: number) =>
    isObject(part) && isMarked(part) ? plainPart(part, `${path}.${field}.${index}`, onDropped) : part;
  const changed = lists.map((field) => [field, (item[field] as readonly unknown[]).map(onLost(field))] as const);
  return { ...plain, ...Object.fromEntries(changed) };
}

/** Fields of a summary beside its text. */
const ofSummary = ["encrypted_content", "signature", "tool_changes"];

function plainPart(part: JsonObject, path: string, onDropped: OnDropped): JsonObject {
  const { anthropic_group: group, anthropic_citations: citations, ...plain } = part;
  if (
    isObject(group) &&
    isObject(group.block) &&
    isObject(group.block.citations) &&
    group.block.citations.enabled === true
  )
    onDropped(`${path}.citations`, "answers cite only web pages");
  if (citations === undefined) return plain;
  if (part.type !== "output_text") onDropped(`${path}.citations`, "only texts of the model have citations");
  else if (objects(citations).length > objects(part.annotations).length)
    onDropped(`${path}.citations`, "only citations of web pages are sent back");
  return plain;
}

/** A summary and a call have words for other providers; a result stands in the item of its call. */
function inPlaceOf(block: JsonObject, item: InputItem): InputItem {
  const words = block.type === "compaction" ? text(block.content) : text(item.text);
  if (words === "") return nothing;
  const said = block.type === "compaction" ? `Summary of the conversation so far: ${words}` : words;
  return { type: "message", role: "assistant", content: [{ type: "output_text", text: said, annotations: [] }] };
}

/** An item that every format leaves out, so that the others keep their places. */
const nothing: InputItem = { type: "item_reference", id: "" };

/** Fields of a tool that only Anthropic knows. */
export function ownToolFields(json: string): JsonObject {
  // A text search avoids parsing nearly every tool.
  if (!json.includes('"anthropic_fields"')) return {};
  const { anthropic_fields: fields } = JSON.parse(json) as JsonObject;
  return isObject(fields) ? fields : {};
}

/** Reports the fields of a tool that only Anthropic knows. */
export function dropOwnToolFields(json: string, path: string, onDropped: OnDropped): void {
  for (const [name, value] of Object.entries(ownToolFields(json)))
    if (value !== null) onDropped(`${path}.anthropic_fields.${name}`, reason);
}
