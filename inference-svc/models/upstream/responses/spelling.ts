/** Spells types of `service:` items as the request does. */
import type { TurnRequest } from "../../../turn/request.ts";

/** The tool type without its prefix; `experimental__` was part of an older name. */
const kindOf = (type: string): string => type.slice(type.indexOf(":") + 1).replace(/^experimental__/, "");

/** The request's spelling for this kind of tool; the provider's own when the request has no such tool. */
export function spellItemType(type: string, tools: TurnRequest["tools"]): string {
  if (!type.includes(":")) return type;
  const kind = kindOf(type);
  const tool = tools.find(
    (candidate) => candidate.type === "hosted" && candidate.kind.includes(":") && kindOf(candidate.kind) === kind,
  );
  return tool?.type === "hosted" ? tool.spelling : type;
}
