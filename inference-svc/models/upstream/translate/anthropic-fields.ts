/**
 * Fields that clients of Anthropic's format send and no other format has. They travel beside the fields of the contract, and only Anthropic's format
 * reads them: requests in another format are freed from them, and what is lost is reported.
 */
import { ListMemo } from "../../../turn/parse/list-memo.ts";
import type { InputItem, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped } from "../dialect.ts";

const reason = "only Anthropic's format has it";

/** Indices of the items with such fields. */
const findItems = new ListMemo<readonly number[]>([], (before, input, from) => {
  const found: number[] = [];
  for (let index = from; index < input.length; index++) if (hasFields(input[index] as InputItem)) found.push(index);
  return found.length === 0 ? before : [...before, ...found];
});

const hasFields = ({ anthropic_caller: caller }: InputItem): boolean => caller !== undefined;

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
  const { anthropic_caller: caller, ...plain } = item;
  if (caller !== undefined) onDropped(`${path}.anthropic_caller`, reason);
  return plain;
}
