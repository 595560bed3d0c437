/** Additions to an answer without a field in some formats. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { OnDropped } from "../dialect.ts";

type Addition = "message.output_text.logprobs" | "reasoning.encrypted_content";

/** Fields of chat completions for an addition; sealed reasoning is requested by the gateway and not by the client. */
const chatFields: Partial<Readonly<Record<Addition, string>>> = { "message.output_text.logprobs": "logprobs" };

/** Reports an addition by the field with the client's request for it. */
export function dropAddition(
  { include, door }: Pick<TurnRequest, "include" | "door">,
  addition: Addition,
  onDropped: OnDropped,
  reason = "the format has no field for it",
): void {
  const index = include.indexOf(addition);
  if (index === -1 || door === "messages") return;
  const path = door === "chat" ? chatFields[addition] : `include.${index}`;
  if (path !== undefined) onDropped(path, reason);
}
