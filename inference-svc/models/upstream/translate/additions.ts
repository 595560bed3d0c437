/** Additions to an answer a client can request and that some formats lack. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { OnDropped } from "../dialect.ts";

type Addition = "message.output_text.logprobs" | "reasoning.encrypted_content";

/** Names of additions in chat completions. Encrypted reasoning is missing, because there the gateway requests it, and not the client. */
const chatFields: Partial<Readonly<Record<Addition, string>>> = { "message.output_text.logprobs": "logprobs" };

/** Reports an addition as not sent, under the field with which the client requested it. */
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
