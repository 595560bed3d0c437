/** Spells the types of `service:` items as the request spells its tools. */
import type { TurnRequest } from "../../../turn/request.ts";

/** The type of a tool without its prefix; an older name of one contains `experimental__`. */
const kindOf = (type: string): string => type.slice(type.indexOf(":") + 1).replace(/^experimental__/, "");

/** The type as the request spells this kind of tool; the provider's spelling when the request has no such tool. */
export function spellItemType(type: string, tools: TurnRequest["tools"]): string {
  if (!type.includes(":")) return type;
  const kind = kindOf(type);
  const tool = tools.find(
    (candidate) => candidate.type === "hosted" && candidate.kind.includes(":") && kindOf(candidate.kind) === kind,
  );
  return tool?.type === "hosted" ? tool.spelling : type;
}
