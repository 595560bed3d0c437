/**
 * Describes web searches of the history as text, for formats that have no item for them. They are not sent as function
 * calls: these would need a declared tool, and some providers refuse a tool with the name of their own search.
 */
import type { InputItem } from "../../../turn/request.ts";
import { isObject, objects, text } from "../json.ts";

/** @returns undefined for an item of another type */
export function describeSearch({ type, action, status }: InputItem): string | undefined {
  if (type !== "web_search_call") return undefined;
  const done = isObject(action) ? action : {};
  const failed = status === "failed" ? " It failed." : "";
  if (done.type === "open_page") return `[Web page read: ${text(done.url)}.${failed}]`;
  if (done.type === "find_in_page")
    return `[Web page ${text(done.url)} searched for ${quoted(done.pattern)}.${failed}]`;
  const found = objects(done.sources).map(({ url }) => text(url));
  const query = text(done.query) === "" ? "" : ` for ${quoted(done.query)}`;
  return `[Web search${query}.${found.length > 0 ? ` Found: ${found.join(" ")}.` : ""}${failed}]`;
}

const quoted = (value: unknown): string => JSON.stringify(text(value));
