/** Reads a secret from standard input. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { CommandError, type Output } from "@sluice/proto/lib/process/cli.js";

export type SecretInput = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** Longer than any key. */
const maxLength = 1_000;

/**
 * The first line of the input. A terminal shows the question, and not what is typed.
 * @throws CommandError when there is none
 */
export async function readSecretLine(
  question: string,
  input: SecretInput | undefined,
  output: Output,
): Promise<string> {
  if (input === undefined) throw new CommandError("no key was given");
  const terminal = input.isTTY === true;
  if (terminal) output.write(question);
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: hidden, terminal });
  try {
    for await (const line of lines) {
      const secret = line.trim();
      if (secret !== "" && secret.length <= maxLength) return secret;
      break;
    }
  } finally {
    lines.close();
    if (terminal) output.write("\n");
  }
  throw new CommandError("no key was given: type it, or set SLUICE_MANAGEMENT_KEY");
}
