/** Collects all problems of a request, so that one answer names all of them. */
import { Fault, FaultOrigin, FaultReason } from "../faults/fault.ts";

export interface Problem {
  /** Path of the field as the client wrote it: `input.0.content.1.image_url`. */
  readonly path: string;
  /** The problem, with the limit if there is one. */
  readonly message: string;
}

/** Maximum number of problems in an answer: a hostile body can have 200,000. */
const maxIssues = 20;

export class Problems {
  readonly #issues: Problem[] = [];
  #count = 0;
  /** Fault reason of the first problem. */
  #reason: FaultReason = FaultReason.INVALID_REQUEST;
  /** Receives the paths of ignored fields unknown to every shape; undefined when no caller needs them. */
  readonly onIgnored: ((path: string) => void) | undefined;

  constructor(onIgnored?: (path: string) => void) {
    this.onIgnored = onIgnored;
  }

  get empty(): boolean {
    return this.#count === 0;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * @param reason the fault's reason, if this is the first problem
   * @returns undefined, for callers that return the invalid field's value
   */
  add(path: string, message: string, reason: FaultReason = FaultReason.INVALID_REQUEST): undefined {
    if (this.#count === 0) this.#reason = reason;
    this.#count++;
    if (this.#issues.length < maxIssues) this.#issues.push({ path, message });
  }

  /**
   * @throws Fault with the first problem as its message and all problems in its metadata; the first problem sets the
   * reason
   */
  throwIfAny(): void {
    const [first] = this.#issues;
    if (!first) return;
    const more = this.#count > 1 ? ` (and ${this.#count - 1} more)` : "";
    const fault = new Fault(this.#reason, `${sentence(first)}${more}`, { origin: FaultOrigin.CLIENT });
    throw fault.with({ metadata: { error_type: fault.errorType, param: first.path, issues: this.#issues } });
  }
}

/** Runs checks and throws for all problems found. @throws Fault INVALID_REQUEST */
export function throwProblems(check: (problems: Problems) => void): void {
  const problems = new Problems();
  check(problems);
  problems.throwIfAny();
}

/** The problem as a sentence; a message may already start with its path. */
const sentence = ({ path, message }: Problem): string =>
  message.startsWith(`${path} `) ? message : `${path}: ${message}`;

/** A single problem as a fault. */
export function invalid(path: string, message: string): Fault {
  return new Fault(FaultReason.INVALID_REQUEST, sentence({ path, message }), {
    origin: FaultOrigin.CLIENT,
    metadata: { error_type: "invalid_request", param: path, issues: [{ path, message }] },
  });
}
