/** Reads a secret from standard input. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import type { Output } from "@sluice/proto/lib/process/cli.js";

export type SecretInput = NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined };

/** Reads the first line of the input; empty without input. A terminal shows the question but not the typed text. */
export async function readSecretLine(
  question: string,
  input: SecretInput | undefined,
  output: Output,
): Promise<string> {
  if (input === undefined) return "";
  const terminal = input.isTTY === true;
  if (terminal) output.write(question);
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: hidden, terminal });
  try {
    for await (const line of lines) return line.trim();
    return "";
  } finally {
    lines.close();
    if (terminal) output.write("\n");
  }
}
