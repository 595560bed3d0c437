/** The Codex program. */
import { type InstalledProgram, installProgram } from "./installed-program.ts";

export const codexVersion = "0.169.0";

const triples: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
};

export function findCodex(): InstalledProgram {
  const system = `${process.platform}-${process.arch}`;
  const triple = triples[system];
  if (triple === undefined) return { missing: `no Codex for ${system}` };
  const spec = `@openai/codex@${codexVersion}-${system}`;
  return installProgram({ title: `Codex ${codexVersion}`, spec, binary: `vendor/${triple}/bin/codex` });
}
