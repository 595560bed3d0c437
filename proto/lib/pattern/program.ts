/** Compiles a parsed pattern into instructions by Thompson's construction, with preferred alternatives first. */
import type { AST } from "@eslint-community/regexpp";
import { type Assertion, lineEnd, lineStart, wordBorder } from "./context.ts";
import { type Measures, measure } from "./measure.ts";
import type { Flags, Parsed } from "./parse.ts";
import { type AcceptIndex, Symbols } from "./symbols.ts";

export type Instruction =
  /** Accepts a character, and continues at `to` or else at the next instruction. */
  | { readonly op: "accept"; readonly accepted: AcceptIndex; readonly to?: number }
  /** Continues at both instructions, and prefers `first`. */
  | { readonly op: "split"; readonly first: number; readonly second: number }
  | { readonly op: "jump"; readonly to: number }
  | { readonly op: "assert"; readonly assertion: Assertion }
  | { readonly op: "match" };

export interface Program {
  readonly instructions: readonly Instruction[];
  readonly symbols: Symbols;
  /** Text with which every match begins; empty when unknown. */
  readonly prefix: string;
}

/** @throws PatternError for a pattern that is too large or needs more than linear time */
export function compileProgram({ root, flags }: Parsed): Program {
  const emitter = new Emitter(measure(root));
  emitter.emit(root, flags);
  return emitter.finish();
}

/** Maximum length of the prefix: a longer one does not make the search faster, and makes the worst case slower. */
const maxPrefix = 16;

class Emitter {
  readonly #measures: Measures;
  readonly #symbols = new Symbols();
  readonly #instructions: Instruction[] = [];
  /** The first characters that every match has in common. */
  #prefix = "";
  #prefixOpen = true;

  constructor(measures: Measures) {
    this.#measures = measures;
  }

  finish(): Program {
    this.#put({ op: "match" });
    return { instructions: this.#instructions, symbols: this.#symbols, prefix: this.#prefix };
  }

  emit(node: AST.Node, flags: Flags): void {
    switch (node.type) {
      case "Character":
        return this.#character(node.value, flags);
      case "CharacterSet":
      case "CharacterClass":
        return this.#class(writeClass(node), flags);
      case "Assertion":
        return this.#assertion(node, flags);
      case "Alternative":
        for (const element of node.elements) this.emit(element, flags);
        return;
      case "Pattern":
      case "CapturingGroup":
        return this.#either(node.alternatives, flags);
      case "Group":
        return this.#either(node.alternatives, applyModifiers(flags, node.modifiers));
      case "Quantifier":
        return this.#repeat(node, flags);
    }
  }

  #put(instruction: Instruction): number {
    if (instruction.op !== "accept") this.#prefixOpen = false;
    return this.#instructions.push(instruction) - 1;
  }

