/**
 * Measures how far a thread is behind its start at each instruction. When all paths to an instruction have the same
 * length, scans need not remember where a thread began: ordinary text starts a thread at every second character, and
 * nearly all threads end at the next.
 */
import type { Instruction, Program } from "./program.ts";

/** Entry for an instruction that is reached by paths of different or unknown length. */
const varying = -1;
/** Entry for an instruction that has not been reached yet. */
const unvisited = -2;

/** Number of UTF-16 units from the start of a match to each instruction; -1 where it varies. */
export function measureDistances({ instructions, symbols }: Program): Int32Array {
  const distances = new Int32Array(instructions.length).fill(unvisited);
  const open: number[] = [];
  const reach = (at: number, distance: number): void => {
    const known = distances[at] as number;
    if (known === distance || known === varying) return;
    distances[at] = known === unvisited ? distance : varying;
    open.push(at);
  };
  reach(0, 0);
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const distance = distances[at] as number;
    const instruction = instructions[at] as Instruction;
    switch (instruction.op) {
      case "accept": {
        const width = symbols.widthOf(instruction.accepted);
        reach(instruction.to ?? at + 1, width === undefined || distance === varying ? varying : distance + width);
        break;
      }
      case "split":
        reach(instruction.first, distance);
        reach(instruction.second, distance);
        break;
      case "jump":
        reach(instruction.to, distance);
        break;
      case "assert":
        reach(at + 1, distance);
        break;
      case "match":
    }
  }
  return distances;
}
