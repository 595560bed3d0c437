/** The Claude Code program. */
import { type InstalledProgram, installProgram } from "./installed-program.ts";

export const claudeCodeVersion = "2.1.330";
const systems: ReadonlySet<string> = new Set(["linux-x64", "linux-arm64"]);

export function findClaudeCode(): InstalledProgram {
  const system = `${process.platform}-${process.arch}`;
  if (!systems.has(system)) return { missing: `no Claude Code for ${system}` };
  const spec = `@anthropic-ai/claude-code-${system}@${claudeCodeVersion}`;
  return installProgram({ title: `Claude Code ${claudeCodeVersion}`, spec, binary: "claude" });
}