  /** Reserves a place for an instruction that is set later. */
  #reserveSlot(): number {
    return this.#put({ op: "jump", to: -1 });
  }

  #character(code: number, { ignoreCase }: Flags): void {
    if (ignoreCase || (code >= 0xd800 && code <= 0xdfff) || this.#prefix.length >= maxPrefix) this.#prefixOpen = false;
    if (this.#prefixOpen) this.#prefix += String.fromCodePoint(code);
    this.#put({ op: "accept", accepted: this.#symbols.character(code, ignoreCase) });
  }

  #class(source: string, { ignoreCase, dotAll }: Flags): void {
    this.#prefixOpen = false;
    const flags = `u${ignoreCase ? "i" : ""}${dotAll ? "s" : ""}`;
    this.#put({ op: "accept", accepted: this.#symbols.class(source, flags) });
  }

  #assertion(node: AST.Assertion, { multiline, ignoreCase }: Flags): void {
    if (node.kind === "lookahead" || node.kind === "lookbehind") return;
    const assertion =
      node.kind === "word"
        ? wordBorder(ignoreCase, node.negate)
        : (node.kind === "start" ? lineStart : lineEnd)(multiline);
    this.#symbols.mask |= assertion.mask;
    this.#put({ op: "assert", assertion });
  }

  #either(alternatives: readonly AST.Alternative[], flags: Flags): void {
    const jumps: number[] = [];
    for (const [index, alternative] of alternatives.entries()) {
      if (index === alternatives.length - 1) this.emit(alternative, flags);
      else {
        const split = this.#reserveSlot();
        this.emit(alternative, flags);
        jumps.push(this.#reserveSlot());
        this.#instructions[split] = { op: "split", first: split + 1, second: this.#instructions.length };
      }
    }
    for (const jump of jumps) this.#instructions[jump] = { op: "jump", to: this.#instructions.length };
  }

  #repeat({ element, min, max, greedy }: AST.Quantifier, flags: Flags): void {
    const endless = max === Number.POSITIVE_INFINITY;
    const nullable = this.#measures.get(element)?.nullable === true;
    // In a loop, an element that can match the empty string must not do so again after its first round; any other
    // element loops back to its last copy.
    const loopsBack = endless && min > 0 && !nullable;
    let last = 0;
    for (let copy = 0; copy < min; copy++) {
      last = this.#instructions.length;
      this.emit(element, flags);
    }
    if (loopsBack) this.#put(branch(greedy, last, this.#instructions.length + 1));
    else if (endless) this.#loop(element, greedy, flags);
    else this.#optional(element, max - min, greedy, flags);
  }

  #loop(element: AST.QuantifiableElement, greedy: boolean, flags: Flags): void {
    const split = this.#reserveSlot();
    this.#emitOptionalCopy(element, flags);
    this.#put({ op: "jump", to: split });
    this.#instructions[split] = branch(greedy, split + 1, this.#instructions.length);
  }

  #optional(element: AST.QuantifiableElement, copies: number, greedy: boolean, flags: Flags): void {
    const splits: number[] = [];
    for (let copy = 0; copy < copies; copy++) {
      splits.push(this.#reserveSlot());
      this.#emitOptionalCopy(element, flags);
    }
    for (const split of splits) this.#instructions[split] = branch(greedy, split + 1, this.#instructions.length);
  }

  /**
   * Emits an optional repetition that cannot match the empty string: the element's other alternatives are tried
   * instead.
   */
  #emitOptionalCopy(element: AST.QuantifiableElement, flags: Flags): void {
    const first = this.#instructions.length;
    this.emit(element, flags);
    if (this.#measures.get(element)?.idle !== true) return;
    const end = this.#reserveSlot();
    this.#instructions[end] = { op: "jump", to: end };
    const shift = end + 1 - first;
    this.emit(element, flags);
    // When the first character is accepted, the thread continues in the second copy.
    for (let at = first; at < end; at++) {
      const one = this.#instructions[at] as Instruction;
      if (one.op === "accept") this.#instructions[at] = { ...one, to: (one.to ?? at + 1) + shift };
    }
  }
}

const branch = (greedy: boolean, again: number, out: number): Instruction =>
  greedy ? { op: "split", first: again, second: out } : { op: "split", first: out, second: again };

function applyModifiers(flags: Flags, modifiers: AST.Modifiers | null): Flags {
  if (!modifiers) return flags;
  const { add, remove } = modifiers;
  const of = (name: keyof Flags) => (flags[name] || add[name]) && remove?.[name] !== true;
  return { ignoreCase: of("ignoreCase"), multiline: of("multiline"), dotAll: of("dotAll") };
}

/** Writes a class in the syntax of the flag u, which refuses some older forms. */
function writeClass(node: AST.CharacterSet | AST.CharacterClass): string {
  if (node.type === "CharacterSet") return node.raw;
  return `[${node.negate ? "^" : ""}${node.elements.map(writeElement).join("")}]`;
}

function writeElement(element: AST.CharacterClassElement): string {
  if (element.type === "Character") return escaped(element.value);
  if (element.type === "CharacterClassRange") return `${escaped(element.min.value)}-${escaped(element.max.value)}`;
  return element.raw;
}

const escaped = (code: number): string => `\\u{${code.toString(16)}}`;
