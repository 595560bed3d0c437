/** The result as one Markdown table, with the conditions of the measurement. */
import { cpus } from "node:os";
import type { ResultRow, Pace } from "./bench.ts";
import { streamsPerKey } from "./installation.ts";
import { canPinProcesses, processorModel } from "../../support/machine.ts";
import { spreadTolerance } from "./measure/rounds.ts";

const columns = [
  "measure",
  "installation",
  "pipe",
  "ratio",
  "gate",
  "verdict",
] as const satisfies readonly (keyof ResultRow)[];

export const inconclusiveNote =
  `Inconclusive: too few rounds were free of foreign load, or the pipe varied more than ${spreadTolerance}-fold, ` +
  "so that the figures beside the pipe say nothing. Builds against each other are judged by the interval of 95 % in parentheses.";

export const markdownRow = (cells: readonly string[]) =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

export function report(findings: readonly ResultRow[], { rounds, warmUpMs, warmUpUnits, windowMs }: Pace): string {
  const placement = canPinProcesses
    ? "pipe and installation on processor 0, upstream and clients on processor 1"
    : "processes placed by the kernel";
  return [
    `Sluice bench, ${new Date().toISOString().slice(0, 10)}: Node ${process.versions.node}, ${cpus().length} x ${processorModel()}, ${placement}.`,
    "",
    `Cost is processor time of gateway + inference-svc per unit, against a pipe of plain node:http in the same run: warm-up of ${warmUpUnits} units and ${warmUpMs / 1000} s each, ` +
      `then ${rounds} rounds of ${windowMs / 1000} s each in turn. Ratios are those of single rounds. ` +
      `limits.streams_per_key is raised to ${streamsPerKey}; everything else is as an installation starts.`,
    "",
    markdownRow(columns),
    markdownRow(columns.map(() => "---")),
    ...findings.map((finding) => markdownRow(columns.map((column) => finding[column]))),
    "",
    ...(findings.some(({ verdict }) => verdict === "inconclusive") ? [inconclusiveNote, ""] : []),
  ].join("\n");
}
